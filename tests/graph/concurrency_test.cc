// What several threads do to the names of one session.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "graph/names.h"

namespace quiesce::graph {
namespace {

TEST(NameTable, ManyThreadsGetDistinctNames) {
  NameTable names;
  constexpr int kThreads = 4;
  constexpr int kNames = 500;
  std::vector<std::vector<std::string>> got(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kNames; ++i) got[t].push_back(names.unique_name("dense"));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> all;
  for (const auto& list : got) all.insert(list.begin(), list.end());
  EXPECT_EQ(all.size(), static_cast<size_t>(kThreads * kNames));
  EXPECT_TRUE(all.count("dense_1999"));
  EXPECT_FALSE(all.count("dense_2000"));
}

TEST(PathScope, BelongsToItsThread) {
  const PathScope outer(1, "outer");
  std::string seen = "unset";
  std::thread([&] { seen = PathScope::current_path(1); }).join();
  EXPECT_EQ(seen, "");
}

}  // namespace
}  // namespace quiesce::graph
