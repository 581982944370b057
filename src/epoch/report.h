#ifndef QUIESCE_EPOCH_REPORT_H_
#define QUIESCE_EPOCH_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace quiesce::epoch {

enum class HolderKind : uint8_t { kPin, kLease, kStream, kReclaiming };

// Who keeps one retired incarnation alive.
struct Holder {
  HolderKind kind = HolderKind::kPin;
  std::string label;   // what the pin is for, or the lease's label, or the stream
  std::string thread;  // of the pin, or of the lease's taker
  std::string session;
  uint64_t incarnation = 0;
  uint64_t retired_by = 0;  // number of the clear
  uint64_t bytes = 0;       // of the whole incarnation; each of its holders shows them
  absl::Duration age;       // lease: since taken; pin: since a pass first found it in the way
  std::string file;
  int line = 0;
};

// Numbers of incarnations, and of the units inside them (graphs, to the layers above). A unit made in
// an incarnation that is retired already counts as retired, one that ends before its incarnation does
// as reclaimed, so that both add up: held = retired - reclaimed.
struct Totals {
  uint64_t retired = 0;
  uint64_t reclaimed = 0;
  uint64_t units_retired = 0;
  uint64_t units_reclaimed = 0;
  uint64_t held() const { return retired - reclaimed; }
  uint64_t units_held() const { return units_retired - units_reclaimed; }
};

// How a clear stands. Covers every incarnation not reclaimed of its own and of all earlier clears;
// `own` shows its own apart (rule 28). A plain value.
struct Report {
  uint64_t generation = 0;
  uint64_t clear = 0;  // the clear's number
  bool done = false;   // nothing of this clear and of earlier ones is left
  Totals own;
  Totals all;  // of all clears and retirings so far
  std::vector<Holder> holders;
  uint64_t held_bytes = 0;  // of the incarnations covered, each once
  uint64_t foreign_destructors = 0;  // still to run
};

// A live incarnation, for live_report().
struct LiveIncarnation {
  std::string session;
  uint64_t incarnation = 0;
  uint64_t bytes = 0;
  uint32_t keep_alives = 0;
  uint32_t user_handles = 0;  // 0 of both: an orphan about to be retired
  uint64_t counts = 0;        // leases and counted pins
  absl::Duration age;
};

// Counts of the domain as a whole.
struct DomainFigures {
  uint64_t generation = 0;
  Totals totals;
  uint64_t live = 0;
  uint64_t clears = 0;
  uint64_t control_blocks = 0;
  uint64_t thread_records = 0;       // ever made
  uint64_t thread_records_free = 0;  // waiting for a thread
  uint64_t foreign_destructors = 0;
  uint64_t reclaiming_bytes = 0;  // in incarnations that passes are destroying now (rule 18)
};

// What one pass did.
struct PassResult {
  uint64_t reclaimed = 0;
  uint64_t bytes = 0;           // of those, when claimed
  bool held_by_stream = false;  // something waits for device work alone: look again later
  bool expired = false;         // the deadline came before the end
};

}  // namespace quiesce::epoch

#endif  // QUIESCE_EPOCH_REPORT_H_
