#ifndef QUIESCE_BASE_FORMAT_BYTES_H_
#define QUIESCE_BASE_FORMAT_BYTES_H_

#include <cstdint>
#include <string>

namespace quiesce::base {

// A number of bytes for people, the same in every report: "0 B", "1023 B", "3.1 MiB". Thread-safe.
std::string format_bytes(uint64_t bytes);

}  // namespace quiesce::base

#endif  // QUIESCE_BASE_FORMAT_BYTES_H_
