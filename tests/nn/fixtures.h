// What the tests of this layer share: the formula-defined training fixture, and a scope on a fresh
// session of a runtime of its own.
#ifndef QUIESCE_TESTS_NN_FIXTURES_H_
#define QUIESCE_TESTS_NN_FIXTURES_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quiesce/errors.h"
#include "quiesce/nn.h"
#include "quiesce/runtime.h"
#include "quiesce/session.h"

namespace quiesce::nn_testing {

#define ASSERT_STATUS_OK(expression)            \
  do {                                          \
    const absl::Status asserted = (expression); \
    ASSERT_TRUE(asserted.ok()) << asserted;     \
  } while (false)
#define EXPECT_STATUS_OK(expression)            \
  do {                                          \
    const absl::Status expected = (expression); \
    EXPECT_TRUE(expected.ok()) << expected;     \
  } while (false)

// Relative to the larger, as the parity tables are compared.
inline ::testing::AssertionResult near(double found, double expected, double tolerance = 1e-5) {
  if (std::abs(found - expected) <= tolerance * std::max(std::abs(expected), 1e-30)) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure()
         << "found " << found << ", expected " << expected << ", off by "
         << std::abs(found - expected) / std::max(std::abs(expected), 1e-30) << " relative";
}

template <typename StatusOrT>
std::string message(const StatusOrT& result) {
  return std::string(result.status().message());
}
inline std::string message(const absl::Status& status) { return std::string(status.message()); }

// Every test runs in a session of its own, in a runtime of its own.
class SessionTest : public ::testing::Test {
 protected:
  explicit SessionTest(RuntimeOptions options = {})
      : runtime_(Runtime::create(options).value()),
        session_(runtime_->new_session({.name = "test", .seed = 7}).value()),
        scope_(std::in_place, session_) {}

  Runtime& runtime() { return *runtime_; }
  Session& session() { return session_; }

  OwnedRuntime runtime_;
  Session session_;
  std::optional<SessionScope> scope_;
};

// X[i][j] = sin(0.7 i + 1.3 j).
inline Tensor fixture_x(int64_t samples = 10) {
  std::vector<float> values;
  for (int64_t i = 0; i < samples; ++i) {
    for (int64_t j = 0; j < 3; ++j) {
      values.push_back(static_cast<float>(
          std::sin(0.7 * static_cast<double>(i) + 1.3 * static_cast<double>(j))));
    }
  }
  return Tensor::from(std::move(values), Shape{samples, 3}).value();
}

inline Tensor fixture_y(int64_t samples = 10) {
  const std::vector<int32_t> labels = {0, 1, 0, 0, 1, 0, 0, 1, 0, 0};
  return Tensor::from(std::vector<int32_t>(labels.begin(), labels.begin() + samples));
}

// 0.5 cos(1 + 0.9 r + 0.4 c + 2 l).
inline Tensor fixture_kernel(int64_t rows, int64_t columns, int64_t layer) {
  std::vector<float> values;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      values.push_back(static_cast<float>(0.5 * std::cos(1.0 + 0.9 * static_cast<double>(r) +
                                                         0.4 * static_cast<double>(c) +
                                                         2.0 * static_cast<double>(layer))));
    }
  }
  return Tensor::from(std::move(values), Shape{rows, columns}).value();
}

inline absl::StatusOr<Sequential> fixture_model(const Optimizer& optimizer,
                                                Regularizer first_kernel = {}) {
  absl::StatusOr<Sequential> model = Sequential::create(
      {Dense(4, {.activation = kRelu,
                 .kernel_initializer = fixture_kernel(3, 4, 0),
                 .kernel_regularizer = first_kernel,
                 .input_shape = {3}}),
       Dense(2, {.activation = kSoftmax, .kernel_initializer = fixture_kernel(4, 2, 1)})});
  if (!model.ok()) return model;
  const absl::Status compiled = model->compile(
      {.optimizer = optimizer, .loss = kSparseCategoricalCrossentropy, .metrics = {"accuracy"}});
  if (!compiled.ok()) return compiled;
  return model;
}

// Bit for bit.
inline bool same(absl::Span<const float> a, absl::Span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}
inline bool same(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && same(a.span<float>(), b.span<float>());
}

// A directory of its own, removed at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "quiesce-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }
  size_t entries() const {
    size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path_)) ++count;
    return count;
  }

 private:
  std::string path_;
};

}  // namespace quiesce::nn_testing

#endif  // QUIESCE_TESTS_NN_FIXTURES_H_
