#ifndef QUIESCE_EXEC_FUSION_H_
#define QUIESCE_EXEC_FUSION_H_

#include <cstdint>
#include <vector>

#include "graph/ir.h"

namespace quiesce::exec {

// A loss with everything that one pass over its rows can give besides. -1: not wanted.
struct LossGroup {
  int32_t loss = -1;     // kLoss
  int32_t grad = -1;     // kLossGrad of the same operands
  int32_t softmax = -1;  // kSoftmax of the logits (softmax cross-entropy only)
  int32_t correct = -1;  // kCorrect of that softmax against the same truth (likewise)
};

// What a plan makes of each node of a graph.
//
// 1. Only nodes from which an output or an update depends are wanted.
// 2. A node that is `absorbed` has no step and no storage of its own: its one user does its work.
struct Fusion {
  std::vector<bool> wanted;
  std::vector<bool> absorbed;
  std::vector<int32_t> uses;   // by wanted nodes, outputs and the update; of a value
  std::vector<int32_t> group;  // index into groups, or -1
  std::vector<LossGroup> groups;
  std::vector<int32_t> feed_scale;  // per input: the kScale folded into it, or -1
};

// matmul + add_bias + relu; relu's gradient behind a product; softmax + cross-entropy + its
// gradient
// + the count of right answers; an input and the scale behind it.
Fusion fuse(const graph::Ir& ir);

// Whether kLoss / kLossGrad is cross-entropy over classes from logits.
bool is_softmax_crossentropy(const graph::Node& node);

}  // namespace quiesce::exec

#endif  // QUIESCE_EXEC_FUSION_H_
