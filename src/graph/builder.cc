// Building: one node per call, with its shape checked and inferred.

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "graph/ir.h"
#include "quiesce/graph.h"

namespace quiesce {

using graph::Ir;
using graph::Node;
using graph::Op;

namespace {

// Abseil may be built with a string_view of its own.
absl::string_view piece(std::string_view text) { return {text.data(), text.size()}; }

// The first error of a builder, with the name of the layer in front.
template <typename... Parts>
Value fail(Ir& ir, const Parts&... parts) {
  if (ir.status.ok()) {
    const std::string& scope = ir.scopes[ir.scope].empty() ? ir.name : ir.scopes[ir.scope];
    ir.status = base::make_error(ErrorKind::kInvalidArgument, absl::StrCat(scope, " ", parts...));
  }
  return {};
}

// Whether all operands exist; once something failed, later calls see invalid values and do nothing.
bool usable(Ir& ir, std::initializer_list<Value> operands) {
  if (!ir.status.ok()) return false;
  for (Value operand : operands) {
    if (!operand.valid() || operand.id >= static_cast<int32_t>(ir.nodes.size())) {
      fail(ir, "got a value of another builder");
      return false;
    }
  }
  return true;
}

Value append(Ir& ir, Node node) {
  node.scope = ir.scope;
  // An input is named after the first layer that reads it, past any reshape or cast.
  for (int32_t operand : node.in) {
    if (operand < 0) continue;
    int32_t source = operand;
    while (ir.nodes[source].op == Op::kReshape || ir.nodes[source].op == Op::kScale) {
      source = ir.nodes[source].in[0];
    }
    if (ir.nodes[source].op != Op::kInput || node.op == Op::kReshape || node.op == Op::kScale) {
      continue;
    }
    InputInfo& input = ir.inputs[ir.nodes[source].number];
    if (input.consumer.empty()) input.consumer = ir.scopes[ir.scope];
  }
  ir.nodes.push_back(std::move(node));
  return {static_cast<int32_t>(ir.nodes.size()) - 1};
}

Value elementwise(Ir& ir, Op op, Value x, double a = 0, double b = 0) {
  Node node;
  node.op = op;
  node.shape = ir.nodes[x.id].shape;
  node.in[0] = x.id;
  node.a = a;
  node.b = b;
  return append(ir, std::move(node));
}

bool is_float(const Ir& ir, Value x) { return ir.nodes[x.id].dtype == DType::kFloat32; }

Value activation(Ir& ir, Op op, Value x) {
  if (!usable(ir, {x})) return {};
  if (!is_float(ir, x)) return fail(ir, graph::op_name(op), " expects float32");
  if (op == Op::kSoftmax && ir.nodes[x.id].shape.rank() < 2) {
    return fail(ir, "softmax expects at least 2 dimensions, got ",
                ir.nodes[x.id].shape.to_string());
  }
  return elementwise(ir, op, x);
}

Value regularizer(Ir& ir, Op op, Value variable, double factor) {
  if (!usable(ir, {variable})) return {};
  if (ir.nodes[variable.id].op != Op::kVariable) {
    return fail(ir, graph::op_name(op), " expects a variable");
  }
  Value value = elementwise(ir, op, variable, factor);
  ir.nodes[value.id].shape = Shape();
  return value;
}

// y_true as a loss or metric of y_pred must look: labels for sparse ones, else the shape of y_pred.
// A trailing extent of 1 more or less is the same elements.
bool labels_fit(const Shape& labels, const Shape& predictions) {
  const Shape leading(predictions.dims().subspan(0, predictions.rank() - 1));
  if (labels == leading) return true;
  return labels.rank() == predictions.rank() && labels[-1] == 1 &&
         Shape(labels.dims().subspan(0, labels.rank() - 1)) == leading;
}

bool same_elements(const Shape& a, const Shape& b) {
  if (a == b) return true;
  if (a.rank() + 1 == b.rank()) return labels_fit(a, b) && b[-1] == 1;
  if (b.rank() + 1 == a.rank()) return labels_fit(b, a) && a[-1] == 1;
  return false;
}

}  // namespace

GraphBuilder::GraphBuilder(std::string_view name) : ir_(std::make_unique<Ir>()) {
  ir_->name = std::string(name);
}
GraphBuilder::~GraphBuilder() = default;
GraphBuilder::GraphBuilder(GraphBuilder&&) noexcept = default;
GraphBuilder& GraphBuilder::operator=(GraphBuilder&&) noexcept = default;

void GraphBuilder::set_scope(std::string_view scope) {
  for (size_t i = 0; i < ir_->scopes.size(); ++i) {
    if (ir_->scopes[i] == scope) {
      ir_->scope = static_cast<int32_t>(i);
      return;
    }
  }
  ir_->scopes.emplace_back(scope);
  ir_->scope = static_cast<int32_t>(ir_->scopes.size()) - 1;
}

Value GraphBuilder::input(std::string_view name, const Shape& shape, DType dtype) {
  if (!ir_->status.ok()) return {};
  for (const InputInfo& other : ir_->inputs) {
    if (other.name == name) return fail(*ir_, "has two inputs named ", piece(name));
  }
  if (shape.rank() == 0 || !shape.with_batch(1).is_static()) {
    return fail(*ir_, "input ", piece(name), " expects a batch and static extents behind it, got ",
                shape.to_string());
  }
  const Shape sample = shape.sample();
  for (int64_t dim : sample.dims()) {
    if (dim == 0)
      return fail(*ir_, "input ", piece(name), " has an empty shape ", shape.to_string());
  }
  if (dtype != DType::kFloat32 && dtype != DType::kInt32) {
    return fail(*ir_, "input ", piece(name),
                " is float32 or int32; data of other types are cast when they are fed");
  }
  ir_->inputs.push_back({std::string(name), shape.with_batch(Shape::kDynamic), dtype, ""});
  Node node;
  node.op = Op::kInput;
  node.dtype = dtype;
  node.shape = shape.with_batch(Shape::kDynamic);
  node.number = static_cast<int32_t>(ir_->inputs.size()) - 1;
  return append(*ir_, std::move(node));
}

Value GraphBuilder::variable(std::string_view path, const Shape& shape, bool trainable) {
  if (!ir_->status.ok()) return {};
  for (const VariableInfo& other : ir_->variables) {
    if (other.path == path) return fail(*ir_, "has two variables at path ", piece(path));
  }
  if (!shape.is_static() || shape.elements() == 0) {
    return fail(*ir_, "variable ", piece(path), " expects static extents above zero, got ",
                shape.to_string());
  }
  if (shape.elements() > graph::kMaxElements) {
    return fail(*ir_, "variable ", piece(path), " of shape ", shape.to_string(),
                " is larger than any device");
  }
  ir_->variables.push_back({std::string(path), shape, trainable, 0});
  Node node;
  node.op = Op::kVariable;
  node.shape = shape;
  node.number = static_cast<int32_t>(ir_->variables.size()) - 1;
  return append(*ir_, std::move(node));
}

Value GraphBuilder::matmul(Value x, Value w) {
  if (!usable(*ir_, {x, w})) return {};
  const Shape& left = ir_->nodes[x.id].shape;
  const Shape& right = ir_->nodes[w.id].shape;
  if (!is_float(*ir_, x) || !is_float(*ir_, w)) return fail(*ir_, "matmul expects float32");
  if (right.rank() != 2 || !right.is_static()) {
    return fail(*ir_, "expects a kernel of 2 dimensions, got ", right.to_string());
  }
  if (left.rank() < 2 || left[-1] != right[0]) {
    return fail(*ir_, "expects a last dimension of ", right[0], ", got ", left.to_string());
  }
  Node node;
  node.op = Op::kMatMul;
  std::vector<int64_t> dims(left.dims().begin(), left.dims().end());
  dims.back() = right[1];
  node.shape = Shape(absl::Span<const int64_t>(dims));
  node.in = {x.id, w.id, -1};
  return append(*ir_, std::move(node));
}

Value GraphBuilder::add_bias(Value x, Value bias) {
  if (!usable(*ir_, {x, bias})) return {};
  const Shape& left = ir_->nodes[x.id].shape;
  const Shape& right = ir_->nodes[bias.id].shape;
  if (!is_float(*ir_, x) || !is_float(*ir_, bias)) return fail(*ir_, "add_bias expects float32");
  if (left.rank() < 1 || right.rank() != 1 || left[-1] != right[0]) {
    return fail(*ir_, "expects a bias of [", left.rank() < 1 ? 1 : left[-1], "], got ",
                right.to_string());
  }
  Value value = elementwise(*ir_, Op::kAddBias, x);
  ir_->nodes[value.id].in[1] = bias.id;
  return value;
}

Value GraphBuilder::relu(Value x) { return activation(*ir_, Op::kRelu, x); }
Value GraphBuilder::sigmoid(Value x) { return activation(*ir_, Op::kSigmoid, x); }
Value GraphBuilder::tanh(Value x) { return activation(*ir_, Op::kTanh, x); }
Value GraphBuilder::softmax(Value x) { return activation(*ir_, Op::kSoftmax, x); }

Value GraphBuilder::scale(Value x, double factor, double offset) {
  if (!usable(*ir_, {x})) return {};
  if (!is_float(*ir_, x)) return fail(*ir_, "scale expects float32");
  return elementwise(*ir_, Op::kScale, x, factor, offset);
}

Value GraphBuilder::dropout(Value x, double rate) {
  if (!usable(*ir_, {x})) return {};
  if (!(rate >= 0 && rate < 1)) {
    return fail(*ir_, "expects a dropout rate in [0, 1), got ", rate);
  }
  if (!is_float(*ir_, x)) return fail(*ir_, "dropout expects float32");
  if (rate == 0) return x;
  Value value = elementwise(*ir_, Op::kDropout, x, rate);
  ir_->nodes[value.id].number = ir_->dropouts++;
  return value;
}

Value GraphBuilder::reshape(Value x, const Shape& sample) {
  if (!usable(*ir_, {x})) return {};
  const Shape& from = ir_->nodes[x.id].shape;
  if (from.rank() == 0 || sample.rank() >= Shape::kMaxRank || !sample.is_static() ||
      sample.elements() != from.sample().elements()) {
    return fail(*ir_, "cannot reshape ", from.to_string(), " to samples of ", sample.to_string());
  }
  Node node;
  node.op = Op::kReshape;
  node.dtype = ir_->nodes[x.id].dtype;
  node.shape = sample.batched(from[0]);
  node.in[0] = x.id;
  return append(*ir_, std::move(node));
}

Value GraphBuilder::flatten(Value x) {
  if (!usable(*ir_, {x})) return {};
  return reshape(x, Shape{ir_->nodes[x.id].shape.sample().elements()});
}

Value GraphBuilder::add(Value a, Value b) {
  if (!usable(*ir_, {a, b})) return {};
  const Shape& left = ir_->nodes[a.id].shape;
  const Shape& right = ir_->nodes[b.id].shape;
  if (left != right || !is_float(*ir_, a) || !is_float(*ir_, b)) {
    return fail(*ir_, "adds float32 values of one shape, got ", left.to_string(), " and ",
                right.to_string());
  }
  Value value = elementwise(*ir_, Op::kAdd, a);
  ir_->nodes[value.id].in[1] = b.id;
  return value;
}

Value GraphBuilder::loss(const LossSpec& spec, Value y_true, Value y_pred, Value sample_weight) {
  if (!usable(*ir_, {y_true, y_pred})) return {};
  if (sample_weight.valid() && !usable(*ir_, {sample_weight})) return {};
  using Kind = LossSpec::Kind;
  const bool sparse = spec.kind == Kind::kSparseCategoricalCrossentropy;
  const bool over_classes = sparse || spec.kind == Kind::kCategoricalCrossentropy;
  const Node& truth = ir_->nodes[y_true.id];
  const Node& predicted = ir_->nodes[y_pred.id];
  if (predicted.shape.rank() < 2 || predicted.dtype != DType::kFloat32) {
    return fail(*ir_, "loss expects predictions of at least 2 dimensions, got ",
                predicted.shape.to_string());
  }
  if (sparse ? !labels_fit(truth.shape, predicted.shape)
             : !same_elements(truth.shape, predicted.shape)) {
    return fail(*ir_, "loss expects ", sparse ? "one label per row of " : "targets of shape ",
                predicted.shape.to_string(), ", got ", truth.shape.to_string());
  }
  if (truth.dtype != (sparse ? DType::kInt32 : DType::kFloat32)) {
    return fail(*ir_, "loss expects ", sparse ? "int32 labels" : "float32 targets");
  }
  if (sample_weight.valid() && (ir_->nodes[sample_weight.id].shape != Shape{Shape::kDynamic} ||
                                !is_float(*ir_, sample_weight))) {
    return fail(*ir_, "expects sample weights of shape [batch], got ",
                ir_->nodes[sample_weight.id].shape.to_string());
  }
  Node node;
  node.op = Op::kLoss;
  node.loss = spec;
  node.in = {y_true.id, y_pred.id, sample_weight.id};
  const Op before = over_classes ? Op::kSoftmax : Op::kSigmoid;
  const bool crossentropy = over_classes || spec.kind == Kind::kBinaryCrossentropy;
  if (crossentropy && !spec.from_logits && spec.recover_logits && predicted.op == before) {
    node.loss.from_logits = true;
    node.in[1] = predicted.in[0];
  }
  return append(*ir_, std::move(node));
}

Value GraphBuilder::l1(Value variable, double factor) {
  return regularizer(*ir_, Op::kL1, variable, factor);
}
Value GraphBuilder::l2(Value variable, double factor) {
  return regularizer(*ir_, Op::kL2, variable, factor);
}

Value GraphBuilder::correct(AccuracyRule rule, Value y_true, Value y_pred) {
  if (!usable(*ir_, {y_true, y_pred})) return {};
  const bool sparse = rule == AccuracyRule::kSparseCategorical;
  const Node& truth = ir_->nodes[y_true.id];
  const Node& predicted = ir_->nodes[y_pred.id];
  if (predicted.shape.rank() < 2 || predicted.dtype != DType::kFloat32 ||
      (sparse ? !labels_fit(truth.shape, predicted.shape)
              : !same_elements(truth.shape, predicted.shape)) ||
      truth.dtype != (sparse ? DType::kInt32 : DType::kFloat32)) {
    return fail(*ir_, "accuracy expects ", sparse ? "one int32 label per row of " : "targets like ",
                predicted.shape.to_string(), ", got ", dtype_name(truth.dtype),
                truth.shape.to_string());
  }
  Node node;
  node.op = Op::kCorrect;
  node.dtype = DType::kInt32;
  node.rule = rule;
  node.in = {y_true.id, y_pred.id, -1};
  return append(*ir_, std::move(node));
}

std::vector<Value> GraphBuilder::gradients(Value loss, absl::Span<const Value> variables) {
  std::vector<Value> values(variables.size());
  if (!usable(*ir_, {loss})) return values;
  std::vector<int32_t> wanted;
  for (Value variable : variables) {
    if (!usable(*ir_, {variable})) return values;
    wanted.push_back(variable.id);
  }
  std::vector<int32_t> found;
  const int32_t scope = ir_->scope;
  absl::Status status = graph::append_gradients(*ir_, loss.id, wanted, found);
  ir_->scope = scope;
  if (!status.ok()) {
    ir_->status = std::move(status);
    return values;
  }
  for (size_t i = 0; i < found.size(); ++i) values[i] = {found[i]};
  return values;
}

void GraphBuilder::update(const UpdateRule& rule, Value loss) {
  if (!usable(*ir_, {loss})) return;
  if (ir_->has_update) {
    fail(*ir_, "has two updates");
    return;
  }
  const int clips = (rule.clipnorm > 0) + (rule.global_clipnorm > 0) + (rule.clipvalue > 0);
  if (clips > 1 || rule.clipnorm < 0 || rule.global_clipnorm < 0 || rule.clipvalue < 0) {
    fail(*ir_, "expects at most one of clipnorm, global_clipnorm and clipvalue, above zero");
    return;
  }
  std::vector<Value> variables;
  std::vector<int32_t> numbers;
  for (size_t i = 0; i < ir_->nodes.size(); ++i) {
    const Node& node = ir_->nodes[i];
    if (node.op != Op::kVariable || !ir_->variables[node.number].trainable) continue;
    variables.push_back({static_cast<int32_t>(i)});
    numbers.push_back(node.number);
  }
  if (variables.empty()) {
    fail(*ir_, "has no trainable variable to update");
    return;
  }
  const std::vector<Value> found = gradients(loss, variables);
  if (!ir_->status.ok()) return;
  ir_->has_update = true;
  ir_->update = rule;
  for (size_t i = 0; i < found.size(); ++i) ir_->gradients.push_back({numbers[i], found[i].id});
}

void GraphBuilder::output(std::string_view name, Value value) {
  if (!usable(*ir_, {value})) return;
  for (const graph::Output& other : ir_->outputs) {
    if (other.info.name == name) {
      fail(*ir_, "has two outputs named ", piece(name));
      return;
    }
  }
  const Node& node = ir_->nodes[value.id];
  ir_->outputs.push_back({{std::string(name), node.shape, node.dtype}, value.id});
}

const absl::Status& GraphBuilder::status() const { return ir_->status; }
const Shape& GraphBuilder::shape(Value value) const {
  static constexpr Shape kNone;
  return value.valid() ? ir_->nodes[value.id].shape : kNone;
}

absl::StatusOr<Graph> GraphBuilder::seal() {
  std::unique_ptr<Ir> ir = std::exchange(ir_, std::make_unique<Ir>());
  if (!ir->status.ok()) return ir->status;
  for (const graph::Output& output : ir->outputs) ir->output_infos.push_back(output.info);
  int64_t offset = 0;
  for (const bool trainable : {true, false}) {
    for (VariableInfo& variable : ir->variables) {
      if (variable.trainable != trainable) continue;
      variable.offset = offset;
      const int64_t floats = variable.shape.elements();
      offset += (floats + graph::kVariableAlignment - 1) / graph::kVariableAlignment *
                graph::kVariableAlignment;
    }
    if (trainable) ir->trainable_floats = offset;
  }
  ir->variable_floats = offset;
  return Graph(std::shared_ptr<const Ir>(std::move(ir)));
}

}  // namespace quiesce
