#include "graph/names.h"

#include <gtest/gtest.h>

namespace quiesce::graph {
namespace {

TEST(SnakeCase, FollowsKeras) {
  EXPECT_EQ(to_snake_case("MeanSquaredError"), "mean_squared_error");
  EXPECT_EQ(to_snake_case("Dense"), "dense");
  EXPECT_EQ(to_snake_case("RMSprop"), "rm_sprop");
  EXPECT_EQ(to_snake_case("AdamW"), "adam_w");
  EXPECT_EQ(to_snake_case("SGD"), "sgd");
  EXPECT_EQ(to_snake_case("ACdEf"), "a_cd_ef");
  EXPECT_EQ(to_snake_case("LSTMCell"), "lstm_cell");
  EXPECT_EQ(to_snake_case("myHTTPServer2Go"), "my_http_server2_go");
  EXPECT_EQ(to_snake_case("AaBBb"), "aa_b_bb");
  EXPECT_EQ(to_snake_case("Conv2DTranspose"), "conv2d_transpose");
  EXPECT_EQ(to_snake_case("my layer!"), "mylayer");
}

TEST(NameTable, FirstNameIsThePrefixAndLaterOnesAreNumbered) {
  NameTable names;
  EXPECT_EQ(names.unique_name("dense"), "dense");
  EXPECT_EQ(names.unique_name("dense"), "dense_1");
  EXPECT_EQ(names.unique_name("dropout"), "dropout");
  EXPECT_EQ(names.unique_name("dense"), "dense_2");
}

TEST(NameTable, UidsCountFromOneApartFromNames) {
  NameTable names;
  EXPECT_EQ(names.unique_name("dense"), "dense");
  EXPECT_EQ(names.next_uid("dense"), 1);
  EXPECT_EQ(names.next_uid("dense"), 2);
  EXPECT_EQ(names.next_uid("model"), 1);
}

TEST(PathScope, LevelsJoinOutermostFirst) {
  EXPECT_EQ(PathScope::current_path(1), "");
  EXPECT_EQ(PathScope::join(1, "kernel"), "kernel");
  const PathScope outer(1, "outer");
  const PathScope inner(1, "inner");
  const PathScope layer(1, "dense");
  EXPECT_EQ(PathScope::join(1, "kernel"), "outer/inner/dense/kernel");
}

TEST(PathScope, ShowsOnlyTheLevelsOfTheSessionAskedFor) {
  const PathScope outer(1, "outer");
  const PathScope other(2, "other");
  const PathScope inner(1, "inner");
  EXPECT_EQ(PathScope::current_path(1), "outer/inner");
  EXPECT_EQ(PathScope::current_path(2), "other");
  EXPECT_EQ(PathScope::current_path(3), "");
}

}  // namespace
}  // namespace quiesce::graph
