// Reverse mode: each operation's rule, and the walk that applies them.

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "graph/ir.h"

namespace quiesce::graph {
namespace {

// Walks the nodes backwards from the loss. The derivative of a scalar by the loss is always a
// number known now (losses are only added and scaled), that of any other value is a node.
class Backward {
 public:
  Backward(Ir& ir, size_t nodes) : ir_(ir), scalar_(nodes, 0.0), value_(nodes, -1) {}

  absl::Status run(int32_t loss, absl::Span<const int32_t> variables,
                   std::vector<int32_t>& gradients);

 private:
  void mark_needed(int32_t loss, absl::Span<const int32_t> variables);
  absl::Status visit(int32_t id);

  int32_t append(Op op, const Shape& shape, int32_t in0, int32_t in1 = -1, int32_t in2 = -1) {
    Node node;
    node.op = op;
    node.shape = shape;
    node.in = {in0, in1, in2};
    node.scope = ir_.scope;
    ir_.nodes.push_back(std::move(node));
    return static_cast<int32_t>(ir_.nodes.size()) - 1;
  }

  // Adds `contribution` to the derivative of `id`.
  void give(int32_t id, int32_t contribution) {
    if (!needed_[id]) return;
    value_[id] = value_[id] < 0 ? contribution
                                : append(Op::kAdd, ir_.nodes[id].shape, value_[id], contribution);
  }

  Ir& ir_;
  std::vector<double> scalar_;  // d(loss) / d(scalar value)
  std::vector<int32_t> value_;  // node of d(loss) / d(value), or -1 while nothing has arrived
  std::vector<bool> needed_;    // lies on a way from a wanted variable to the loss
};

void Backward::mark_needed(int32_t loss, absl::Span<const int32_t> variables) {
  needed_.assign(value_.size(), false);
  for (int32_t variable : variables) needed_[variable] = true;
  for (int32_t id = 0; id <= loss; ++id) {
    for (int32_t operand : ir_.nodes[id].in) {
      if (operand >= 0 && needed_[operand]) needed_[id] = true;
    }
  }
}

absl::Status Backward::run(int32_t loss, absl::Span<const int32_t> variables,
                           std::vector<int32_t>& gradients) {
  if (ir_.nodes[loss].shape.rank() != 0) {
    return base::make_error(
        ErrorKind::kInvalidArgument,
        absl::StrCat("gradients start from a scalar, got ", ir_.nodes[loss].shape.to_string()));
  }
  mark_needed(loss, variables);
  scalar_[loss] = 1.0;
  for (int32_t id = loss; id >= 0; --id) {
    if (!needed_[id]) continue;
    if (absl::Status status = visit(id); !status.ok()) return status;
  }
  for (int32_t variable : variables) {
    int32_t& gradient = value_[variable];
    ir_.scope = ir_.nodes[variable].scope;
    if (gradient < 0) gradient = append(Op::kZero, ir_.nodes[variable].shape, -1);
    gradients.push_back(gradient);
  }
  return absl::OkStatus();
}

absl::Status Backward::visit(int32_t id) {
  const Node node = ir_.nodes[id];  // a copy: appending moves the nodes
  ir_.scope = node.scope;
  const int32_t x = node.in[0];
  const int32_t dy = value_[id];
  const double factor = scalar_[id];
  const auto shape = [&](int32_t operand) { return ir_.nodes[operand].shape; };
  const bool is_scalar = node.shape.rank() == 0 && node.op != Op::kVariable;
  if (is_scalar ? factor == 0.0 : dy < 0) return absl::OkStatus();  // nothing arrives here

  switch (node.op) {
    case Op::kInput:
    case Op::kVariable:
      return absl::OkStatus();
    case Op::kMatMul: {
      if (needed_[node.in[1]]) {
        give(node.in[1], append(Op::kMatMulGradWeight, shape(node.in[1]), x, dy));
      }
      if (needed_[x]) give(x, append(Op::kMatMulGradInput, shape(x), dy, node.in[1]));
      return absl::OkStatus();
    }
    case Op::kAddBias: {
      if (needed_[node.in[1]]) {
        give(node.in[1], append(Op::kBiasGrad, shape(node.in[1]), dy));
      }
      give(x, dy);
      return absl::OkStatus();
    }
    case Op::kRelu:
      give(x, append(Op::kReluGrad, node.shape, id, dy));
      return absl::OkStatus();
    case Op::kSigmoid:
      give(x, append(Op::kSigmoidGrad, node.shape, id, dy));
      return absl::OkStatus();
    case Op::kTanh:
      give(x, append(Op::kTanhGrad, node.shape, id, dy));
      return absl::OkStatus();
    case Op::kSoftmax:
      give(x, append(Op::kSoftmaxGrad, node.shape, id, dy));
      return absl::OkStatus();
    case Op::kScale: {
      if (is_scalar) {
        scalar_[x] += factor * node.a;
        return absl::OkStatus();
      }
      const int32_t dx = append(Op::kScale, node.shape, dy);
      ir_.nodes[dx].a = node.a;
      give(x, dx);
      return absl::OkStatus();
    }
    case Op::kDropout: {
      // The same stream and seed give the same mask again; nothing was stored.
      const int32_t dx = append(Op::kDropout, node.shape, dy);
      ir_.nodes[dx].a = node.a;
      ir_.nodes[dx].number = node.number;
      give(x, dx);
      return absl::OkStatus();
    }
    case Op::kReshape:
      give(x, append(Op::kReshape, shape(x), dy));
      return absl::OkStatus();
    case Op::kAdd:
      for (int32_t operand : {node.in[0], node.in[1]}) {
        if (is_scalar) {
          scalar_[operand] += factor;
        } else {
          give(operand, dy);
        }
      }
      return absl::OkStatus();
    case Op::kLoss: {
      const int32_t predicted = node.in[1];
      if (needed_[predicted]) {
        const int32_t grad =
            append(Op::kLossGrad, shape(predicted), node.in[0], predicted, node.in[2]);
        ir_.nodes[grad].loss = node.loss;
        ir_.nodes[grad].a = factor;
        give(predicted, grad);
      }
      return absl::OkStatus();
    }
    case Op::kL1:
    case Op::kL2: {
      // Adds to what has arrived so far, so no temporary of the variable's size is needed.
      const int32_t grad =
          append(node.op == Op::kL1 ? Op::kL1Grad : Op::kL2Grad, shape(x), x, value_[x]);
      ir_.nodes[grad].a = node.a * factor;
      value_[x] = grad;
      return absl::OkStatus();
    }
    default:
      break;
  }
  return base::make_error(ErrorKind::kUnsupported,
                          absl::StrCat(op_name(node.op), " has no gradient"));
}

}  // namespace

absl::Status append_gradients(Ir& ir, int32_t loss, absl::Span<const int32_t> variables,
                              std::vector<int32_t>& gradients) {
  return Backward(ir, ir.nodes.size()).run(loss, variables, gradients);
}

}  // namespace quiesce::graph
