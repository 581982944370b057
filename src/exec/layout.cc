#include "exec/layout.h"

#include <algorithm>
#include <numeric>

namespace quiesce::exec {

uint64_t lay_out(std::vector<Temporary>& temporaries) {
  std::vector<size_t> order(temporaries.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return temporaries[a].bytes > temporaries[b].bytes; });
  std::vector<const Temporary*> placed;  // by place
  uint64_t block = 0;
  for (size_t index : order) {
    Temporary& wanted = temporaries[index];
    const uint64_t bytes =
        (wanted.bytes + kTemporaryAlignment - 1) / kTemporaryAlignment * kTemporaryAlignment;
    uint64_t best = UINT64_MAX;
    uint64_t best_gap = UINT64_MAX;
    uint64_t end = 0;  // of everything alive at the same time, so far from the left
    for (const Temporary* other : placed) {
      if (other->last < wanted.first || other->first > wanted.last) continue;
      if (other->at >= end + bytes && other->at - end < best_gap) {
        best = end;
        best_gap = other->at - end;
      }
      const uint64_t other_end = other->at + (other->bytes + kTemporaryAlignment - 1) /
                                                 kTemporaryAlignment * kTemporaryAlignment;
      end = std::max(end, other_end);
    }
    wanted.at = best == UINT64_MAX ? end : best;
    block = std::max(block, wanted.at + bytes);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), &wanted,
                         [](const Temporary* a, const Temporary* b) { return a->at < b->at; }),
        &wanted);
  }
  return block;
}

}  // namespace quiesce::exec
