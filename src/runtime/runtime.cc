#include "quiesce/runtime.h"

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/make_error.h"
#include "base/mutex.h"
#include "base/process.h"
#include "base/status_macros.h"
#include "runtime/core.h"
#include "runtime/report_format.h"

namespace quiesce {
namespace {

// The process's runtime. Release and acquire: who sees it sees it whole.
constinit std::atomic<runtime::Core*> process_core{nullptr};

// What it will be made with, or was.
struct ProcessOptions {
  base::Mutex mutex;
  RuntimeOptions options ABSL_GUARDED_BY(mutex);
};
ProcessOptions& process_options() {
  static ProcessOptions& options = *new ProcessOptions;
  return options;
}

bool same(const RuntimeOptions& a, const RuntimeOptions& b) {
  if (a.devices.size() != b.devices.size()) return false;
  for (size_t i = 0; i < a.devices.size(); ++i) {
    if (a.devices[i].kind != b.devices[i].kind ||
        a.devices[i].memory_limit != b.devices[i].memory_limit) {
      return false;
    }
  }
  return a.session_quota == b.session_quota && a.pin_form == b.pin_form;
}

runtime::Core& process_core_slow(SourceLocation where) {
  // Before the mutex, which a thread that the child does not have may hold.
  if (base::is_forked_child()) return runtime::Core::of_forked_child(where);
  ProcessOptions& options = process_options();
  base::MutexLock lock(options.mutex);
  runtime::Core* core = process_core.load(std::memory_order_relaxed);
  if (core == nullptr) {
    absl::StatusOr<runtime::Core*> made = runtime::Core::create(options.options, where);
    QUIESCE_CHECK(made.ok(),
                  absl::StrCat("Runtime::process() cannot be made: ", made.status().ToString()));
    core = *made;
    process_core.store(core, std::memory_order_release);
  }
  return *core;
}

}  // namespace

void CloseRuntime::operator()(Runtime* runtime) const {
  // In a forked child there is nothing to shut down; the error says so to nobody.
  static_cast<void>(runtime->shutdown());
}

Runtime& Runtime::process(SourceLocation where) {
  runtime::Core* core = process_core.load(std::memory_order_acquire);
  if (core == nullptr) [[unlikely]] core = &process_core_slow(where);
  return core->runtime();
}

absl::Status Runtime::configure_process(const RuntimeOptions& options) {
  if (base::is_forked_child()) return base::forked_child_error();
  QUIESCE_RETURN_IF_ERROR(runtime::Core::check_options(options));
  ProcessOptions& process = process_options();
  base::MutexLock lock(process.mutex);
  if (runtime::Core* core = process_core.load(std::memory_order_relaxed); core != nullptr) {
    if (same(process.options, options)) return absl::OkStatus();
    return base::make_error(
        ErrorKind::kMismatch,
        absl::StrCat("Runtime::process() exists already, with other options; it was first used at ",
                     runtime::place(core->made_at()), ": configure it before that, or make a "
                                                      "Runtime of your own"));
  }
  process.options = options;
  return absl::OkStatus();
}

absl::StatusOr<OwnedRuntime> Runtime::create(const RuntimeOptions& options, SourceLocation where) {
  QUIESCE_ASSIGN_OR_RETURN(runtime::Core * core, runtime::Core::create(options, where));
  return OwnedRuntime(&core->runtime());
}

absl::StatusOr<Session> Runtime::new_session(const SessionOptions& options, SourceLocation where) {
  return core_->new_session(options, where);
}

absl::StatusOr<Session> Runtime::thread_session() {
  QUIESCE_RETURN_IF_ERROR(core_->may_make());
  QUIESCE_ASSIGN_OR_RETURN(runtime::SessionUser * user,
                           core_->thread_session_user(SourceLocation()));
  return runtime::Access::session(*user);
}

absl::StatusOr<ClearReport> Runtime::clear(const ClearOptions& options, SourceLocation where) {
  return core_->clear(nullptr, options, "clear_session()", where);
}

void Runtime::pass() { core_->domain().pass(); }
uint64_t Runtime::trim() { return core_->domain().forked() ? 0 : core_->trim(); }
uint64_t Runtime::generation() const { return core_->domain().generation(); }
MemoryInfo Runtime::memory_info() const { return core_->memory_info(); }
void Runtime::reset_peaks() { core_->reset_peaks(); }
LiveReport Runtime::live_report() const { return core_->live_report(); }
RuntimeTotals Runtime::totals() const { return core_->totals(); }
RuntimeCensus Runtime::census() const { return core_->census(); }

std::vector<DeviceInfo> Runtime::devices() const {
  std::vector<DeviceInfo> infos;
  for (const runtime::OpenDevice& open : core_->devices()) infos.push_back(open.device->info());
  return infos;
}

absl::StatusOr<ClearReport> Runtime::shutdown(absl::Time deadline, SourceLocation where) {
  return core_->shutdown(deadline, where);
}
bool Runtime::is_shut_down() const { return core_->domain().shut_down(); }

MemoryInfo memory_info() { return Runtime::process().memory_info(); }
LiveReport live_report() { return Runtime::process().live_report(); }

absl::StatusOr<ClearReport> shutdown(absl::Time deadline, SourceLocation where) {
  return Runtime::process(where).shutdown(deadline, where);
}

absl::StatusOr<ClearReport> clear_session(const ClearOptions& options, SourceLocation where) {
  return Runtime::process(where).clear(options, where);
}

absl::StatusOr<ClearReport> clear_thread_session(const ClearOptions& options,
                                                 SourceLocation where) {
  QUIESCE_ASSIGN_OR_RETURN(const Session session, current_session());
  runtime::SessionUser* user = runtime::Access::user(session);
  return user->core().clear(user, options, "clear_thread_session()", where);
}

}  // namespace quiesce
