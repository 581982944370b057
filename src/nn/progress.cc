#include "nn/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace quiesce::nn {
namespace {

constexpr int kWidth = 20;
constexpr absl::Duration kInterval = absl::Milliseconds(50);
constexpr absl::string_view kCell = "━";

std::string cells(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text.append(kCell.data(), kCell.size());
  return text;
}

std::string format_step_time(double seconds) {
  if (seconds >= 1 || seconds == 0) return absl::StrFormat(" %.0fs/step", seconds);
  if (seconds >= 1e-3) return absl::StrFormat(" %.0fms/step", seconds * 1e3);
  return absl::StrFormat(" %.0fus/step", seconds * 1e6);
}

std::string format_eta(double seconds) {
  const auto whole = static_cast<int64_t>(seconds);
  if (seconds > 3600) {
    return absl::StrFormat("%d:%02d:%02d", whole / 3600, whole % 3600 / 60, whole % 60);
  }
  if (seconds > 60) return absl::StrFormat("%d:%02d", whole / 60, whole % 60);
  return absl::StrFormat("%ds", whole);
}

std::string format_logs(const Logs& logs) {
  std::string text;
  for (const auto& [name, value] : logs)
    absl::StrAppend(&text, " - ", name, ": ", format_value(value));
  return text;
}

}  // namespace

std::string format_value(double value) {
  return std::abs(value) > 1e-3 ? absl::StrFormat("%.4f", value) : absl::StrFormat("%.4e", value);
}

void emit(const ProgressSink& sink, const std::string& text) {
  if (text.empty()) return;
  if (sink) {
    sink(text);
    return;
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

ProgressBar::ProgressBar(int64_t target, int verbose, absl::Time start)
    : target_(target), verbose_(verbose), start_(start) {}

bool ProgressBar::due(absl::Time now) const {
  return verbose_ == 1 && now - last_update_ >= kInterval;
}

double ProgressBar::seconds_per_step(int64_t current, absl::Time now) {
  if (current <= 0) return 0;
  double seconds = 0;
  if (after_first_step_.has_value() && current > 1) {
    seconds = absl::ToDoubleSeconds(now - *after_first_step_) / static_cast<double>(current - 1);
  } else {
    seconds = absl::ToDoubleSeconds(now - start_) / static_cast<double>(current);
  }
  // The first step pays for what is made once, so it does not count for the others.
  if (current == 1) after_first_step_ = now;
  return seconds;
}

std::string ProgressBar::update(int64_t current, const Logs& logs, bool last, absl::Time now) {
  if (verbose_ == 0) return "";
  const double step = seconds_per_step(current, now);
  const int digits =
      static_cast<int>(std::log10(static_cast<double>(std::max<int64_t>(target_, 1)))) + 1;
  const std::string count = absl::StrFormat("%*d/%d", digits, current, target_);
  const std::string elapsed = absl::StrFormat("%.0fs", absl::ToDoubleSeconds(now - start_));
  if (verbose_ == 2) {
    if (!last) return "";
    return absl::StrCat(count, " - ", elapsed, format_step_time(step).insert(1, "- "),
                        format_logs(logs), "\n");
  }
  if (!last && !due(now)) return "";

  std::string text(previous_width_, '\b');
  text += '\r';
  const int done = static_cast<int>(
      kWidth * (static_cast<double>(current) / static_cast<double>(std::max<int64_t>(target_, 1))));
  absl::StrAppend(&text, "\x1b[1m", count, "\x1b[0m ");
  if (done > 0) absl::StrAppend(&text, "\x1b[32m", cells(done), "\x1b[0m");
  absl::StrAppend(&text, "\x1b[37m", cells(kWidth - done), "\x1b[0m");
  const std::string time =
      last ? elapsed : format_eta(step * static_cast<double>(target_ - current));
  const std::string info = absl::StrCat(format_step_time(step), format_logs(logs));
  absl::StrAppend(&text, " \x1b[1m", time, "\x1b[0m", info);
  const size_t width = count.size() + 1 + kWidth + 1 + time.size() + info.size();
  if (previous_width_ > width) text.append(previous_width_ - width, ' ');
  if (last) text += '\n';
  previous_width_ = width;
  last_update_ = now;
  return text;
}

}  // namespace quiesce::nn
