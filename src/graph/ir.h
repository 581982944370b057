#ifndef QUIESCE_GRAPH_IR_H_
#define QUIESCE_GRAPH_IR_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "quiesce/graph.h"
#include "quiesce/shape.h"

namespace quiesce::graph {

// The operations. `in` names a node's operands in the order given here.
enum class Op : uint8_t {
  kInput,     // number = index into Ir::inputs
  kVariable,  // number = index into Ir::variables
  kMatMul,    // x, w
  kAddBias,   // x, bias
  kRelu,
  kSigmoid,
  kTanh,
  kSoftmax,
  kScale,    // x; a = factor, b = offset
  kDropout,  // x; a = rate, number = its random stream
  kReshape,  // x; the same elements
  kAdd,      // a, b
  kLoss,     // y_true, y_pred, sample weight or none -> scalar
  kL1,       // variable; a = factor -> scalar
  kL2,       // variable; a = factor -> scalar
  kCorrect,  // y_true, y_pred; rule -> int32 scalar

  // Made by gradients() alone.
  kZero,              // shape of a variable
  kMatMulGradInput,   // dy, w -> dx
  kMatMulGradWeight,  // x, dy -> dw
  kBiasGrad,          // dy -> column sums
  kReluGrad,          // y, dy
  kSigmoidGrad,       // y, dy
  kTanhGrad,          // y, dy
  kSoftmaxGrad,       // y, dy
  kLossGrad,          // as kLoss -> d(loss) / d(y_pred); a = factor
  kL1Grad,            // variable, gradient so far or none; a = factor
  kL2Grad,            // variable, gradient so far or none; a = factor
};

const char* op_name(Op op);

struct Node {
  Op op = Op::kInput;
  DType dtype = DType::kFloat32;
  AccuracyRule rule = AccuracyRule::kBinary;
  Shape shape;
  std::array<int32_t, 3> in = {-1, -1, -1};
  int32_t scope = 0;  // index into Ir::scopes
  int32_t number = 0;
  double a = 0;
  double b = 0;
  LossSpec loss;  // kLoss, kLossGrad; from_logits already says whether y_pred is before softmax
};

struct Output {
  OutputInfo info;
  int32_t value = -1;
};

// Insides of a graph: nodes in an order in which operands come first.
struct Ir {
  std::string name;
  std::vector<std::string> scopes = {""};
  int32_t scope = 0;  // while building
  std::vector<Node> nodes;
  std::vector<InputInfo> inputs;
  std::vector<VariableInfo> variables;
  std::vector<Output> outputs;
  std::vector<OutputInfo> output_infos;
  int32_t dropouts = 0;
  int64_t variable_floats = 0;
  int64_t trainable_floats = 0;
  bool has_update = false;
  UpdateRule update;
  // With an update: (variable, value of its gradient), one per trainable variable.
  struct Gradient {
    int32_t variable;
    int32_t value;
  };
  std::vector<Gradient> gradients;
  absl::Status status;  // first error while building
};

// Floats between the starts of two variables are a multiple of this: 64 bytes.
inline constexpr int64_t kVariableAlignment = 16;

// No value has more: byte counts of sums of a few of them stay far below 2^63.
inline constexpr int64_t kMaxElements = int64_t{1} << 46;

// Appends the nodes that compute d(loss) / d(variables[i]); see GraphBuilder::gradients.
absl::Status append_gradients(Ir& ir, int32_t loss, absl::Span<const int32_t> variables,
                              std::vector<int32_t>& gradients);

}  // namespace quiesce::graph

#endif  // QUIESCE_GRAPH_IR_H_
