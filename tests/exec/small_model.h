#ifndef QUIESCE_TESTS_EXEC_SMALL_MODEL_H_
#define QUIESCE_TESTS_EXEC_SMALL_MODEL_H_

// A two-layer network on 20 bytes per sample, and how tests run it.

#include <cmath>
#include <cstdint>
#include <vector>

#include "machine.h"
#include "quiesce/graph.h"

namespace quiesce::exec {

inline Graph mlp(bool training, double rate = 0) {
  GraphBuilder b(training ? "train" : "predict");
  Value x = b.input("x", Shape{20}.batched());
  Value y = training ? b.input("y", Shape{}.batched(), DType::kInt32) : Value{};
  // Each in a statement of its own: arguments are evaluated in any order.
  Value k0 = b.variable("k0", {20, 16});
  Value b0 = b.variable("b0", {16});
  Value k1 = b.variable("k1", {16, 10});
  Value b1 = b.variable("b1", {10});
  Value h = b.relu(b.add_bias(b.matmul(b.scale(x, 1.0 / 255), k0), b0));
  if (training && rate > 0) h = b.dropout(h, rate);
  Value p = b.softmax(b.add_bias(b.matmul(h, k1), b1));
  if (training) {
    Value loss = b.loss({.kind = LossSpec::Kind::kSparseCategoricalCrossentropy}, y, p);
    b.update({.kind = UpdateRule::Kind::kAdam}, loss);
    b.output("loss", loss);
    b.output("correct", b.correct(AccuracyRule::kSparseCategorical, y, p));
  } else {
    b.output("y", p);
  }
  return b.seal().value();
}

inline void set_weights(Buffers& buffers, const Graph& graph) {
  for (const VariableInfo& variable : graph.variables()) {
    std::vector<float> values(static_cast<size_t>(variable.shape.elements()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(0.11f * i) * 0.3f;
    buffers.set(variable, values);
  }
}

inline std::vector<uint8_t> bytes(size_t count) {
  std::vector<uint8_t> data(count);
  for (size_t i = 0; i < count; ++i) data[i] = static_cast<uint8_t>(i * 37 % 251);
  return data;
}

inline std::vector<float> predict(Machine& machine, const Graph& graph, Buffers& buffers, Feed feed,
                                  int64_t rows) {
  auto plan = Plan::compile(graph, rows, *machine.device).value();
  std::vector<float> out(static_cast<size_t>(rows) * 10);
  const Fetch fetch{0, out.data()};
  Bindings bindings;
  buffers.bind(bindings);
  bindings.feeds = {&feed, 1};
  bindings.fetches = {&fetch, 1};
  Machine::ASSERT_OK(run(*plan, machine.context(), bindings));
  machine.finish();
  return out;
}

}  // namespace quiesce::exec

#endif  // QUIESCE_TESTS_EXEC_SMALL_MODEL_H_
