// Whole files: read in one go, and written so that nobody ever finds half of one.
#ifndef QUIESCE_NN_ATOMIC_FILE_H_
#define QUIESCE_NN_ATOMIC_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace quiesce::nn {

// Writes `pieces` one after the other into a new file beside `path`, forces it to disk, moves it to
// `path`, and forces the directory to disk. After an error `path` is what it was before, and no
// other file is left behind.
absl::Status write_file_atomically(const std::string& path,
                                   absl::Span<const std::string_view> pieces);

// The bytes of a regular file.
absl::StatusOr<std::vector<char>> read_whole_file(const std::string& path);

}  // namespace quiesce::nn

#endif  // QUIESCE_NN_ATOMIC_FILE_H_
