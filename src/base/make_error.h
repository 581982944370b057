#ifndef QUIESCE_BASE_MAKE_ERROR_H_
#define QUIESCE_BASE_MAKE_ERROR_H_

#include <string_view>

#include "absl/status/status.h"
#include "quiesce/errors.h"

namespace quiesce::base {

// A status of that kind: picks absl's code and attaches the kind, which error_kind() reads back.
// Messages name the thing, the expected, the found, and the way out.
absl::Status make_error(ErrorKind kind, std::string_view message);

}  // namespace quiesce::base

#endif  // QUIESCE_BASE_MAKE_ERROR_H_
