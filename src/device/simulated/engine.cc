#include "device/simulated/engine.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "base/status_macros.h"
#include "device/virtual_memory.h"

namespace quiesce::device::simulated {
namespace {

constexpr uint64_t kForever = std::numeric_limits<uint64_t>::max();

// Set while this thread runs work.
constinit thread_local bool inside_work = false;

absl::Status called_from_work() {
  return base::make_error(ErrorKind::kInvalidArgument,
                          "a kernel of the simulated device called the device");
}

base::CondVar::TimePoint to_steady(absl::Time deadline) {
  const absl::Duration left = std::min(deadline - absl::Now(), absl::Hours(24));
  return std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(left);
}

bool overlaps(const void* a, size_t a_bytes, const void* b, size_t b_bytes) {
  const uintptr_t x = reinterpret_cast<uintptr_t>(a);
  const uintptr_t y = reinterpret_cast<uintptr_t>(b);
  return x < y + b_bytes && y < x + a_bytes;
}

}  // namespace

Engine::~Engine() {
  // Work that was never run is dropped with its streams; the memory goes with the ranges.
  for (const auto& [begin, reservation] : reservations_) {
    release_addresses(reinterpret_cast<void*>(begin), reservation.bytes).IgnoreError();
  }
}

bool Engine::reentered() const {
  // Relaxed: a count.
  if (inside_work) misuses_.fetch_add(1, std::memory_order_relaxed);
  return inside_work;
}

absl::StatusOr<void*> Engine::reserve(size_t bytes, size_t chunk) {
  if (reentered()) return called_from_work();
  base::MutexLock lock(mutex_);
  QUIESCE_RETURN_IF_ERROR(lost_);
  QUIESCE_ASSIGN_OR_RETURN(void* range, reserve_addresses(bytes, chunk));
  reservations_.emplace(reinterpret_cast<uintptr_t>(range),
                        Reservation{bytes, chunk, std::vector<bool>(bytes / chunk)});
  return range;
}

absl::Status Engine::release(void* range, size_t bytes) {
  if (reentered()) return called_from_work();
  base::MutexLock lock(mutex_);
  auto found = reservations_.find(reinterpret_cast<uintptr_t>(range));
  const bool whole = found != reservations_.end() && found->second.bytes == bytes;
  if (!whole || std::count(found->second.committed.begin(), found->second.committed.end(), true)) {
    misuses_.fetch_add(1, std::memory_order_relaxed);
    return base::make_error(ErrorKind::kInvalidArgument,
                            "release of a range that is not reserved, or is still mapped");
  }
  QUIESCE_RETURN_IF_ERROR(release_addresses(range, bytes));
  reservations_.erase(found);
  return absl::OkStatus();
}

absl::Status Engine::mark_chunks(void* at, size_t bytes, bool committed) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(at);
  auto found = reservations_.upper_bound(begin);
  const bool inside = found != reservations_.begin() &&
                      begin + bytes <= std::prev(found)->first + std::prev(found)->second.bytes;
  if (inside) {
    --found;
    Reservation& reservation = found->second;
    const size_t first = (begin - found->first) / reservation.chunk;
    const size_t count = bytes / reservation.chunk;
    const auto from = reservation.committed.begin() + static_cast<ptrdiff_t>(first);
    if (std::count(from, from + static_cast<ptrdiff_t>(count), committed) == 0) {
      std::fill_n(from, count, committed);
      return absl::OkStatus();
    }
  }
  misuses_.fetch_add(1, std::memory_order_relaxed);
  return base::make_error(ErrorKind::kInvalidArgument,
                          committed ? "commit of memory that is not reserved, or mapped already"
                                    : "decommit of memory that is not mapped");
}

absl::Status Engine::commit(void* at, size_t bytes) {
  if (reentered()) return called_from_work();
  base::MutexLock lock(mutex_);
  QUIESCE_RETURN_IF_ERROR(lost_);
  const uint64_t spoken_for = options_.outside_bytes + committed_;
  if (bytes > options_.capacity_bytes - std::min(options_.capacity_bytes, spoken_for)) {
    return base::make_error(
        ErrorKind::kOutOfMemory,
        absl::StrCat("the simulated device has ", options_.capacity_bytes, " bytes, ", spoken_for,
                     " are in use, ", bytes, " more were asked for"));
  }
  QUIESCE_RETURN_IF_ERROR(mark_chunks(at, bytes, true));
  absl::Status status = commit_addresses(at, bytes);
  if (!status.ok()) {
    mark_chunks(at, bytes, false).IgnoreError();
    return status;
  }
  committed_ += bytes;
  return absl::OkStatus();
}

absl::Status Engine::decommit(void* at, size_t bytes) {
  if (reentered()) return called_from_work();
  base::MutexLock lock(mutex_);
  if (lost_.ok() && in_flight(at, bytes)) {
    misuses_.fetch_add(1, std::memory_order_relaxed);
    return base::make_error(ErrorKind::kInvalidArgument,
                            "decommit of memory that queued work still touches");
  }
  QUIESCE_RETURN_IF_ERROR(mark_chunks(at, bytes, false));
  absl::Status status = decommit_addresses(at, bytes);
  if (!status.ok()) {
    mark_chunks(at, bytes, true).IgnoreError();
    return status;
  }
  committed_ -= bytes;
  return absl::OkStatus();
}

uint64_t Engine::committed() const {
  base::MutexLock lock(mutex_);
  return committed_;
}

bool Engine::mapped(const void* data, size_t bytes) const {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(data);
  auto found = reservations_.upper_bound(begin);
  if (found == reservations_.begin()) return false;
  --found;
  const Reservation& reservation = found->second;
  if (bytes > reservation.bytes || begin - found->first > reservation.bytes - bytes) return false;
  const size_t first = (begin - found->first) / reservation.chunk;
  const size_t last = (begin - found->first + std::max<size_t>(bytes, 1) - 1) / reservation.chunk;
  for (size_t chunk = first; chunk <= last; ++chunk) {
    if (!reservation.committed[chunk]) return false;
  }
  return true;
}

bool Engine::in_flight(const void* at, size_t bytes) const {
  for (uint64_t id : busy_) {
    for (const Queued& queued : streams_.at(id).queue) {
      for (const Span& span : queued.work.spans) {
        if (overlaps(span.data, span.bytes, at, bytes)) return true;
      }
    }
  }
  return false;
}

absl::Status Engine::create_stream(uint64_t id) {
  if (reentered()) return called_from_work();
  base::MutexLock lock(mutex_);
  QUIESCE_RETURN_IF_ERROR(lost_);
  streams_[id].ticks = options_.work_ticks;
  return absl::OkStatus();
}

void Engine::destroy_stream(uint64_t id) {
  if (reentered()) return;
  base::MutexLock lock(mutex_);
  auto found = streams_.find(id);
  if (found == streams_.end()) return;
  // Work that was given goes on; the stream is forgotten when it is done.
  found->second.destroyed = true;
  if (found->second.queue.empty()) streams_.erase(found);
}

absl::StatusOr<uint64_t> Engine::enqueue(uint64_t stream, Work work) {
  if (reentered()) return called_from_work();
  base::MutexLock lock(mutex_);
  QUIESCE_RETURN_IF_ERROR(lost_);
  auto found = streams_.find(stream);
  if (found == streams_.end() || found->second.destroyed) {
    misuses_.fetch_add(1, std::memory_order_relaxed);
    return base::make_error(ErrorKind::kInvalidArgument, "work on a destroyed stream");
  }
  StreamState& state = found->second;
  const uint64_t number = ++state.issued;
  const uint64_t ticks = work.run == nullptr ? 0 : state.ticks;
  state.queue.push_back({std::move(work), number, ticks, now_});
  busy_.insert(stream);
  ++queued_;
  changed_.notify_all();
  return number;
}

uint64_t Engine::issued(uint64_t stream) const {
  base::MutexLock lock(mutex_);
  auto found = streams_.find(stream);
  return found == streams_.end() ? 0 : found->second.issued;
}

bool Engine::complete_locked(Point point) const {
  if (!lost_.ok()) return true;
  auto found = streams_.find(point.stream);
  return found == streams_.end() || found->second.completed >= point.number;
}

void Engine::run(StreamState& stream, uint64_t finish) {
  Queued queued = std::move(stream.queue.front());
  now_ = std::max(now_, finish);
  for (const Span& span : queued.work.spans) {
    if (mapped(span.data, span.bytes)) continue;
    misuses_.fetch_add(1, std::memory_order_relaxed);
    lost_ = base::make_error(
        ErrorKind::kDeviceLost,
        absl::StrCat("the simulated device is lost: ", queued.work.name, " ",
                     span.write ? "wrote " : "read ", span.bytes, " bytes at 0x",
                     absl::Hex(reinterpret_cast<uintptr_t>(span.data)), ", which is not mapped"));
    changed_.notify_all();
    return;
  }
  if (queued.work.run != nullptr) {
    inside_work = true;
    queued.work.run(queued.work.args.data());
    inside_work = false;
  }
  stream.queue.pop_front();
  stream.completed = queued.number;
  stream.free_at = now_;
  --queued_;
}

bool Engine::run_next(uint64_t until) {
  if (!lost_.ok()) return false;
  StreamState* next = nullptr;
  uint64_t next_id = 0;
  uint64_t next_finish = kForever;
  for (uint64_t id : busy_) {
    StreamState& stream = streams_.at(id);
    const Queued& head = stream.queue.front();
    if (stream.stalled || !complete_locked(head.work.wait_for)) continue;
    const uint64_t finish = std::max(stream.free_at, head.given_at) + head.ticks;
    if (next == nullptr || finish < next_finish) {
      next = &stream;
      next_id = id;
      next_finish = finish;
    }
  }
  if (next == nullptr || next_finish > until) return false;
  run(*next, next_finish);
  if (lost_.ok() && next->queue.empty()) {
    busy_.erase(next_id);
    if (next->destroyed) streams_.erase(next_id);
  }
  return true;
}

bool Engine::poll(Point point) {
  if (reentered()) return false;
  base::MutexLock lock(mutex_);
  if (complete_locked(point)) return true;
  if (options_.poll_ticks == 0) return false;
  const uint64_t until = now_ + options_.poll_ticks;
  while (run_next(until)) {
  }
  now_ = std::max(now_, until);
  return complete_locked(point);
}

absl::Status Engine::await(Point point, absl::Time deadline) {
  if (reentered()) return called_from_work();
  const base::CondVar::TimePoint until = to_steady(deadline);
  base::MutexLock lock(mutex_);
  while (!complete_locked(point)) {
    if (run_next(kForever)) continue;
    if (std::chrono::steady_clock::now() >= until) {
      return base::make_error(ErrorKind::kDeadline,
                              "the simulated stream did not finish its work by the deadline");
    }
    changed_.wait_until(mutex_, until);
  }
  return lost_;
}

absl::Status Engine::await_all(absl::Time deadline) {
  std::vector<Point> points;
  {
    base::MutexLock lock(mutex_);
    for (uint64_t id : busy_) points.push_back({id, streams_.at(id).issued});
  }
  for (Point point : points) QUIESCE_RETURN_IF_ERROR(await(point, deadline));
  return health();
}

void Engine::advance(uint64_t ticks) {
  if (reentered()) return;
  base::MutexLock lock(mutex_);
  const uint64_t until = now_ + ticks;
  while (run_next(until)) {
  }
  now_ = std::max(now_, until);
  changed_.notify_all();
}

uint64_t Engine::now() const {
  base::MutexLock lock(mutex_);
  return now_;
}

void Engine::stall(uint64_t stream, bool stalled) {
  base::MutexLock lock(mutex_);
  auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  found->second.stalled = stalled;
  changed_.notify_all();
}

void Engine::set_work_ticks(uint64_t stream, uint64_t ticks) {
  base::MutexLock lock(mutex_);
  auto found = streams_.find(stream);
  if (found != streams_.end()) found->second.ticks = ticks;
}

uint64_t Engine::queued() const {
  base::MutexLock lock(mutex_);
  return queued_;
}

uint64_t Engine::misuses() const { return misuses_.load(std::memory_order_relaxed); }

void Engine::lose(absl::Status cause) {
  base::MutexLock lock(mutex_);
  if (!lost_.ok()) return;
  lost_ = base::make_error(ErrorKind::kDeviceLost,
                           absl::StrCat("the simulated device is lost: ", cause.message()));
  changed_.notify_all();
}

absl::Status Engine::health() const {
  base::MutexLock lock(mutex_);
  return lost_;
}

}  // namespace quiesce::device::simulated
