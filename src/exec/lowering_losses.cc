// Losses, counts of right answers and the update: the steps that several nodes share.

#include "exec/kernels/bodies/elementwise.h"
#include "exec/kernels/bodies/losses.h"
#include "exec/kernels/bodies/reduce.h"
#include "exec/kernels/bodies/update.h"
#include "exec/kernels/kernels.h"
#include "exec/lowering.h"

namespace quiesce::exec {

using graph::Ir;
using graph::Node;
using graph::Op;
using kernels::kKernels;

namespace {

const device::Kernel& loss_kernel(const Node& node) {
  using Kind = LossSpec::Kind;
  switch (node.loss.kind) {
    case Kind::kMeanSquaredError:
      return kKernels.squared_error;
    case Kind::kMeanAbsoluteError:
      return kKernels.absolute_error;
    case Kind::kHuber:
      return kKernels.huber;
    case Kind::kBinaryCrossentropy:
      return node.loss.from_logits ? kKernels.binary_logits_crossentropy
                                   : kKernels.binary_crossentropy;
    case Kind::kCategoricalCrossentropy:
    case Kind::kSparseCategoricalCrossentropy:
      break;
  }
  return node.loss.from_logits ? kKernels.softmax_crossentropy : kKernels.probability_crossentropy;
}

const device::Kernel& update_kernel(const UpdateRule& rule) {
  switch (rule.kind) {
    case UpdateRule::Kind::kSgd:
      if (rule.momentum == 0) return kKernels.sgd;
      return rule.nesterov ? kKernels.sgd_nesterov : kKernels.sgd_momentum;
    case UpdateRule::Kind::kRmsprop:
      if (rule.momentum == 0) {
        return rule.centered ? kKernels.rmsprop_centered : kKernels.rmsprop;
      }
      return rule.centered ? kKernels.rmsprop_centered_momentum : kKernels.rmsprop_momentum;
    case UpdateRule::Kind::kAdam:
      break;
  }
  return kKernels.adam;
}

}  // namespace

void Lowering::lower_loss(const LossGroup& group) {
  const Node& loss = node(group.loss >= 0 ? group.loss : group.grad);
  const int32_t truth = loss.in[0];
  const int32_t predicted = loss.in[1];
  const int32_t weights = loss.in[2];
  const Shape shape = shape_of(predicted);

  kernels::LossArgs args{};
  args.rows = static_cast<uint64_t>(shape.rows());
  args.width = static_cast<uint64_t>(shape[-1]);
  args.rows_per_sample = args.rows / static_cast<uint64_t>(batch_);
  const double upstream = group.grad >= 0 ? node(group.grad).a : 0.0;
  args.factor = static_cast<float>(upstream / static_cast<double>(args.rows));
  args.smoothing = static_cast<float>(loss.loss.label_smoothing);
  args.delta = static_cast<float>(loss.loss.huber_delta);

  const bool sparse = loss.loss.kind == LossSpec::Kind::kSparseCategoricalCrossentropy;
  const int32_t row_loss = group.loss >= 0 ? new_temporary(args.rows * kFloat) : -1;
  const int32_t correct = group.correct >= 0 ? new_temporary(args.rows * kFloat) : -1;
  int32_t probabilities = -1;
  if (group.softmax >= 0) {
    probabilities = place_result(group.softmax);
  } else if (is_softmax_crossentropy(loss)) {
    probabilities = new_temporary(args.rows * args.width * kFloat);
  }
  const int32_t grad = group.grad >= 0 ? place_result(group.grad) : -1;
  using kernels::LossArgs;
  emit(loss_kernel(loss), args,
       {{sparse ? offsetof(LossArgs, labels) : offsetof(LossArgs, y_true), buffer_of(truth)},
        {offsetof(LossArgs, y_pred), buffer_of(predicted)},
        {offsetof(LossArgs, weights), weights < 0 ? -1 : buffer_of(weights)},
        {offsetof(LossArgs, probabilities), probabilities},
        {offsetof(LossArgs, row_loss), row_loss},
        {offsetof(LossArgs, grad), grad},
        {offsetof(LossArgs, correct), correct}});
  for (int32_t member : {group.loss, group.grad, group.softmax, group.correct}) {
    if (member < 0) continue;
    for (int32_t operand : node(member).in) {
      if (operand >= 0) consume(operand);
    }
  }
  if (group.loss >= 0) {
    kernels::SumArgs sum{};
    sum.count = args.rows;
    sum.factor = static_cast<float>(1.0 / static_cast<double>(args.rows));
    emit(kKernels.sum, sum,
         {{offsetof(kernels::SumArgs, x), row_loss},
          {offsetof(kernels::SumArgs, sum), place_result(group.loss)}});
  }
  if (group.correct >= 0) {
    kernels::CountArgs count{};
    count.count = args.rows;
    emit(kKernels.count, count,
         {{offsetof(kernels::CountArgs, x), correct},
          {offsetof(kernels::CountArgs, sum), place_result(group.correct)}});
  }
}

void Lowering::lower_correct(int32_t id) {
  const Node& n = node(id);
  const Shape shape = shape_of(n.in[1]);
  kernels::CorrectArgs args{};
  args.rows = static_cast<uint64_t>(shape.rows());
  args.width = static_cast<uint64_t>(shape[-1]);
  const int32_t per_row = new_temporary(args.rows * kFloat);
  const bool sparse = n.rule == AccuracyRule::kSparseCategorical;
  using kernels::CorrectArgs;
  emit(
      n.rule == AccuracyRule::kBinary ? kKernels.correct_binary : kKernels.correct_categorical,
      args,
      {{sparse ? offsetof(CorrectArgs, labels) : offsetof(CorrectArgs, y_true), buffer_of(n.in[0])},
       {offsetof(CorrectArgs, y_pred), buffer_of(n.in[1])},
       {offsetof(CorrectArgs, correct), per_row}});
  consume(n.in[0]);
  consume(n.in[1]);
  kernels::CountArgs count{};
  count.count = args.rows;
  emit(kKernels.count, count,
       {{offsetof(kernels::CountArgs, x), per_row},
        {offsetof(kernels::CountArgs, sum), place_result(id)}});
}

void Lowering::copy_stray_gradients() {
  for (const Ir::Gradient& gradient : ir_.gradients) {
    const VariableInfo& variable = ir_.variables[gradient.variable];
    const uint64_t at = static_cast<uint64_t>(variable.offset) * kFloat;
    const int32_t from = buffer_of(gradient.value);
    if (buffers_[from].base == Base::kGradients && buffers_[from].at == at) continue;
    kernels::UnaryArgs args{};
    args.count = static_cast<uint64_t>(variable.shape.elements());
    args.a = 1.0f;
    emit(kKernels.scale, args,
         {{offsetof(kernels::UnaryArgs, x), from},
          {offsetof(kernels::UnaryArgs, y), fixed(Base::kGradients, at, args.count * kFloat)}});
  }
}

void Lowering::lower_update() {
  const UpdateRule& rule = ir_.update;
  const auto floats = static_cast<uint64_t>(ir_.trainable_floats);
  const auto gradient = [&](uint64_t at, uint64_t count) {
    return fixed(Base::kGradients, at * kFloat, count * kFloat);
  };
  const auto clip_norm = [&](uint64_t at, uint64_t count, double bound) {
    const int32_t squares = new_temporary(kFloat);
    const int32_t factor = new_temporary(kFloat);
    kernels::SumArgs sum{};
    sum.count = count;
    sum.factor = 1.0f;
    emit(kKernels.sum_of_squares, sum,
         {{offsetof(kernels::SumArgs, x), gradient(at, count)},
          {offsetof(kernels::SumArgs, sum), squares}});
    kernels::ClipFactorArgs clip{};
    clip.count = 1;
    clip.bound = static_cast<float>(bound);
    emit(kKernels.clip_factor, clip,
         {{offsetof(kernels::ClipFactorArgs, squares), squares},
          {offsetof(kernels::ClipFactorArgs, factor), factor}});
    kernels::ScaleByArgs scale{};
    scale.count = count;
    emit(kKernels.scale_by, scale,
         {{offsetof(kernels::ScaleByArgs, x), gradient(at, count)},
          {offsetof(kernels::ScaleByArgs, factor), factor}});
  };
  if (rule.clipnorm > 0) {
    for (const Ir::Gradient& each : ir_.gradients) {
      const VariableInfo& variable = ir_.variables[each.variable];
      clip_norm(static_cast<uint64_t>(variable.offset),
                static_cast<uint64_t>(variable.shape.elements()), rule.clipnorm);
    }
  }
  // The gaps between variables hold zeros, which change no norm.
  if (rule.global_clipnorm > 0) clip_norm(0, floats, rule.global_clipnorm);
  if (rule.clipvalue > 0) {
    kernels::UnaryArgs args{};
    args.count = floats;
    args.a = static_cast<float>(rule.clipvalue);
    const int32_t all = gradient(0, floats);
    emit(kKernels.clip_value, args,
         {{offsetof(kernels::UnaryArgs, x), all}, {offsetof(kernels::UnaryArgs, y), all}});
  }

  kernels::UpdateArgs args{};
  args.count = floats;
  args.epsilon = static_cast<float>(rule.epsilon);
  args.momentum = static_cast<float>(rule.momentum);
  switch (rule.kind) {
    case UpdateRule::Kind::kSgd:
      args.a = static_cast<float>(rule.momentum);
      break;
    case UpdateRule::Kind::kRmsprop:
      args.a = static_cast<float>(rule.rho);
      args.b = static_cast<float>(1.0 - rule.rho);
      break;
    case UpdateRule::Kind::kAdam:
      args.a = static_cast<float>(1.0 - rule.beta_1);
      args.b = static_cast<float>(1.0 - rule.beta_2);
      break;
  }
  const auto slot = [&](int number) {
    if (number >= rule.slots()) return -1;
    return fixed(Base::kSlots, static_cast<uint64_t>(number) * floats * kFloat, floats * kFloat);
  };
  using kernels::UpdateArgs;
  emit(update_kernel(rule), args,
       {{offsetof(UpdateArgs, w), fixed(Base::kVariables, 0, floats * kFloat)},
        {offsetof(UpdateArgs, g), gradient(0, floats)},
        {offsetof(UpdateArgs, s0), slot(0)},
        {offsetof(UpdateArgs, s1), slot(1)},
        {offsetof(UpdateArgs, s2), slot(2)}})
      .late = Late::kUpdate;
}

}  // namespace quiesce::exec
