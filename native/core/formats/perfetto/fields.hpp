// Numbers of the protobuf fields of Perfetto's messages that are read or written here, by message. The reader combines
// them with a wire type (proto::varint_field ...), so that a field of another type is unknown.
#pragma once

#include <cstdint>

namespace eventide::formats::fields {

namespace trace {  // Trace
constexpr uint32_t packet = 1;
}
namespace packet {  // TracePacket
constexpr uint32_t chrome_events = 5, clock_snapshot = 6, timestamp = 8, sequence_id = 10, track_event = 11,
                   interned_data = 12, sequence_flags = 13, incremental_state_cleared = 41, thread_descriptor = 44,
                   compressed_packets = 50, timestamp_clock_id = 58, defaults = 59, track_descriptor = 60,
                   first_on_sequence = 87;
constexpr uint32_t eventide_table = 19'019;                       // an extension that only Eventide writes
constexpr uint64_t state_cleared_flag = 1, needs_state_flag = 2;  // bits of sequence_flags
}  // namespace packet
namespace defaults {  // TracePacketDefaults
constexpr uint32_t track_event = 11, timestamp_clock_id = 58;
}
namespace event {  // TrackEvent
constexpr uint32_t delta_us = 1, category_iids = 3, debug_annotations = 4, legacy_event = 6, type = 9, name_iid = 10,
                   track_uuid = 11, extra_counter_values = 12, absolute_us = 16, categories = 22, name = 23,
                   counter_value = 30, extra_counter_tracks = 31, old_flow_ids = 36, old_terminating_flow_ids = 42,
                   double_counter_value = 44, extra_double_counter_tracks = 45, extra_double_counter_values = 46,
                   flow_ids = 47, terminating_flow_ids = 48;
constexpr uint64_t slice_begin = 1, slice_end = 2, instant = 3, counter = 4;  // values of `type`
}  // namespace event
namespace legacy_event {  // TrackEvent.LegacyEvent
constexpr uint32_t name_iid = 1, phase = 2, duration_us = 3;
}
namespace interned_data {  // InternedData
constexpr uint32_t categories = 1, names = 2, annotation_names = 3, strings = 29;
}
namespace interned_text {  // EventName, EventCategory, DebugAnnotationName, InternedString
constexpr uint32_t iid = 1, text = 2;
}
namespace annotation {  // DebugAnnotation
constexpr uint32_t name_iid = 1, bool_value = 2, uint_value = 3, int_value = 4, double_value = 5, string_value = 6,
                   pointer_value = 7, legacy_json_value = 9, name = 10, dict_entries = 11, array_values = 12,
                   string_value_iid = 17;
}
namespace clock_snapshot {  // ClockSnapshot
constexpr uint32_t clocks = 1;
}
namespace clock {  // ClockSnapshot.Clock
constexpr uint32_t id = 1, timestamp = 2, is_incremental = 3, unit_multiplier_ns = 4;
constexpr uint64_t boottime = 6, first_of_sequence = 64, first_global = 128;  // values of `id`
}  // namespace clock
namespace track {  // TrackDescriptor
constexpr uint32_t uuid = 1, name = 2, process = 3, thread = 4, parent_uuid = 5, counter = 8, static_name = 10;
}
namespace process {  // ProcessDescriptor
constexpr uint32_t pid = 1, name = 6;
}
namespace thread {  // ThreadDescriptor
constexpr uint32_t pid = 1, tid = 2, name = 5, reference_timestamp_us = 6;
}
namespace counter {  // CounterDescriptor
constexpr uint32_t unit_multiplier = 4, is_incremental = 5;
}
namespace chrome_events {  // ChromeEventBundle
constexpr uint32_t metadata = 2;
}
namespace chrome_metadata {  // ChromeMetadata
constexpr uint32_t name = 1, string_value = 2;
}
namespace eventide_table {  // the extension: a name and a Parquet file
constexpr uint32_t name = 1, parquet = 2;
}

}  // namespace eventide::formats::fields
