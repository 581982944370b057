#include "quiesce/tensor.h"

#include <gtest/gtest.h>

#include "quiesce/errors.h"

namespace quiesce {
namespace {

TEST(Shape, KnowsItsExtents) {
  const Shape shape{32, 28, 28};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape[-1], 28);
  EXPECT_EQ(shape.elements(), 32 * 28 * 28);
  EXPECT_EQ(shape.rows(), 32 * 28);
  EXPECT_EQ(shape.sample(), (Shape{28, 28}));
  EXPECT_EQ(shape.with_batch(5), (Shape{5, 28, 28}));
  EXPECT_EQ(Shape{784}.batched().to_string(), "[batch, 784]");
  EXPECT_FALSE(Shape{784}.batched().is_static());
  EXPECT_EQ(Shape().elements(), 1);
  EXPECT_EQ(Shape().to_string(), "[]");
}

TEST(Shape, ElementsDoNotOverflow) {
  const int64_t large = int64_t{1} << 40;
  EXPECT_EQ((Shape{large, large, 7}).elements(), INT64_MAX);
  EXPECT_EQ((Shape{large, large, 0}).elements(), 0);
  EXPECT_FALSE(Tensor::from(std::vector<float>{}, {large, large}).ok());
}

TEST(Tensor, TakesValuesThatFitTheShape) {
  auto tensor = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->size(), 2);
  EXPECT_EQ(tensor->span<float>()[5], 6.0f);
  EXPECT_EQ(tensor->to_string(), "float32[2, 3]");
}

TEST(Tensor, RefusesValuesThatDoNotFitTheShape) {
  auto tensor = Tensor::from(std::vector<float>{1, 2, 3}, {2, 3});
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(error_kind(tensor.status()), ErrorKind::kInvalidArgument);
  EXPECT_EQ(tensor.status().message(), "a tensor of shape [2, 3] has 6 elements, got 3 values");
}

TEST(Tensor, CopiesAndRowsShareStorage) {
  Tensor tensor = Tensor::zeros({4, 2}, DType::kInt32);
  Tensor rows = tensor.rows(1, 2);
  tensor.mutable_span<int32_t>()[2] = 7;
  EXPECT_EQ(rows.shape(), (Shape{2, 2}));
  EXPECT_EQ(rows.span<int32_t>()[0], 7);
  EXPECT_EQ(rows.reshaped({4})->span<int32_t>()[0], 7);
}

TEST(Tensor, AViewDropsItsKeepAliveWithTheLastCopy) {
  auto owner = std::make_shared<std::vector<uint8_t>>(6, uint8_t{9});
  std::weak_ptr<std::vector<uint8_t>> watch = owner;
  Tensor view = Tensor::view(owner->data(), DType::kUInt8, {2, 3}, owner);
  owner.reset();
  Tensor copy = view.rows(1, 1);
  view = Tensor();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(copy.span<uint8_t>()[2], 9);
  copy = Tensor();
  EXPECT_TRUE(watch.expired());
}

}  // namespace
}  // namespace quiesce
