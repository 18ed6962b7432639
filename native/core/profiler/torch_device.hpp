// How torch's profiler numbers devices in its files: c10::DeviceType, and the index.
#pragma once

#include <charconv>
#include <string_view>
#include <utility>

namespace eventide {

inline constexpr std::string_view torch_device_types[] = {
    "cpu",   "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip",  "fpga", "maia", "xla",         "vulkan",
    "metal", "xpu",  "mps",    "meta",   "hpu",    "ve",    "lazy", "ipu",  "mtia", "privateuse1",
};

// The type and index of a device by its name, such as cuda:1 or torch:cuda:1. A type without a number in torch gets
// the number of torch's private-use type; the index of cpu is -1, as in torch.
inline std::pair<int, int> torch_device(std::string_view name) {
    if (name.starts_with("torch:")) name.remove_prefix(6);
    const std::string_view type = name.substr(0, name.find(':'));
    int number = 0, index = 0;
    while (number + 1 < int(std::size(torch_device_types)) && torch_device_types[number] != type) ++number;
    if (type.size() < name.size()) std::from_chars(name.data() + type.size() + 1, name.data() + name.size(), index);
    return {number, number ? index : -1};
}

}  // namespace eventide
