#include "exec/fusion.h"

namespace quiesce::exec {

using graph::Ir;
using graph::Node;
using graph::Op;

bool is_softmax_crossentropy(const Node& node) {
  return node.loss.from_logits &&
         (node.loss.kind == LossSpec::Kind::kCategoricalCrossentropy ||
          node.loss.kind == LossSpec::Kind::kSparseCategoricalCrossentropy);
}

namespace {

bool same_loss(const Node& a, const Node& b) {
  return a.in == b.in && a.loss.kind == b.loss.kind && a.loss.from_logits == b.loss.from_logits &&
         a.loss.label_smoothing == b.loss.label_smoothing &&
         a.loss.huber_delta == b.loss.huber_delta;
}

void mark_wanted(const Ir& ir, Fusion& fusion) {
  const auto want = [&](int32_t value) {
    fusion.wanted[value] = true;
    ++fusion.uses[value];
  };
  for (const graph::Output& output : ir.outputs) want(output.value);
  for (const Ir::Gradient& gradient : ir.gradients) want(gradient.value);
  for (int32_t id = static_cast<int32_t>(ir.nodes.size()) - 1; id >= 0; --id) {
    if (!fusion.wanted[id]) continue;
    for (int32_t operand : ir.nodes[id].in) {
      if (operand >= 0) want(operand);
    }
  }
}

// Whether truth and weights of a loss are there when node `id` is lowered: inputs always are.
bool ready(const Ir& ir, const Node& loss, int32_t id) {
  for (int32_t operand : {loss.in[0], loss.in[2]}) {
    if (operand >= id && ir.nodes[operand].op != Op::kInput) return false;
  }
  return true;
}

void group_losses(const Ir& ir, Fusion& fusion) {
  const auto count = static_cast<int32_t>(ir.nodes.size());
  for (int32_t id = 0; id < count; ++id) {
    const Node& node = ir.nodes[id];
    if (!fusion.wanted[id] || (node.op != Op::kLoss && node.op != Op::kLossGrad)) continue;
    const bool is_loss = node.op == Op::kLoss;
    int32_t found = -1;
    for (size_t g = 0; g < fusion.groups.size(); ++g) {
      const LossGroup& group = fusion.groups[g];
      const bool room = is_loss ? group.loss < 0 : group.grad < 0;
      if (room && same_loss(ir.nodes[group.loss >= 0 ? group.loss : group.grad], node)) {
        found = static_cast<int32_t>(g);
      }
    }
    if (found < 0) {
      found = static_cast<int32_t>(fusion.groups.size());
      fusion.groups.emplace_back();
    }
    (is_loss ? fusion.groups[found].loss : fusion.groups[found].grad) = id;
    fusion.group[id] = found;
  }
  for (size_t g = 0; g < fusion.groups.size(); ++g) {
    LossGroup& group = fusion.groups[g];
    const Node& node = ir.nodes[group.loss >= 0 ? group.loss : group.grad];
    if (!is_softmax_crossentropy(node)) continue;
    const auto take = [&](int32_t& slot, int32_t id) {
      if (slot >= 0 || fusion.group[id] >= 0) return;
      slot = id;
      fusion.group[id] = static_cast<int32_t>(g);
    };
    const AccuracyRule rule = node.loss.kind == LossSpec::Kind::kSparseCategoricalCrossentropy
                                  ? AccuracyRule::kSparseCategorical
                                  : AccuracyRule::kCategorical;
    for (int32_t id = 0; id < count; ++id) {
      const Node& other = ir.nodes[id];
      if (!fusion.wanted[id]) continue;
      if (other.op == Op::kSoftmax && other.in[0] == node.in[1] && ready(ir, node, id)) {
        take(group.softmax, id);
      }
      if (other.op == Op::kCorrect && other.rule == rule && other.in[0] == node.in[0] &&
          group.softmax >= 0 && other.in[1] == group.softmax) {
        take(group.correct, id);
      }
    }
  }
}

void absorb(const Ir& ir, Fusion& fusion) {
  const auto take = [&](int32_t operand, Op op) {
    if (ir.nodes[operand].op != op || fusion.uses[operand] != 1) return false;
    fusion.absorbed[operand] = true;
    return true;
  };
  for (size_t id = 0; id < ir.nodes.size(); ++id) {
    if (!fusion.wanted[id]) continue;
    const Node& node = ir.nodes[id];
    switch (node.op) {
      case Op::kAddBias:
        take(node.in[0], Op::kMatMul);
        break;
      case Op::kRelu: {
        // Only a whole dense layer, or a bare product.
        const int32_t x = node.in[0];
        const bool dense = ir.nodes[x].op == Op::kAddBias && fusion.absorbed[ir.nodes[x].in[0]];
        if (dense) take(x, Op::kAddBias);
        if (ir.nodes[x].op == Op::kMatMul) take(x, Op::kMatMul);
        break;
      }
      case Op::kReluGrad:
        take(node.in[1], Op::kMatMulGradInput);
        break;
      case Op::kScale: {
        // input -> (reshape ->) scale, and nobody else reads the unscaled input.
        int32_t x = node.in[0];
        bool alone = fusion.uses[x] == 1;
        while (ir.nodes[x].op == Op::kReshape) {
          x = ir.nodes[x].in[0];
          alone = alone && fusion.uses[x] == 1;
        }
        if (alone && ir.nodes[x].op == Op::kInput) {
          fusion.feed_scale[ir.nodes[x].number] = static_cast<int32_t>(id);
        }
        break;
      }
      default:
        break;
    }
  }
}

}  // namespace

Fusion fuse(const Ir& ir) {
  Fusion fusion;
  const size_t count = ir.nodes.size();
  fusion.wanted.assign(count, false);
  fusion.absorbed.assign(count, false);
  fusion.uses.assign(count, 0);
  fusion.group.assign(count, -1);
  fusion.feed_scale.assign(ir.inputs.size(), -1);
  mark_wanted(ir, fusion);
  group_losses(ir, fusion);
  absorb(ir, fusion);
  return fusion;
}

}  // namespace quiesce::exec
