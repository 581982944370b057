#ifndef QUIESCE_EXEC_KERNELS_BODIES_LOSSES_H_
#define QUIESCE_EXEC_KERNELS_BODIES_LOSSES_H_

// Losses and counts of right answers, one row per index. A row's loss comes out times its sample
// weight; a Sum afterwards divides by the number of rows. The gradient is d(mean loss) / d(y_pred).
// A label outside the classes makes the row's loss and gradient NaN and touches no other memory.

#include "exec/kernels/bodies/body.h"
#include "exec/kernels/bodies/math.h"
#include "exec/kernels/bodies/rows.h"

namespace quiesce::exec::kernels {

struct LossArgs {
  const int32_t* labels;  // sparse: one per row; else null
  const float* y_true;    // dense: like y_pred; else null
  const float* y_pred;
  const float* weights;  // one per sample, or null
  float* probabilities;  // SoftmaxCrossentropy: softmax of y_pred; else null
  float* row_loss;       // may be null
  float* grad;           // may be null
  int32_t* correct;      // SoftmaxCrossentropy: 1 per right row, may be null
  uint64_t rows;
  uint64_t width;
  uint64_t rows_per_sample;
  float factor;  // of the gradient: upstream / rows
  float smoothing;
  float delta;  // Huber's
};

struct CorrectArgs {
  const int32_t* labels;
  const float* y_true;
  const float* y_pred;
  int32_t* correct;  // per row
  uint64_t rows;
  uint64_t width;
};

namespace {

inline constexpr float kLossEpsilon = 1e-7f;

struct LossBody {
  using Args = LossArgs;
  static QUIESCE_BODY uint64_t count(const Args& a) { return a.rows; }
  static QUIESCE_BODY float weight(const Args& a, uint64_t row) {
    return a.weights != nullptr ? a.weights[row / a.rows_per_sample] : 1.0f;
  }
  static QUIESCE_BODY float clipped(float p) {
    return min_of(max_of(p, kLossEpsilon), 1.0f - kLossEpsilon);
  }
  static QUIESCE_BODY bool inside(float p) { return p >= kLossEpsilon && p <= 1.0f - kLossEpsilon; }
  // Row `row` is no use: its label is none of the classes.
  static QUIESCE_BODY void spoil(const Args& a, uint64_t row) {
    if (a.row_loss != nullptr) a.row_loss[row] = not_a_number();
    if (a.correct != nullptr) a.correct[row] = 0;
    if (a.grad == nullptr) return;
    for (uint64_t c = 0; c < a.width; ++c) a.grad[row * a.width + c] = not_a_number();
  }
  template <typename Sink>
  static void spans(const Args& a, Sink& sink) {
    const uint64_t bytes = a.rows * a.width * 4;
    if (a.labels != nullptr) sink.read(a.labels, a.rows * 4);
    if (a.y_true != nullptr) sink.read(a.y_true, bytes);
    sink.read(a.y_pred, bytes);
    if (a.weights != nullptr) sink.read(a.weights, a.rows / a.rows_per_sample * 4);
    if (a.probabilities != nullptr) sink.write(a.probabilities, bytes);
    if (a.row_loss != nullptr) sink.write(a.row_loss, a.rows * 4);
    if (a.grad != nullptr) sink.write(a.grad, bytes);
    if (a.correct != nullptr) sink.write(a.correct, a.rows * 4);
  }
};

// Categorical and sparse categorical cross-entropy of logits, with the softmax, its gradient and
// the count of right answers. `grad` may be y_pred.
struct SoftmaxCrossentropy : LossBody {
  static QUIESCE_BODY void run(const Args& a, uint64_t row) {
    const uint64_t width = a.width;
    const float* x = a.y_pred + row * width;
    float* p = a.probabilities + row * width;
    const uint64_t best = row_argmax(x, width);
    const float top = x[best];
    for (uint64_t c = 0; c < width; ++c) p[c] = exp_of(x[c] - top);
    const float sum = lane_sum(width, [p](uint64_t c) { return p[c]; });
    // log(sum) without the largest term, which is 1: exact for confident rows too.
    const float log_sum =
        log1p_of(lane_sum(width, [p, best](uint64_t c) { return c == best ? 0.0f : p[c]; }));
    for (uint64_t c = 0; c < width; ++c) p[c] = p[c] / sum;
    const float w = weight(a, row);
    const float coefficient = a.factor * w;
    if (a.labels != nullptr) {
      const int32_t label = a.labels[row];
      if (label < 0 || static_cast<uint64_t>(label) >= width) return spoil(a, row);
      if (a.row_loss != nullptr) a.row_loss[row] = (log_sum + (top - x[label])) * w;
      if (a.correct != nullptr) {
        a.correct[row] = row_argmax(p, width) == static_cast<uint64_t>(label) ? 1 : 0;
      }
      if (a.grad != nullptr) {
        float* grad = a.grad + row * width;
        for (uint64_t c = 0; c < width; ++c) grad[c] = coefficient * p[c];
        grad[label] = coefficient * (p[label] - 1.0f);
      }
      return;
    }
    const float* truth = a.y_true + row * width;
    const float keep = 1.0f - a.smoothing;
    const float share = a.smoothing / static_cast<float>(width);
    if (a.row_loss != nullptr) {
      const float loss = lane_sum(
          width, [=](uint64_t c) { return (truth[c] * keep + share) * (log_sum + (top - x[c])); });
      a.row_loss[row] = loss * w;
    }
    if (a.correct != nullptr) {
      a.correct[row] = row_argmax(p, width) == row_argmax(truth, width) ? 1 : 0;
    }
    if (a.grad != nullptr) {
      float* grad = a.grad + row * width;
      const float total = lane_sum(width, [=](uint64_t c) { return truth[c] * keep + share; });
      for (uint64_t c = 0; c < width; ++c) {
        grad[c] = coefficient * (p[c] * total - (truth[c] * keep + share));
      }
    }
  }
};

// The same from probabilities: renormalise, clip, -sum y log p.
struct ProbabilityCrossentropy : LossBody {
  static QUIESCE_BODY float truth_of(const Args& a, uint64_t row, uint64_t c) {
    if (a.labels != nullptr) return static_cast<uint64_t>(a.labels[row]) == c ? 1.0f : 0.0f;
    return a.y_true[row * a.width + c] * (1.0f - a.smoothing) +
           a.smoothing / static_cast<float>(a.width);
  }
  static QUIESCE_BODY void run(const Args& a, uint64_t row) {
    const uint64_t width = a.width;
    if (a.labels != nullptr &&
        (a.labels[row] < 0 || static_cast<uint64_t>(a.labels[row]) >= width)) {
      return spoil(a, row);
    }
    const float* p = a.y_pred + row * width;
    const float sum = lane_sum(width, [p](uint64_t c) { return p[c]; });
    const float w = weight(a, row);
    if (a.row_loss != nullptr) {
      float loss = 0.0f;
      for (uint64_t c = 0; c < width; ++c) {
        const float truth = truth_of(a, row, c);
        if (truth != 0.0f) loss -= truth * log_of(clipped(p[c] / sum));
      }
      a.row_loss[row] = (sum != sum ? sum : loss) * w;
    }
    if (a.grad != nullptr) {
      // d/dq of -y log q inside the clip, then through q = p / sum.
      float* grad = a.grad + row * width;
      float dot = 0.0f;
      for (uint64_t c = 0; c < width; ++c) {
        if (inside(p[c] / sum)) dot += truth_of(a, row, c);
      }
      const float coefficient = a.factor * w / sum;
      for (uint64_t c = 0; c < width; ++c) {
        const float q = p[c] / sum;
        const float own = inside(q) ? truth_of(a, row, c) / q : 0.0f;
        grad[c] = coefficient * (dot - own);
      }
    }
  }
};

// Elementwise losses: mean over the row. Each gives the loss and the slope of one element.
struct ElementLoss {
  float loss;
  float slope;
};

template <typename Element>
struct MeanLoss : LossBody {
  static QUIESCE_BODY void run(const Args& a, uint64_t row) {
    const uint64_t width = a.width;
    const float* truth = a.y_true + row * width;
    const float* p = a.y_pred + row * width;
    const float w = weight(a, row);
    const float n = static_cast<float>(width);
    if (a.row_loss != nullptr) {
      const float sum = lane_sum(
          width, [&a, truth, p](uint64_t c) { return Element::of(a, truth[c], p[c]).loss; });
      a.row_loss[row] = sum / n * w;
    }
    if (a.grad != nullptr) {
      float* grad = a.grad + row * width;
      const float coefficient = a.factor * w / n;
      for (uint64_t c = 0; c < width; ++c) {
        grad[c] = coefficient * Element::of(a, truth[c], p[c]).slope;
      }
    }
  }
};

struct SquaredElement {
  static QUIESCE_BODY ElementLoss of(const LossArgs&, float y, float p) {
    const float e = p - y;
    return {e * e, 2.0f * e};
  }
};
struct AbsoluteElement {
  static QUIESCE_BODY ElementLoss of(const LossArgs&, float y, float p) {
    const float e = p - y;
    return {abs_of(e), e > 0.0f ? 1.0f : (e < 0.0f ? -1.0f : e)};
  }
};
struct HuberElement {
  static QUIESCE_BODY ElementLoss of(const LossArgs& a, float y, float p) {
    const float e = p - y;
    const float size = abs_of(e);
    if (size <= a.delta) return {0.5f * e * e, e};
    return {a.delta * size - 0.5f * a.delta * a.delta, e > 0.0f ? a.delta : -a.delta};
  }
};
struct BinaryElement {
  static QUIESCE_BODY ElementLoss of(const LossArgs& a, float truth, float p) {
    const float y = truth * (1.0f - a.smoothing) + 0.5f * a.smoothing;
    const float q = LossBody::clipped(p);
    const float loss = -(y * log_of(q) + (1.0f - y) * log_of(1.0f - q));
    const float slope = LossBody::inside(p) ? (q - y) / (q * (1.0f - q)) : 0.0f;
    return {p != p ? p : loss, p != p ? p : slope};
  }
};
struct BinaryLogitsElement {
  static QUIESCE_BODY ElementLoss of(const LossArgs& a, float truth, float x) {
    const float y = truth * (1.0f - a.smoothing) + 0.5f * a.smoothing;
    return {max_of(x, 0.0f) - x * y + log1p_of(exp_of(-abs_of(x))), sigmoid_of(x) - y};
  }
};

using SquaredError = MeanLoss<SquaredElement>;
using AbsoluteError = MeanLoss<AbsoluteElement>;
using Huber = MeanLoss<HuberElement>;
using BinaryCrossentropy = MeanLoss<BinaryElement>;
using BinaryLogitsCrossentropy = MeanLoss<BinaryLogitsElement>;

struct CorrectBody {
  using Args = CorrectArgs;
  static QUIESCE_BODY uint64_t count(const Args& a) { return a.rows; }
  template <typename Sink>
  static void spans(const Args& a, Sink& sink) {
    const uint64_t bytes = a.rows * a.width * 4;
    if (a.labels != nullptr) sink.read(a.labels, a.rows * 4);
    if (a.y_true != nullptr) sink.read(a.y_true, bytes);
    sink.read(a.y_pred, bytes);
    sink.write(a.correct, a.rows * 4);
  }
};
struct CorrectBinary : CorrectBody {
  static QUIESCE_BODY void run(const Args& a, uint64_t row) {
    int32_t right = 0;
    for (uint64_t c = row * a.width; c < (row + 1) * a.width; ++c) {
      right += (a.y_pred[c] > 0.5f ? 1.0f : 0.0f) == a.y_true[c] ? 1 : 0;
    }
    a.correct[row] = right;
  }
};
struct CorrectCategorical : CorrectBody {
  static QUIESCE_BODY void run(const Args& a, uint64_t row) {
    const uint64_t best = row_argmax(a.y_pred + row * a.width, a.width);
    const uint64_t truth = a.labels != nullptr ? static_cast<uint64_t>(a.labels[row])
                                               : row_argmax(a.y_true + row * a.width, a.width);
    a.correct[row] = best == truth ? 1 : 0;
  }
};

}  // namespace
}  // namespace quiesce::exec::kernels

#endif  // QUIESCE_EXEC_KERNELS_BODIES_LOSSES_H_
