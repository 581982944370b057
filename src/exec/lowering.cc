#include "exec/lowering.h"

#include <algorithm>
#include <utility>

#include "exec/kernels/bodies/dense.h"
#include "exec/kernels/bodies/elementwise.h"
#include "exec/kernels/bodies/feed.h"
#include "exec/kernels/bodies/reduce.h"
#include "exec/kernels/bodies/rows.h"
#include "exec/kernels/kernels.h"

namespace quiesce::exec {

using graph::Ir;
using graph::Node;
using graph::Op;
using kernels::kKernels;

Lowering::Lowering(const Graph& graph, int64_t batch)
    : graph_(graph),
      ir_(graph.ir()),
      batch_(batch),
      fusion_(fuse(ir_)),
      buffers_of_(ir_.nodes.size(), -1),
      uses_left_(ir_.nodes.size(), 0),
      pinned_(ir_.nodes.size(), -1),
      group_done_(fusion_.groups.size(), false) {
  for (size_t id = 0; id < ir_.nodes.size(); ++id) {
    // A view's uses are its root's; the view itself reads nothing.
    const auto value = static_cast<int32_t>(id);
    uses_left_[root(value)] += fusion_.uses[id];
    if (fusion_.wanted[id] && node(value).op == Op::kReshape) --uses_left_[root(value)];
  }
}

Shape Lowering::shape_of(int32_t id) const {
  const Shape& shape = node(id).shape;
  return shape.rank() > 0 && shape[0] == Shape::kDynamic ? shape.with_batch(batch_) : shape;
}

int32_t Lowering::root(int32_t id) const {
  while (node(id).op == Op::kReshape) id = node(id).in[0];
  return id;
}

int32_t Lowering::new_temporary(uint64_t bytes) {
  Buffer buffer;
  buffer.bytes = bytes;
  buffers_.push_back(buffer);
  return static_cast<int32_t>(buffers_.size()) - 1;
}

int32_t Lowering::fixed(Base base, uint64_t at, uint64_t bytes) {
  Buffer buffer;
  buffer.base = base;
  buffer.at = at;
  buffer.bytes = bytes;
  buffers_.push_back(buffer);
  return static_cast<int32_t>(buffers_.size()) - 1;
}

int32_t Lowering::place_result(int32_t id, int32_t operand) {
  const uint64_t bytes = elements(id) * kFloat;
  int32_t place = -1;
  if (pinned_[id] >= 0) {
    place = fixed(Base::kGradients, static_cast<uint64_t>(pinned_[id]), bytes);
  } else if (operand >= 0 && uses_left_[root(operand)] == 0) {
    const int32_t over = buffer_of(operand);
    if (buffers_[over].base == Base::kBlock && buffers_[over].bytes >= bytes) place = over;
  }
  if (place < 0) place = new_temporary(bytes);
  buffers_of_[id] = place;
  return place;
}

Step& Lowering::emit_bytes(const device::Kernel& kernel, const void* args, size_t bytes,
                           std::initializer_list<Field> fields) {
  const auto step_number = static_cast<int32_t>(plan_->steps.size());
  Step step{};
  step.kernel = &kernel;
  step.args_at = static_cast<uint32_t>(plan_->args.size());
  step.first_pointer = static_cast<uint32_t>(pointers_.size());
  plan_->args.resize(plan_->args.size() + (bytes + 15) / 16 * 16);
  std::memcpy(plan_->args.data() + step.args_at, args, bytes);
  for (const Field& field : fields) {
    if (field.buffer < 0) continue;
    Buffer& buffer = buffers_[field.buffer];
    if (buffer.first < 0) buffer.first = step_number;
    buffer.last = step_number;
    if (buffer.base == Base::kVariables) plan_->reads_variables = true;
    pointers_.push_back({static_cast<uint32_t>(field.at), field.buffer});
  }
  step.pointers = static_cast<uint32_t>(pointers_.size()) - step.first_pointer;
  plan_->steps.push_back(step);
  return plan_->steps.back();
}

void Lowering::pin_gradients() {
  for (const Ir::Gradient& gradient : ir_.gradients) {
    int32_t value = gradient.value;
    const int64_t at = ir_.variables[gradient.variable].offset * static_cast<int64_t>(kFloat);
    const Op op = node(value).op;
    const bool made_by_a_step =
        op != Op::kReshape && op != Op::kInput && op != Op::kVariable && fusion_.group[value] < 0;
    if (!made_by_a_step || pinned_[value] >= 0) continue;
    pinned_[value] = at;
    // What is only added to on the way gets there in place.
    for (;;) {
      const Node& last = node(value);
      const int32_t so_far = last.op == Op::kL1Grad || last.op == Op::kL2Grad ? last.in[1]
                             : last.op == Op::kAdd                            ? last.in[0]
                                                                              : -1;
      if (so_far < 0 || fusion_.uses[so_far] != 1 || pinned_[so_far] >= 0 ||
          fusion_.group[so_far] >= 0) {
        break;
      }
      const Op before = node(so_far).op;
      if (before == Op::kReshape || before == Op::kInput || before == Op::kVariable) break;
      pinned_[so_far] = at;
      value = so_far;
    }
  }
}

void Lowering::lower_input(int32_t id) {
  const int32_t number = node(id).number;
  const InputInfo& input = ir_.inputs[number];
  FeedPlan& feed = plan_->feeds[number];
  feed.needed = true;
  feed.row_elements = static_cast<uint64_t>(input.shape.sample().elements());

  kernels::FeedArgs args{};
  args.row_count = static_cast<uint64_t>(batch_);
  args.width = feed.row_elements;
  args.to = input.dtype == DType::kFloat32 ? kernels::kFeedFloat32 : kernels::kFeedInt32;
  args.factor = 1.0f;
  if (const int32_t scale = fusion_.feed_scale[number]; scale >= 0) {
    feed.scaled = true;
    args.factor = static_cast<float>(node(scale).a);
    args.offset = static_cast<float>(node(scale).b);
  }
  Buffer buffer;
  buffer.base = Base::kFeed;
  buffer.feed = number;
  buffer.bytes = args.row_count * args.width * kFloat;
  buffers_.push_back(buffer);
  buffers_of_[id] = static_cast<int32_t>(buffers_.size()) - 1;
  Step& step =
      emit(kKernels.feed_rows, args, {{offsetof(kernels::FeedArgs, out), buffers_of_[id]}});
  step.late = Late::kFeed;
  step.feed = number;
}

// matmul, alone or with what absorbed it: add_bias, relu of either.
void Lowering::lower_dense(int32_t id) {
  int32_t product = id;
  int32_t bias = -1;
  kernels::DenseArgs args{};
  if (node(product).op == Op::kRelu) {
    args.relu = 1;
    product = node(product).in[0];
  }
  if (node(product).op == Op::kAddBias) {
    bias = node(product).in[1];
    product = node(product).in[0];
  }
  const int32_t x = node(product).in[0];
  const int32_t w = node(product).in[1];
  args.m = static_cast<uint64_t>(shape_of(x).rows());
  args.k = static_cast<uint64_t>(node(w).shape[0]);
  args.n = static_cast<uint64_t>(node(w).shape[1]);
  const int32_t y = place_result(id);
  emit(kKernels.dense, args,
       {{offsetof(kernels::DenseArgs, x), buffer_of(x)},
        {offsetof(kernels::DenseArgs, w), buffer_of(w)},
        {offsetof(kernels::DenseArgs, bias), bias < 0 ? -1 : buffer_of(bias)},
        {offsetof(kernels::DenseArgs, y), y}});
  consume(x);
  consume(w);
  if (bias >= 0) consume(bias);
}

void Lowering::lower_activation(int32_t id, const device::Kernel& kernel) {
  const int32_t x = node(id).in[0];
  const int32_t from = buffer_of(x);
  consume(x);
  kernels::UnaryArgs args{};
  args.count = elements(id);
  args.a = static_cast<float>(node(id).a);
  args.b = static_cast<float>(node(id).b);
  emit(kernel, args,
       {{offsetof(kernels::UnaryArgs, x), from},
        {offsetof(kernels::UnaryArgs, y), place_result(id, x)}});
}

void Lowering::lower_activation_grad(int32_t id, const device::Kernel& kernel) {
  const int32_t y = node(id).in[0];
  const int32_t dy = node(id).in[1];
  const int32_t from = buffer_of(dy);
  consume(dy);
  kernels::GradArgs args{};
  args.count = elements(id);
  emit(kernel, args,
       {{offsetof(kernels::GradArgs, y), buffer_of(y)},
        {offsetof(kernels::GradArgs, dy), from},
        {offsetof(kernels::GradArgs, dx), place_result(id, dy)}});
  consume(y);
}

void Lowering::lower_matmul_grad_input(int32_t id, int32_t relu_y, int32_t result_id) {
  const int32_t dy = node(id).in[0];
  const int32_t w = node(id).in[1];
  kernels::DenseGradInputArgs args{};
  args.m = static_cast<uint64_t>(shape_of(dy).rows());
  args.k = static_cast<uint64_t>(node(w).shape[0]);
  args.n = static_cast<uint64_t>(node(w).shape[1]);
  const int32_t dx = place_result(result_id);
  emit(kKernels.dense_grad_input, args,
       {{offsetof(kernels::DenseGradInputArgs, dy), buffer_of(dy)},
        {offsetof(kernels::DenseGradInputArgs, w), buffer_of(w)},
        {offsetof(kernels::DenseGradInputArgs, relu_y), relu_y < 0 ? -1 : buffer_of(relu_y)},
        {offsetof(kernels::DenseGradInputArgs, dx), dx}});
  consume(dy);
  consume(w);
  if (relu_y >= 0) consume(relu_y);
}

void Lowering::lower_regularizer_grad(int32_t id, const device::Kernel& kernel) {
  const int32_t w = node(id).in[0];
  const int32_t so_far = node(id).in[1];
  const int32_t from = so_far < 0 ? -1 : buffer_of(so_far);
  if (so_far >= 0) consume(so_far);
  kernels::RegularizerGradArgs args{};
  args.count = elements(id);
  args.factor = static_cast<float>(node(id).a);
  emit(kernel, args,
       {{offsetof(kernels::RegularizerGradArgs, w), buffer_of(w)},
        {offsetof(kernels::RegularizerGradArgs, so_far), from},
        {offsetof(kernels::RegularizerGradArgs, grad), place_result(id, so_far)}});
  consume(w);
}

void Lowering::lower_node(int32_t id) {
  const Node& n = node(id);
  const auto rows = [&] { return static_cast<uint64_t>(shape_of(id).rows()); };
  const auto width = [&] { return static_cast<uint64_t>(n.shape[-1]); };
  switch (n.op) {
    case Op::kInput:
      lower_input(id);
      return;
    case Op::kVariable:
      buffers_of_[id] =
          fixed(Base::kVariables, static_cast<uint64_t>(ir_.variables[n.number].offset) * kFloat,
                elements(id) * kFloat);
      return;
    case Op::kReshape:
      return;
    case Op::kMatMul:
      lower_dense(id);
      return;
    case Op::kRelu:
      if (fusion_.absorbed[n.in[0]]) {
        lower_dense(id);
      } else {
        lower_activation(id, kKernels.relu);
      }
      return;
    case Op::kAddBias: {
      if (fusion_.absorbed[n.in[0]]) {
        lower_dense(id);
        return;
      }
      const int32_t from = buffer_of(n.in[0]);
      consume(n.in[0]);
      kernels::AddBiasArgs args{};
      args.rows = rows();
      args.width = width();
      emit(kKernels.add_bias, args,
           {{offsetof(kernels::AddBiasArgs, x), from},
            {offsetof(kernels::AddBiasArgs, bias), buffer_of(n.in[1])},
            {offsetof(kernels::AddBiasArgs, y), place_result(id, n.in[0])}});
      consume(n.in[1]);
      return;
    }
    case Op::kSigmoid:
      lower_activation(id, kKernels.sigmoid);
      return;
    case Op::kTanh:
      lower_activation(id, kKernels.tanh);
      return;
    case Op::kScale: {
      const Node& source = node(root(n.in[0]));
      if (source.op == Op::kInput && fusion_.feed_scale[source.number] == id) {
        buffers_of_[id] = buffer_of(n.in[0]);  // scaled while it was fed
        return;
      }
      lower_activation(id, kKernels.scale);
      return;
    }
    case Op::kSoftmax: {
      const int32_t from = buffer_of(n.in[0]);
      consume(n.in[0]);
      kernels::SoftmaxArgs args{};
      args.rows = rows();
      args.width = width();
      emit(kKernels.softmax, args,
           {{offsetof(kernels::SoftmaxArgs, x), from},
            {offsetof(kernels::SoftmaxArgs, y), place_result(id, n.in[0])}});
      return;
    }
    case Op::kDropout: {
      const int32_t from = buffer_of(n.in[0]);
      consume(n.in[0]);
      kernels::DropoutArgs args{};
      args.count = elements(id);
      args.stream = static_cast<uint64_t>(n.number);
      args.rate = static_cast<float>(n.a);
      args.scale = static_cast<float>(1.0 / (1.0 - n.a));
      emit(kKernels.dropout, args,
           {{offsetof(kernels::DropoutArgs, x), from},
            {offsetof(kernels::DropoutArgs, y), place_result(id, n.in[0])}})
          .late = Late::kSeed;
      return;
    }
    case Op::kAdd: {
      const int32_t a = buffer_of(n.in[0]);
      const int32_t b = buffer_of(n.in[1]);
      consume(n.in[0]);
      consume(n.in[1]);
      kernels::AddArgs args{};
      args.count = elements(id);
      emit(kKernels.add, args,
           {{offsetof(kernels::AddArgs, a), a},
            {offsetof(kernels::AddArgs, b), b},
            {offsetof(kernels::AddArgs, sum), place_result(id, n.in[0])}});
      return;
    }
    case Op::kL1:
    case Op::kL2: {
      kernels::SumArgs args{};
      args.count = elements(n.in[0]);
      args.factor = static_cast<float>(n.a);
      emit(n.op == Op::kL1 ? kKernels.sum_of_abs : kKernels.sum_of_squares, args,
           {{offsetof(kernels::SumArgs, x), buffer_of(n.in[0])},
            {offsetof(kernels::SumArgs, sum), place_result(id)}});
      consume(n.in[0]);
      return;
    }
    case Op::kCorrect:
      lower_correct(id);
      return;
    case Op::kZero: {
      kernels::UnaryArgs args{};
      args.count = elements(id);
      emit(kKernels.zero, args, {{offsetof(kernels::UnaryArgs, y), place_result(id)}});
      return;
    }
    case Op::kMatMulGradInput:
      lower_matmul_grad_input(id, -1, id);
      return;
    case Op::kMatMulGradWeight: {
      kernels::DenseGradWeightArgs args{};
      args.m = static_cast<uint64_t>(shape_of(n.in[0]).rows());
      args.k = static_cast<uint64_t>(n.shape[0]);
      args.n = static_cast<uint64_t>(n.shape[1]);
      emit(kKernels.dense_grad_weight, args,
           {{offsetof(kernels::DenseGradWeightArgs, x), buffer_of(n.in[0])},
            {offsetof(kernels::DenseGradWeightArgs, dy), buffer_of(n.in[1])},
            {offsetof(kernels::DenseGradWeightArgs, dw), place_result(id)}});
      consume(n.in[0]);
      consume(n.in[1]);
      return;
    }
    case Op::kBiasGrad: {
      const int32_t dy = n.in[0];
      kernels::ColumnSumArgs args{};
      args.rows = static_cast<uint64_t>(shape_of(dy).rows());
      args.width = width();
      emit(kKernels.column_sum, args,
           {{offsetof(kernels::ColumnSumArgs, x), buffer_of(dy)},
            {offsetof(kernels::ColumnSumArgs, sums), place_result(id)}});
      consume(dy);
      return;
    }
    case Op::kReluGrad:
      if (fusion_.absorbed[n.in[1]]) {
        lower_matmul_grad_input(n.in[1], n.in[0], id);
      } else {
        lower_activation_grad(id, kKernels.relu_grad);
      }
      return;
    case Op::kSigmoidGrad:
      lower_activation_grad(id, kKernels.sigmoid_grad);
      return;
    case Op::kTanhGrad:
      lower_activation_grad(id, kKernels.tanh_grad);
      return;
    case Op::kSoftmaxGrad: {
      const int32_t from = buffer_of(n.in[1]);
      consume(n.in[1]);
      kernels::SoftmaxGradArgs args{};
      args.rows = rows();
      args.width = width();
      emit(kKernels.softmax_grad, args,
           {{offsetof(kernels::SoftmaxGradArgs, y), buffer_of(n.in[0])},
            {offsetof(kernels::SoftmaxGradArgs, dy), from},
            {offsetof(kernels::SoftmaxGradArgs, dx), place_result(id, n.in[1])}});
      consume(n.in[0]);
      return;
    }
    case Op::kL1Grad:
      lower_regularizer_grad(id, kKernels.l1_grad);
      return;
    case Op::kL2Grad:
      lower_regularizer_grad(id, kKernels.l2_grad);
      return;
    case Op::kLoss:
    case Op::kLossGrad:
      return;  // always in a group
  }
}

void Lowering::run(PlanData& plan) {
  plan_ = &plan;
  plan.graph = graph_;
  plan.batch = batch_;
  plan.feeds.resize(ir_.inputs.size());
  pin_gradients();
  const auto is_given = [&](size_t i) {
    return ir_.nodes[i].op == Op::kInput || ir_.nodes[i].op == Op::kVariable;
  };
  for (size_t i = 0; i < ir_.nodes.size(); ++i) {
    if (fusion_.wanted[i] && is_given(i)) lower_node(static_cast<int32_t>(i));
  }
  for (size_t i = 0; i < ir_.nodes.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    if (!fusion_.wanted[i] || fusion_.absorbed[i] || is_given(i)) continue;
    if (const int32_t group = fusion_.group[i]; group >= 0) {
      if (!group_done_[group]) lower_loss(fusion_.groups[group]);
      group_done_[group] = true;
      continue;
    }
    lower_node(id);
  }
  copy_stray_gradients();
  if (ir_.has_update) lower_update();

  // Outputs are fetched behind the last step.
  const auto end = static_cast<int32_t>(plan.steps.size());
  for (const graph::Output& output : ir_.outputs) buffers_[buffer_of(output.value)].last = end;

  std::vector<Temporary> temporaries;
  std::vector<size_t> owners;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const Buffer& buffer = buffers_[i];
    const bool temporary = buffer.base == Base::kBlock || buffer.base == Base::kFeed;
    if (!temporary || buffer.first < 0) continue;
    temporaries.push_back({buffer.bytes, buffer.first, buffer.last, 0});
    owners.push_back(i);
  }
  plan.block_bytes = lay_out(temporaries);
  for (size_t i = 0; i < owners.size(); ++i) buffers_[owners[i]].at = temporaries[i].at;

  const auto place_of = [&](int32_t index) {
    const Buffer& buffer = buffers_[index];
    // A feed's base is the whole address: the user's data, or its place in the block.
    return Place{buffer.base, buffer.feed, buffer.base == Base::kFeed ? 0 : buffer.at};
  };
  for (const Buffer& buffer : buffers_) {
    if (buffer.base == Base::kFeed) plan.feeds[buffer.feed].block_at = buffer.at;
  }
  for (const PendingPointer& pointer : pointers_) {
    plan.pointers.push_back({pointer.at, place_of(pointer.buffer)});
  }
  for (const graph::Output& output : ir_.outputs) {
    const int32_t buffer = buffer_of(output.value);
    plan.outputs.push_back({place_of(buffer), elements(output.value) * kFloat});
    if (buffers_[buffer].base == Base::kVariables) plan.reads_variables = true;
  }
}

}  // namespace quiesce::exec
