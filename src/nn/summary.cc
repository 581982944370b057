#include "nn/summary.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nn/text.h"

namespace quiesce::nn {
namespace {

using Row = std::array<std::string, 3>;

std::string repeat(absl::string_view cell, size_t times) {
  std::string line;
  for (size_t i = 0; i < times; ++i) line.append(cell.data(), cell.size());
  return line;
}

// Keras writes the batch as None.
std::string shape_text(const Shape& sample) {
  std::string dims = "(None";
  for (int64_t extent : sample.dims()) absl::StrAppend(&dims, ", ", extent);
  return absl::StrCat(dims, ")");
}

std::string bytes_text(int64_t floats) {
  double size = static_cast<double>(floats) * 4;
  const char* const units[] = {"B", "KB", "MB", "GB", "TB"};
  size_t unit = 0;
  while (size >= 1024 && unit + 1 < std::size(units)) {
    size /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.2f %s", size, units[unit]);
}

}  // namespace

std::string with_commas(int64_t number) {
  const std::string digits = absl::StrCat(number);
  std::string grouped;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) grouped.push_back(',');
    grouped.push_back(digits[i]);
  }
  return grouped;
}

std::string summarize(absl::string_view model, absl::Span<const NamedLayer> layers,
                      const Network* network) {
  std::vector<Row> rows = {{"Layer (type)", "Output Shape", "Param #"}};
  int64_t total = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].layer.kind == LayerKind::kInput) continue;
    Row row = {absl::StrCat(layers[i].name, " (", text(layers[i].layer.class_name()), ")"), "?",
               "?"};
    if (network != nullptr) {
      int64_t parameters = 0;
      for (size_t w = network->first_weight(i); w < network->first_weight(i + 1); ++w) {
        parameters += network->weights()[w].shape.elements();
      }
      total += parameters;
      row[1] = shape_text(network->layer_output(i));
      row[2] = with_commas(parameters);
    }
    rows.push_back(std::move(row));
  }
  std::array<size_t, 3> widths = {31, 22, 13};
  for (const Row& row : rows) {
    for (size_t column = 0; column < 3; ++column) {
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  auto rule = [&](const char* left, const char* line, const char* cross, const char* right) {
    return absl::StrCat(left, repeat(line, widths[0] + 2), cross, repeat(line, widths[1] + 2),
                        cross, repeat(line, widths[2] + 2), right, "\n");
  };
  auto cells = [&](const Row& row, const char* bar) {
    return absl::StrFormat("%s %-*s %s %-*s %s %*s %s\n", bar, widths[0], row[0], bar, widths[1],
                           row[1], bar, widths[2], row[2], bar);
  };
  std::string table = absl::StrCat("Model: \"", model, "\"\n", rule("┏", "━", "┳", "┓"),
                                   cells(rows[0], "┃"), rule("┡", "━", "╇", "┩"));
  for (size_t i = 1; i < rows.size(); ++i) {
    if (i > 1) absl::StrAppend(&table, rule("├", "─", "┼", "┤"));
    absl::StrAppend(&table, cells(rows[i], "│"));
  }
  absl::StrAppend(&table, rule("└", "─", "┴", "┘"));
  const std::string sum = absl::StrCat(with_commas(total), " (", bytes_text(total), ")");
  absl::StrAppend(&table, " Total params: ", sum, "\n Trainable params: ", sum,
                  "\n Non-trainable params: 0 (0.00 B)\n");
  return table;
}

}  // namespace quiesce::nn
