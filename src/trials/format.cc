#include "trials/format.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"

namespace quiesce::trials {

std::string shorten(std::string_view text, size_t width) {
  const std::string_view line = text.substr(0, text.find('\n'));
  if (line.size() <= width) return std::string(line);
  return std::string(line.substr(0, width - 3)) + "...";
}

std::string format_table(const std::vector<std::vector<std::string>>& rows, size_t left) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string fill(widths[i] - row[i].size(), ' ');
      const bool is_left = i < left || i + 1 == widths.size();
      absl::StrAppend(&line, i == 0 ? "" : "  ", is_left ? "" : fill, row[i], is_left ? fill : "");
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

}  // namespace quiesce::trials
