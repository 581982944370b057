#ifndef QUIESCE_EXEC_PLAN_DATA_H_
#define QUIESCE_EXEC_PLAN_DATA_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device/kernel.h"
#include "quiesce/graph.h"

namespace quiesce::exec {

// What a pointer in a kernel's arguments is relative to; known only when a plan runs.
enum class Base : uint8_t { kBlock, kVariables, kGradients, kSlots, kFeed };

// A place in memory that a run can find: base + bytes. `feed` counts for kFeed alone.
struct Place {
  Base base = Base::kBlock;
  int32_t feed = 0;
  uint64_t bytes = 0;
};

// One pointer to be filled in: at `at` bytes into the argument struct.
struct Pointer {
  uint32_t at;
  Place place;
};

// What else of a step's arguments is known only when it runs.
enum class Late : uint8_t { kNothing, kFeed, kSeed, kUpdate };

struct Step {
  const device::Kernel* kernel;
  uint32_t args_at;        // into PlanData::args
  uint32_t first_pointer;  // into PlanData::pointers
  uint32_t pointers;
  Late late = Late::kNothing;
  int32_t feed = -1;  // Late::kFeed: the input it fills
};

// How one input gets into the run.
struct FeedPlan {
  bool needed = false;
  bool scaled = false;    // a scale is folded in, so it is never read in place
  uint64_t block_at = 0;  // where it is gathered to when it is not read in place
  uint64_t row_elements = 1;
};

struct OutputPlan {
  Place place;
  uint64_t bytes = 0;
};

// Largest argument struct, and where a run keeps its copy of one.
inline constexpr size_t kMaxArgsBytes = 160;

struct PlanData {
  Graph graph;
  int64_t batch = 0;
  uint64_t block_bytes = 0;
  std::vector<Step> steps;
  std::vector<Pointer> pointers;
  std::vector<std::byte> args;
  std::vector<FeedPlan> feeds;      // as Graph::inputs()
  std::vector<OutputPlan> outputs;  // as Graph::outputs()
  bool reads_variables = false;
};

}  // namespace quiesce::exec

#endif  // QUIESCE_EXEC_PLAN_DATA_H_
