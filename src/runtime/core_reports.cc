// What a runtime says of itself: memory, what is alive, totals, counts of its own records.
#include <cstdio>
#include <string>
#include <utility>

#include "runtime/core.h"
#include "runtime/report_format.h"
#include "runtime/session_contents.h"
#include "runtime/ticket_state.h"

namespace quiesce::runtime {
namespace {

// Lines of the kernel's list of this process's mappings; 0 where it has none.
uint64_t process_mappings() {
  std::FILE* file = std::fopen("/proc/self/maps", "re");
  if (file == nullptr) return 0;
  uint64_t lines = 0;
  char buffer[4096];
  while (const size_t got = std::fread(buffer, 1, sizeof(buffer), file)) {
    for (size_t i = 0; i < got; ++i) lines += buffer[i] == '\n';
  }
  std::fclose(file);
  return lines;
}

}  // namespace

SessionMemory Core::session_memory_locked(SessionUser& user) {
  SessionMemory memory;
  memory.session = user.name();
  memory.id = user.id();
  memory.quota = user.quota();
  for (const SessionContents* contents = first_contents_; contents != nullptr;
       contents = contents->next_contents_) {
    if (&contents->user() != &user) continue;
    const AccountFigures figures = contents->account_figures();
    if (!contents->incarnation().live()) {
      memory.held += figures.current;
      continue;
    }
    memory.incarnation = contents->incarnation_id();
    memory.in_use = figures.current;
    memory.peak = figures.peak;
    memory.charged = figures.charged;
  }
  return memory;
}

SessionMemory Core::session_memory(SessionUser& user) {
  if (domain_.forked()) return {};
  base::MutexLock lock(mutex_);
  return session_memory_locked(user);
}

MemoryInfo Core::memory_info() {
  MemoryInfo info;
  if (domain_.forked()) return info;
  for (const OpenDevice& open : devices_) {
    const AllocatorFigures figures = open.allocator->figures();
    DeviceMemory memory;
    memory.device = open.device->name();
    memory.index = open.device->index();
    memory.in_use = figures.current;
    memory.peak = figures.peak;
    memory.reserved = figures.reserved;
    memory.cached = figures.cached();
    memory.released = figures.released;
    memory.limit = figures.limit;
    memory.floor = open.floor;
    info.devices.push_back(std::move(memory));
  }
  base::MutexLock lock(mutex_);
  for (SessionUser* user = first_user_; user != nullptr; user = user->next_) {
    info.sessions.push_back(session_memory_locked(*user));
  }
  return info;
}

void Core::reset_peaks() {
  if (domain_.forked()) return;
  for (const OpenDevice& open : devices_) open.allocator->reset_peak();
  base::MutexLock lock(mutex_);
  for (SessionContents* contents = first_contents_; contents != nullptr;
       contents = contents->next_contents_) {
    contents->reset_peak();
  }
}

LiveReport Core::live_report() {
  LiveReport report;
  if (domain_.forked()) return report;
  {
    base::MutexLock lock(mutex_);
    for (const SessionContents* contents = first_contents_; contents != nullptr;
         contents = contents->next_contents_) {
      // Being made, and not retired for that.
      if (contents->incarnation().state() == epoch::Incarnation::State::kNew) continue;
      const SessionUser& user = contents->user();
      LiveSession session;
      session.session = user.name();
      session.id = user.id();
      session.incarnation = contents->incarnation_id();
      session.retired = !contents->incarnation().live();
      session.bytes = contents->bytes();
      session.handles = user.handles();
      session.age = absl::Now() - contents->made_at();
      session.where = place(user.where());
      session.objects = contents->list_objects();
      report.bytes += session.bytes;
      report.sessions.push_back(std::move(session));
    }
  }
  report.holders = public_holders(domain_.holders().holders);
  return report;
}

RuntimeTotals Core::totals() {
  const epoch::DomainFigures figures = domain_.figures();
  RuntimeTotals totals;
  totals.clears = figures.clears;
  totals.generation = figures.generation;
  totals.sessions_retired = figures.totals.retired;
  totals.sessions_reclaimed = figures.totals.reclaimed;
  totals.sessions_held = figures.totals.held();
  totals.graphs_retired = figures.totals.units_retired;
  totals.graphs_reclaimed = figures.totals.units_reclaimed;
  totals.graphs_held = figures.totals.units_held();
  return totals;
}

RuntimeCensus Core::census() {
  RuntimeCensus census;
  if (domain_.forked()) return census;
  const epoch::DomainFigures figures = domain_.figures();
  census.control_blocks = figures.control_blocks;
  census.thread_records = figures.thread_records;
  {
    base::MutexLock lock(mutex_);
    census.session_users = users_;
    for (const SessionContents* contents = first_contents_; contents != nullptr;
         contents = contents->next_contents_) {
      census.live_objects += contents->object_count();
    }
  }
  census.object_records = object_records.load(std::memory_order_relaxed);
  census.leases = leases.load(std::memory_order_relaxed);
  for (const OpenDevice& open : devices_) {
    census.accounts += open.allocator->account_count();
    census.account_bytes += open.account.current();
    census.reserved_bytes += open.allocator->figures().reserved;
  }
  census.mappings = process_mappings();
  return census;
}

}  // namespace quiesce::runtime
