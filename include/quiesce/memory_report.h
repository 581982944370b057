// What a user reads about memory and about what is alive: MemoryInfo, LiveReport, RuntimeTotals.
// All of them are plain values: readable for ever, unchanged by clears and shutdown, thread-compatible.
#ifndef QUIESCE_MEMORY_REPORT_H_
#define QUIESCE_MEMORY_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "quiesce/clear.h"
#include "quiesce/export.h"

namespace quiesce {

// One device's bytes. reserved = in use + cached + slack: what the driver was asked for.
struct DeviceMemory {
  std::string device;  // "host:0"
  int index = 0;
  uint64_t in_use = 0;
  uint64_t peak = 0;
  uint64_t reserved = 0;
  uint64_t cached = 0;
  uint64_t released = 0;  // given back to the driver so far
  uint64_t limit = 0;     // 0: none
  uint64_t floor = 0;     // what the open device itself costs
};

// One session's bytes.
struct SessionMemory {
  std::string session;
  uint64_t id = 0;
  uint64_t incarnation = 0;  // 0: no live one
  uint64_t in_use = 0;       // of the live incarnation
  uint64_t peak = 0;         // of the live incarnation, resettable
  uint64_t charged = 0;      // in use plus credits that threads hold ready
  uint64_t held = 0;         // of retired incarnations that are not reclaimed
  uint64_t quota = 0;        // 0: none
};

// Bytes per device and per session.
struct QUIESCE_EXPORT MemoryInfo {
  std::vector<DeviceMemory> devices;
  std::vector<SessionMemory> sessions;

  uint64_t in_use() const;
  uint64_t peak() const;
  uint64_t reserved() const;
  uint64_t cached() const;
  uint64_t released() const;
  std::string to_string() const;
  std::string to_json() const;
};

// One model or graph of a session.
struct LiveObject {
  std::string kind;  // "model", "graph"
  std::string name;
  uint64_t handles = 0;
  uint64_t bytes = 0;
  std::string where;  // "sweep.cc:88": where it was made
};

// One incarnation that has not been reclaimed.
struct LiveSession {
  std::string session;
  uint64_t id = 0;
  uint64_t incarnation = 0;
  bool retired = false;
  uint64_t bytes = 0;
  uint64_t handles = 0;   // Session handles, and threads that have it as current
  absl::Duration age = absl::ZeroDuration();
  std::string where;      // "sweep.cc:88": where the session was made
  std::vector<LiveObject> objects;
};

// Everything alive at one moment, with its holders.
struct QUIESCE_EXPORT LiveReport {
  std::vector<LiveSession> sessions;
  std::vector<Holder> holders;  // of the retired ones
  uint64_t bytes = 0;

  uint64_t objects() const;
  std::string to_string() const;
  std::string to_json() const;
};

// What a runtime has done so far. retired = reclaimed + held, at any moment; see ClearCounts.
struct RuntimeTotals {
  uint64_t clears = 0;
  uint64_t generation = 0;
  uint64_t sessions_retired = 0;
  uint64_t sessions_reclaimed = 0;
  uint64_t sessions_held = 0;
  uint64_t graphs_retired = 0;
  uint64_t graphs_reclaimed = 0;
  uint64_t graphs_held = 0;
};

// Counts of the runtime's own records, for those who test that nothing grows.
struct RuntimeCensus {
  uint64_t control_blocks = 0;   // incarnations, with those that only stale handles keep
  uint64_t session_users = 0;
  uint64_t thread_records = 0;
  uint64_t live_objects = 0;     // models, graphs and other contents
  uint64_t object_records = 0;   // what handles refer to, with stale ones
  uint64_t leases = 0;
  uint64_t accounts = 0;
  uint64_t mappings = 0;         // of the process, as the kernel counts them
  uint64_t account_bytes = 0;    // in use, all devices
  uint64_t reserved_bytes = 0;
};

}  // namespace quiesce

#endif  // QUIESCE_MEMORY_REPORT_H_
