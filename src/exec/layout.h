#ifndef QUIESCE_EXEC_LAYOUT_H_
#define QUIESCE_EXEC_LAYOUT_H_

#include <cstdint>
#include <vector>

namespace quiesce::exec {

// A temporary: its size, and the steps from first write to last use, both included.
struct Temporary {
  uint64_t bytes = 0;
  int32_t first = 0;
  int32_t last = 0;
  uint64_t at = 0;  // result: place in the block
};

// Every temporary begins on a cache line.
inline constexpr uint64_t kTemporaryAlignment = 64;

// Gives each temporary a place so that no two whose steps overlap share a byte. Largest first, each
// in the tightest gap between those already placed. Returns the size of the block.
uint64_t lay_out(std::vector<Temporary>& temporaries);

}  // namespace quiesce::exec

#endif  // QUIESCE_EXEC_LAYOUT_H_
