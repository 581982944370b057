// The file that a study's results are written to.

#ifndef QUIESCE_TRIALS_RESULT_FILE_H_
#define QUIESCE_TRIALS_RESULT_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace quiesce::trials {

// kInvalidArgument, with the reason, when `write_result_file(path)` could not succeed now. Makes
// and removes an empty file beside `path`; leaves `path` alone.
absl::Status check_writable(const std::string& path);

// Writes `path` whole or not at all. An existing `path` that is no regular file (a pipe,
// /dev/stdout) is written to directly.
absl::Status write_result_file(const std::string& path, std::string_view contents);

}  // namespace quiesce::trials

#endif  // QUIESCE_TRIALS_RESULT_FILE_H_
