#include "base/process.hpp"

namespace eventide::process {

std::string before_fork(const std::string& what) {
    return what +
           " was made before fork, in the parent process, and has no worker here; make a new one in this process";
}

}  // namespace eventide::process
