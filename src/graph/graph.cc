#include "quiesce/graph.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "graph/ir.h"

namespace quiesce {

int UpdateRule::slots() const {
  switch (kind) {
    case Kind::kSgd:
      return momentum != 0 ? 1 : 0;
    case Kind::kRmsprop:
      return 1 + (centered ? 1 : 0) + (momentum != 0 ? 1 : 0);
    case Kind::kAdam:
      return 2;
  }
  return 0;
}

Graph::Graph() = default;
Graph::Graph(std::shared_ptr<const graph::Ir> ir) : ir_(std::move(ir)) {}
Graph::~Graph() = default;
Graph::Graph(const Graph&) = default;
Graph& Graph::operator=(const Graph&) = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

const std::string& Graph::name() const { return ir_->name; }
absl::Span<const InputInfo> Graph::inputs() const { return ir_->inputs; }
absl::Span<const OutputInfo> Graph::outputs() const { return ir_->output_infos; }
absl::Span<const VariableInfo> Graph::variables() const { return ir_->variables; }
int64_t Graph::variable_floats() const { return ir_->variable_floats; }
int64_t Graph::trainable_floats() const { return ir_->trainable_floats; }
int Graph::slots() const { return ir_->has_update ? ir_->update.slots() : 0; }
bool Graph::has_update() const { return ir_->has_update; }

int Graph::input_index(std::string_view name) const {
  for (size_t i = 0; i < ir_->inputs.size(); ++i) {
    if (ir_->inputs[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

int Graph::output_index(std::string_view name) const {
  for (size_t i = 0; i < ir_->output_infos.size(); ++i) {
    if (ir_->output_infos[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

absl::Status Graph::check_feed(int index, const Shape& shape, std::string_view origin) const {
  const InputInfo& input = ir_->inputs[static_cast<size_t>(index)];
  const Shape& want = input.shape;
  const std::string& who = input.consumer.empty() ? input.name : input.consumer;
  const auto error = [&](const std::string& what) {
    return base::make_error(ErrorKind::kInvalidArgument,
                            absl::StrCat(who, " expects ", what, ", got ", shape.to_string(),
                                         " from ", std::string(origin)));
  };
  if (shape.rank() != want.rank()) {
    // Labels of shape [n, 1] are as good as [n]: the elements are the same.
    const bool column = shape.rank() == want.rank() + 1 && shape[-1] == 1;
    const bool flat = shape.rank() + 1 == want.rank() && want[-1] == 1;
    if (column || flat) return absl::OkStatus();
    return error(absl::StrCat("shape ", want.to_string()));
  }
  for (int axis = 1; axis < want.rank(); ++axis) {
    if (shape[axis] == want[axis]) continue;
    if (axis == want.rank() - 1) return error(absl::StrCat("a last dimension of ", want[axis]));
    return error(absl::StrCat("shape ", want.to_string()));
  }
  return absl::OkStatus();
}

std::string Graph::to_string() const {
  std::string text = absl::StrCat("graph ", ir_->name, "\n");
  for (size_t i = 0; i < ir_->nodes.size(); ++i) {
    const graph::Node& node = ir_->nodes[i];
    absl::StrAppend(&text, "  %", i, " = ", graph::op_name(node.op));
    if (node.op == graph::Op::kInput) {
      absl::StrAppend(&text, " ", ir_->inputs[node.number].name);
    } else if (node.op == graph::Op::kVariable) {
      absl::StrAppend(&text, " ", ir_->variables[node.number].path);
    }
    for (int32_t operand : node.in) {
      if (operand >= 0) absl::StrAppend(&text, " %", operand);
    }
    absl::StrAppend(&text, " : ", dtype_name(node.dtype), node.shape.to_string());
    if (!ir_->scopes[node.scope].empty()) absl::StrAppend(&text, "  # ", ir_->scopes[node.scope]);
    text += "\n";
  }
  for (const graph::Output& output : ir_->outputs) {
    absl::StrAppend(&text, "  output ", output.info.name, " = %", output.value, "\n");
  }
  if (ir_->has_update)
    absl::StrAppend(&text, "  update of ", ir_->gradients.size(), " variables\n");
  return text;
}

namespace graph {

const char* op_name(Op op) {
  switch (op) {
    case Op::kInput:
      return "input";
    case Op::kVariable:
      return "variable";
    case Op::kMatMul:
      return "matmul";
    case Op::kAddBias:
      return "add_bias";
    case Op::kRelu:
      return "relu";
    case Op::kSigmoid:
      return "sigmoid";
    case Op::kTanh:
      return "tanh";
    case Op::kSoftmax:
      return "softmax";
    case Op::kScale:
      return "scale";
    case Op::kDropout:
      return "dropout";
    case Op::kReshape:
      return "reshape";
    case Op::kAdd:
      return "add";
    case Op::kLoss:
      return "loss";
    case Op::kL1:
      return "l1";
    case Op::kL2:
      return "l2";
    case Op::kCorrect:
      return "correct";
    case Op::kZero:
      return "zero";
    case Op::kMatMulGradInput:
      return "matmul_grad_input";
    case Op::kMatMulGradWeight:
      return "matmul_grad_weight";
    case Op::kBiasGrad:
      return "bias_grad";
    case Op::kReluGrad:
      return "relu_grad";
    case Op::kSigmoidGrad:
      return "sigmoid_grad";
    case Op::kTanhGrad:
      return "tanh_grad";
    case Op::kSoftmaxGrad:
      return "softmax_grad";
    case Op::kLossGrad:
      return "loss_grad";
    case Op::kL1Grad:
      return "l1_grad";
    case Op::kL2Grad:
      return "l2_grad";
  }
  return "unknown";
}

}  // namespace graph
}  // namespace quiesce
