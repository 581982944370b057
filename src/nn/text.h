// Text between the standard's string_view and Abseil's, which are two types in Debian's Abseil.
#ifndef QUIESCE_NN_TEXT_H_
#define QUIESCE_NN_TEXT_H_

#include <string_view>

#include "absl/strings/string_view.h"

namespace quiesce::nn {

// For absl::StrCat and its like.
inline absl::string_view text(std::string_view from) { return {from.data(), from.size()}; }

}  // namespace quiesce::nn

#endif  // QUIESCE_NN_TEXT_H_
