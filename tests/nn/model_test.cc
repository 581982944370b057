#include "quiesce/model.h"

#include <gtest/gtest.h>

#include "quiesce/runtime.h"
#include "quiesce/session.h"

namespace quiesce {
namespace {

TEST(Smoke, PredictsARow) {
  auto session = Runtime::process().new_session({.name = "smoke"}).value();
  SessionScope scope(session);
  auto model = Sequential::create({Dense(4, {.activation = kRelu, .input_shape = {3}}), Dense(2)});
  ASSERT_TRUE(model.ok()) << model.status();
  auto y = model->predict(Tensor::zeros({1, 3}));
  ASSERT_TRUE(y.ok()) << y.status();
  printf("%s\n", model->summary()->c_str());
}

}  // namespace
}  // namespace quiesce
