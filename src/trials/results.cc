#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/format_bytes.h"
#include "quiesce/trials.h"
#include "trials/format.h"
#include "trials/params.h"

namespace quiesce {

int64_t StudyResult::count(TrialState state) const {
  return std::count_if(trials.begin(), trials.end(),
                       [state](const TrialResult& trial) { return trial.state == state; });
}

std::string StudyResult::to_table() const {
  std::vector<std::string> header = {"trial"};
  if (!trials.empty()) {
    for (const Param& param : trials.front().params) header.push_back(param.name);
  }
  for (std::string_view name : {std::string_view(value_name), std::string_view("peak"),
                                std::string_view("seconds"), std::string_view("state")}) {
    header.emplace_back(name);
  }
  std::vector<std::vector<std::string>> rows = {header};
  for (size_t i = 0; i < trials.size(); ++i) {
    const TrialResult& trial = trials[i];
    const bool is_best = best == static_cast<int64_t>(i);
    std::vector<std::string> row = {absl::StrCat(trial.number, is_best ? " *" : "")};
    for (const Param& param : trial.params) row.push_back(trials::format_value(param.value));
    row.resize(header.size() - 4);  // a trial whose sampler failed has no values
    row.push_back(trial.value ? absl::StrFormat("%.4f", *trial.value) : "-");
    row.push_back(base::format_bytes(trial.peak_bytes));
    row.push_back(absl::StrFormat("%.2f", trial.seconds));
    // The first line of a reason: an out-of-memory report goes on with a table of its own.
    row.push_back(trial.state == TrialState::kComplete ? std::string(to_string(trial.state))
                                                       : trials::shorten(trial.reason, 100));
    rows.push_back(std::move(row));
  }
  return trials::format_table(rows, 1);
}

}  // namespace quiesce
