// Texts and tables for people.

#ifndef QUIESCE_TRIALS_FORMAT_H_
#define QUIESCE_TRIALS_FORMAT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace quiesce::trials {

// The first line of a text, cut at `width` characters with "..." at the end.
std::string shorten(std::string_view text, size_t width);

// Columns under a header, each as wide as its widest cell; the first `left` columns and the last
// one are aligned to the left, the rest to the right. No trailing blanks.
std::string format_table(const std::vector<std::vector<std::string>>& rows, size_t left);

}  // namespace quiesce::trials

#endif  // QUIESCE_TRIALS_FORMAT_H_
