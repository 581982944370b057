#include "trials/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/format_bytes.h"
#include "trials/format.h"
#include "trials/params.h"

namespace quiesce::trials {
namespace {

constexpr absl::Duration kRedraw = absl::Milliseconds(100);
constexpr size_t kReasonWidth = 160;

}  // namespace

std::string progress_line(const TrialResult& trial, int64_t trials, const std::string& value_name) {
  std::string line = absl::StrFormat("trial %*d  %s", absl::StrCat(trials).size(), trial.number,
                                     format_params(trial.params));
  if (trial.value) {
    absl::StrAppendFormat(&line, "  %s %.4f", value_name, *trial.value);
  } else {
    absl::StrAppend(&line, "  ", shorten(trial.reason, kReasonWidth));
  }
  absl::StrAppendFormat(&line, "  peak %s  %.1f s", base::format_bytes(trial.peak_bytes), trial.seconds);
  return line;
}

Progress::Progress(std::FILE* out, int columns, std::string value_name)
    : out_(out), columns_(columns), value_name_(std::move(value_name)) {}

void Progress::on_event(const TrialEvent& event) {
  absl::MutexLock lock(&mutex_);
  if (ended_) return;
  trials_ = event.trials;
  const TrialResult& trial = event.result;
  switch (event.kind) {
    case TrialEvent::Kind::kStarted:
      running_[trial.number] = 0;
      break;
    case TrialEvent::Kind::kEpoch:
      running_[trial.number] = trial.epochs.size();
      break;
    case TrialEvent::Kind::kFinished:
      running_.erase(trial.number);
      ++finished_;
      erase_status();
      absl::FPrintF(out_, "%s\n", progress_line(trial, trials_, value_name_));
      std::fflush(out_);
      break;
  }
  draw_status(event.kind != TrialEvent::Kind::kEpoch);
}

void Progress::finish() {
  absl::MutexLock lock(&mutex_);
  erase_status();
  std::fflush(out_);
  ended_ = true;
}

void Progress::erase_status() {
  if (has_status_) std::fputs("\r\x1b[K", out_);
  has_status_ = false;
}

void Progress::draw_status(bool now) {
  if (columns_ == 0) return;
  const absl::Time time = absl::Now();
  if (!now && time - drawn_ < kRedraw) return;
  drawn_ = time;
  std::string line = absl::StrFormat("%d of %d done; running", finished_, trials_);
  for (const auto& [number, epochs] : running_) {
    absl::StrAppendFormat(&line, "  %d: epoch %d", number, epochs + 1);
  }
  // One column is left free: some terminals wrap as soon as the last one is written.
  if (line.size() >= static_cast<size_t>(columns_)) line.resize(static_cast<size_t>(columns_) - 1);
  erase_status();
  std::fputs(line.c_str(), out_);
  std::fflush(out_);
  has_status_ = true;
}

int terminal_columns(std::FILE* out) {
  constexpr int kUsual = 80;
  const int fd = fileno(out);
  const char* terminal = std::getenv("TERM");
  if (fd < 0 || !isatty(fd) || terminal == nullptr || std::string_view(terminal) == "dumb") {
    return 0;
  }
  winsize size = {};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : kUsual;
}

}  // namespace quiesce::trials
