// What nobody should ask for, asked: sizes that no host has, ranks that no shape holds, names that
// no file holds, and user code that throws wherever it is called. Each gives a typed error and
// leaves the process, the session and the model as they were.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "quiesce/errors.h"
#include "quiesce/nn.h"
#include "quiesce/runtime.h"

namespace quiesce {
namespace {

Tensor rows(int64_t count, int64_t width) {
  return Tensor::from(std::vector<float>(static_cast<size_t>(count * width), 0.5f),
                      Shape{count, width})
      .value();
}

class HostileTest : public testing::Test {
 protected:
  void SetUp() override {
    runtime_ = Runtime::create().value();
    session_ = runtime_->new_session({.name = "hostile"}).value();
    scope_.emplace(session_);
  }
  void TearDown() override {
    model_.reset();
    EXPECT_EQ(session_.memory().in_use, 0u);
  }

  Sequential& model() {
    if (!model_.has_value()) {
      model_ = Sequential::create({Dense(3, {.input_shape = {2}}), Dense(1)}).value();
      EXPECT_TRUE(model_->compile({.optimizer = "sgd", .loss = "mse"}).ok());
    }
    return *model_;
  }
  absl::Status fit(FitOptions options) {
    options.verbose = options.progress ? 1 : 0;
    return model().fit(rows(4, 2), rows(4, 1), options).status();
  }

  OwnedRuntime runtime_;
  Session session_;
  std::optional<SessionScope> scope_;
  std::optional<Sequential> model_;
};

// The host was asked for the first values before the account was asked for the weights.
TEST_F(HostileTest, WeightsThatNoHostHoldsAreATypedError) {
  for (const int64_t units : {int64_t{1} << 44, int64_t{1} << 46}) {
    const absl::Status refused = Sequential::create({Dense(units, {.input_shape = {4}})}).status();
    const ErrorKind kind = error_kind(refused);
    EXPECT_TRUE(kind == ErrorKind::kOutOfMemory || kind == ErrorKind::kTooLarge) << refused;
  }
}

TEST_F(HostileTest, AResultThatNoHostHoldsIsATypedError) {
  auto wide = Sequential::create(
      {Dense(100000, {.use_bias = false, .kernel_initializer = Zeros(), .input_shape = {1}})});
  ASSERT_TRUE(wide.ok()) << wide.status();
  // Never read: the result is refused before.
  static const float kOne = 1;
  const Tensor x = Tensor::view(&kOne, DType::kFloat32, Shape{int64_t{1} << 40, 1});
  EXPECT_EQ(error_kind(wide->predict(x).status()), ErrorKind::kOutOfMemory);
}

TEST_F(HostileTest, ShapesOfTooManyAxesAreRefusedWhateverElseIsWrongWithThem) {
  const std::vector<int64_t> shape = {1, 2, 3, 4, 5, 6, 0};
  EXPECT_EQ(error_kind(Sequential::create({Input(shape)}).status()), ErrorKind::kInvalidArgument);
  auto unbuilt = Sequential::create({Dense(2)});
  ASSERT_TRUE(unbuilt.ok());
  EXPECT_EQ(error_kind(unbuilt->build(shape)), ErrorKind::kInvalidArgument);
}

// A file holds UTF-8: two such names would have become one, and the file unreadable.
TEST_F(HostileTest, NamesThatAFileCouldNotHoldAreRefused) {
  for (const char* name : {"\xff", "a\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80"}) {
    EXPECT_EQ(error_kind(Sequential::create({Dense(1, {.name = name})}).status()),
              ErrorKind::kInvalidArgument);
    EXPECT_EQ(error_kind(Sequential::create({}, {.name = name}).status()),
              ErrorKind::kInvalidArgument);
  }
  EXPECT_TRUE(Sequential::create({Dense(1, {.name = "Schicht-\xc3\xbc-\xf0\x9f\x8c\xb1"})}).ok());
}

// The file took the place of whatever was there: root lost devices to it.
TEST_F(HostileTest, SavingNeverReplacesWhatIsNotAFile) {
  const std::string pipe = testing::TempDir() + "quiesce-hostile-pipe";
  unlink(pipe.c_str());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(error_kind(model().save(pipe)), ErrorKind::kInvalidArgument);
  EXPECT_EQ(error_kind(model().save_weights(pipe)), ErrorKind::kInvalidArgument);
  EXPECT_EQ(error_kind(model().save(pipe + std::string("\0x", 2))), ErrorKind::kInvalidArgument);
  struct stat found;
  ASSERT_EQ(stat(pipe.c_str(), &found), 0);
  EXPECT_TRUE(S_ISFIFO(found.st_mode));
  unlink(pipe.c_str());
}

TEST_F(HostileTest, AProgressSinkThatThrowsEndsItsCallAlone) {
  EXPECT_EQ(error_kind(fit({.progress = [](std::string_view) { throw std::runtime_error("x"); }})),
            ErrorKind::kOther);
  EXPECT_EQ(error_kind(fit({.progress = [](std::string_view) { throw 5; }})), ErrorKind::kOther);
  EXPECT_EQ(error_kind(fit({.progress = [](std::string_view) { throw std::bad_alloc(); }})),
            ErrorKind::kOutOfMemory);
  EvaluateOptions loud;
  loud.verbose = 1;
  loud.progress = [](std::string_view) { throw 5; };
  EXPECT_EQ(error_kind(model().evaluate(rows(4, 2), rows(4, 1), loud).status()), ErrorKind::kOther);
  EXPECT_TRUE(fit({}).ok());
}

struct Thrower : Callback {
  enum class When { kTold, kAsked, kForgetting };
  explicit Thrower(When when) : when(when) {}
  void set_model(Sequential* model) override {
    Callback::set_model(model);
    if (when == (model != nullptr ? When::kTold : When::kForgetting)) throw 5;
  }
  bool wants_batches() const override {
    if (when == When::kAsked) throw std::runtime_error("asked");
    return false;
  }
  When when;
};

struct Witness : Callback {
  bool has_model() const { return model() != nullptr; }
};

TEST_F(HostileTest, ACallbackMayThrowFromAnyOfItsMethods) {
  for (const auto when : {Thrower::When::kTold, Thrower::When::kAsked}) {
    auto before = std::make_shared<Witness>();
    EXPECT_EQ(error_kind(fit({.callbacks = {before, std::make_shared<Thrower>(when)}})),
              ErrorKind::kOther);
    EXPECT_FALSE(before->has_model()) << "it points to a model whose fit is over";
  }
  auto after = std::make_shared<Witness>();
  EXPECT_TRUE(
      fit({.callbacks = {std::make_shared<Thrower>(Thrower::When::kForgetting), after}}).ok());
  EXPECT_FALSE(after->has_model());
  EXPECT_TRUE(fit({}).ok());
}

TEST_F(HostileTest, AClassWeightThatNoFloatHoldsIsRefused) {
  auto classes = Sequential::create({Dense(2, {.input_shape = {2}})});
  ASSERT_TRUE(classes.ok());
  ASSERT_TRUE(
      classes->compile({.loss = SparseCategoricalCrossentropy({.from_logits = true})}).ok());
  const Tensor y = Tensor::from(std::vector<int32_t>{0, 1});
  FitOptions options;
  options.verbose = 0;
  options.class_weight = {{0, 1e300}};
  EXPECT_EQ(error_kind(classes->fit(rows(2, 2), y, options).status()), ErrorKind::kInvalidArgument);
}

TEST_F(HostileTest, ABatchOfAllThereCanBeCountsAsOneStep) {
  std::string said;
  EvaluateOptions options;
  options.batch_size = std::numeric_limits<int64_t>::max();
  options.verbose = 2;
  options.progress = [&](std::string_view text) { said += text; };
  ASSERT_TRUE(model().evaluate(rows(4, 2), rows(4, 1), options).ok());
  EXPECT_EQ(said.substr(0, 4), "1/1 ") << said;
}

}  // namespace
}  // namespace quiesce
