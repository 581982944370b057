#include "runtime/core.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/ids.h"
#include "base/make_error.h"
#include "base/process.h"
#include "base/status_macros.h"
#include "device/host/host_device.h"
#include "device/simulated/simulated_device.h"
#include "runtime/report_format.h"
#include "runtime/session_contents.h"
#include "runtime/thread_state.h"
#include "runtime/ticket_state.h"

namespace quiesce::runtime {
namespace {

// All cores ever made, for leak checkers and debuggers. Release: publishes a core with its list link.
constinit std::atomic<Core*> all_cores{nullptr};

epoch::DomainOptions domain_options(const RuntimeOptions& options) {
  epoch::DomainOptions domain;
  if (options.pin_form == PinForm::kMembarrier) {
    domain.pin_form = epoch::DomainOptions::PinForm::kMembarrier;
  }
  return domain;
}

// Of a kind that check_options() lets through.
std::unique_ptr<device::Device> open_device(const DeviceOptions& options, int index) {
  if (options.kind == DeviceKind::kSimulated) {
    device::SimulatedDeviceOptions simulated;
    simulated.index = index;
    return device::open_simulated_device(simulated);
  }
  device::HostDeviceOptions host;
  host.index = index;
  return device::open_host_device(host);
}

}  // namespace

Core::Core(epoch::Domain& domain, const RuntimeOptions& options, SourceLocation where)
    : runtime_(this), domain_(domain), options_(options), made_at_(where) {}

absl::Status Core::check_options(const RuntimeOptions& options) {
  if (options.devices.empty()) {
    return base::make_error(ErrorKind::kInvalidArgument,
                            "RuntimeOptions::devices is empty; a runtime needs one device, such as "
                            "the host");
  }
  for (size_t i = 0; i < options.devices.size(); ++i) {
    const DeviceKind kind = options.devices[i].kind;
    if (kind == DeviceKind::kHost || kind == DeviceKind::kSimulated) continue;
    return base::make_error(ErrorKind::kUnsupported,
                            absl::StrCat("device ", i, ": this build opens the host and the "
                                                       "simulated device, not ",
                                         std::string(device_kind_name(kind))));
  }
  return absl::OkStatus();
}

absl::StatusOr<Core*> Core::create(const RuntimeOptions& options, SourceLocation where) {
  base::init_once();
  if (base::is_forked_child()) return base::forked_child_error();
  // Before anything is made: a core is never destroyed.
  QUIESCE_RETURN_IF_ERROR(check_options(options));
  auto* core = new Core(epoch::Domain::create(domain_options(options)), options, where);
  core->publish();
  QUIESCE_RETURN_IF_ERROR(core->open_devices());
  return core;
}

Core& Core::of_forked_child(SourceLocation where) {
  static Core& core = *[where] {
    auto* made = new Core(epoch::Domain::create({}), RuntimeOptions{}, where);
    made->publish();
    return made;
  }();
  return core;
}

void Core::publish() {
  next_core_ = all_cores.load(std::memory_order_relaxed);
  while (!all_cores.compare_exchange_weak(next_core_, this, std::memory_order_release)) {
  }
  install_thread_exit(domain_);
}

absl::Status Core::open_devices() {
  devices_.reserve(options_.devices.size());  // sessions keep addresses of the entries
  for (const DeviceOptions& options : options_.devices) {
    OpenDevice open;
    open.device = open_device(options, static_cast<int>(devices_.size()));
    memory::AllocatorOptions allocator;
    allocator.limit = options.memory_limit;
    QUIESCE_ASSIGN_OR_RETURN(open.allocator,
                             memory::Allocator::create(*open.device, domain_, allocator));
    open.account = memory::Account::open(*open.allocator, nullptr, memory::AccountLevel::kRuntime,
                                         "runtime");
    open.allocator->set_reclaim_hook(
        [this](uint64_t) { return domain_.pass().reclaimed > 0; });
    devices_.push_back(std::move(open));
  }
  return absl::OkStatus();
}

absl::Status Core::may_make() const {
  if (domain_.forked()) return base::forked_child_error();
  if (domain_.shut_down()) return domain_.shutdown_error();
  return absl::OkStatus();
}

absl::StatusOr<SessionUser*> Core::make_user(const SessionOptions& options, SourceLocation where) {
  QUIESCE_RETURN_IF_ERROR(may_make());
  if (options.device < 0 || static_cast<size_t>(options.device) >= devices_.size()) {
    return base::make_error(
        ErrorKind::kInvalidArgument,
        absl::StrCat("new_session(\"", options.name, "\"): this runtime has ", devices_.size(),
                     " device(s), numbered from 0, got device ", options.device));
  }
  const uint64_t quota = options.quota != 0 ? options.quota : options_.session_quota;
  return new SessionUser(*this, base::next_id(), options, quota, where);
}

absl::StatusOr<Session> Core::new_session(const SessionOptions& options, SourceLocation where) {
  QUIESCE_ASSIGN_OR_RETURN(SessionUser * user, make_user(options, where));
  user->add_handle();
  user->drop_reference();  // the maker's
  return Access::adopt(user);
}

absl::StatusOr<SessionUser*> Core::thread_session_user(SourceLocation where) {
  ThreadState& state = thread_state(*this);
  if (state.own == nullptr) {
    SessionOptions options;
    options.name = absl::StrCat("thread-", base::current_thread_name().text);
    QUIESCE_ASSIGN_OR_RETURN(state.own, make_user(options, where));
    state.own->add_handle();
    state.own->drop_reference();
  }
  return state.own;
}

absl::StatusOr<epoch::IncarnationRef> Core::incarnation_of(SessionUser& user) {
  return domain_.current(
      user,
      [&](epoch::Incarnation& incarnation) -> absl::StatusOr<std::unique_ptr<epoch::Retirable>> {
        return std::make_unique<SessionContents>(*this, user, incarnation);
      });
}

absl::StatusOr<ClearReport> Core::clear(SessionUser* user, const ClearOptions& options,
                                        const char* api, SourceLocation where) {
  if (domain_.forked()) return base::forked_child_error();
  const absl::Time started = absl::Now();
  auto state = std::make_shared<TicketState>(*this, where, options.memory, started);
  epoch::ClearSpec spec;
  spec.user = user;
  spec.api = api;
  spec.where = where;
  spec.cancel = options.busy == BusyUse::kCancel;
  const bool waits = options.wait > absl::ZeroDuration();
  const absl::Time deadline = waits ? started + options.wait : absl::InfiniteFuture();
  if (waits) spec.deadline = deadline;
  QUIESCE_ASSIGN_OR_RETURN(epoch::Ticket ticket, domain_.clear(spec));
  return state->begin(std::move(ticket), waits, deadline);
}

absl::StatusOr<ClearReport> Core::shutdown(absl::Time deadline, SourceLocation where) {
  if (domain_.forked()) return base::forked_child_error();
  const absl::Time started = absl::Now();
  auto state = std::make_shared<TicketState>(*this, where, ReleaseMemory::kToDriver, started);
  QUIESCE_ASSIGN_OR_RETURN(epoch::Ticket ticket, domain_.shutdown(deadline, where));
  // What is free goes at once, whatever the deadline; then the holders are waited for.
  domain_.pass();
  return state->begin(std::move(ticket), true, deadline);
}

uint64_t Core::trim() {
  uint64_t released = 0;
  for (const OpenDevice& open : devices_) released += open.allocator->trim().released;
  return released;
}

uint64_t Core::bytes_in_use() const {
  uint64_t bytes = 0;
  for (const OpenDevice& open : devices_) bytes += open.account.current();
  return bytes;
}

uint64_t Core::bytes_released() const {
  uint64_t bytes = 0;
  for (const OpenDevice& open : devices_) bytes += open.allocator->figures().released;
  return bytes;
}

uint64_t Core::bytes_floor() const {
  uint64_t bytes = 0;
  for (const OpenDevice& open : devices_) bytes += open.floor;
  return bytes;
}

absl::Status Core::device_health() const {
  for (const OpenDevice& open : devices_) QUIESCE_RETURN_IF_ERROR(open.device->health());
  return absl::OkStatus();
}

void Core::enlist(SessionUser& user) {
  base::MutexLock lock(mutex_);
  user.next_ = first_user_;
  if (first_user_ != nullptr) first_user_->previous_ = &user;
  first_user_ = &user;
  ++users_;
}

void Core::strike(SessionUser& user) {
  base::MutexLock lock(mutex_);
  (user.previous_ != nullptr ? user.previous_->next_ : first_user_) = user.next_;
  if (user.next_ != nullptr) user.next_->previous_ = user.previous_;
  --users_;
}

void Core::enlist(SessionContents& contents) {
  base::MutexLock lock(mutex_);
  contents.next_contents_ = first_contents_;
  if (first_contents_ != nullptr) first_contents_->previous_contents_ = &contents;
  first_contents_ = &contents;
  contents.listed_ = true;
}

void Core::strike(SessionContents& contents) {
  base::MutexLock lock(mutex_);
  if (!contents.listed_) return;
  contents.listed_ = false;
  (contents.previous_contents_ != nullptr ? contents.previous_contents_->next_contents_
                                          : first_contents_) = contents.next_contents_;
  if (contents.next_contents_ != nullptr) {
    contents.next_contents_->previous_contents_ = contents.previous_contents_;
  }
}

SessionUser::SessionUser(Core& core, uint64_t id, const SessionOptions& options, uint64_t quota,
                         SourceLocation where)
    : epoch::User(core.domain(),
                  options.name.empty() ? absl::StrCat("session-", id) : options.name),
      core_(core),
      id_(id),
      seed_(options.seed),
      quota_(quota),
      where_(where),
      device_(core.devices()[static_cast<size_t>(options.device)]) {
  core_.enlist(*this);
}

SessionUser::~SessionUser() { core_.strike(*this); }

const memory::Account& SessionUser::account() {
  base::MutexLock lock(mutex_);
  if (account_.empty()) {
    account_ = memory::Account::open(*device_.allocator, &device_.account,
                                     memory::AccountLevel::kSession, name());
  }
  return account_;
}

}  // namespace quiesce::runtime
