// What may not be done with scopes is caught in debug builds, with both places named.
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "quiesce/runtime.h"
#include "tests/runtime/support.h"

namespace quiesce {
namespace {

#ifndef NDEBUG

TEST(ScopeMisuseDeathTest, WrongOrderNamesBothScopes) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto misuse = [] {
    auto runtime = test::isolated();
    Session a = runtime->new_session({.name = "first"}).value();
    Session b = runtime->new_session({.name = "second"}).value();
    std::unique_ptr<SessionScope> outer(new SessionScope(a));
    std::unique_ptr<SessionScope> inner(new SessionScope(b));
    outer.reset();
  };
  EXPECT_DEATH(misuse(), "misuse_test.cc:[0-9]+.*first.*misuse_test.cc:[0-9]+.*second");
}

TEST(ScopeMisuseDeathTest, OtherThreadNamesBothThreads) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto misuse = [] {
    auto runtime = test::isolated();
    std::unique_ptr<SessionScope> scope(
        new SessionScope(runtime->new_session({.name = "a"}).value()));
    std::thread([&] {
      pthread_setname_np(pthread_self(), "thief");
      scope.reset();
    }).join();
  };
  EXPECT_DEATH(misuse(), "misuse_test.cc:[0-9]+.*thief");
}

#endif

TEST(ScopeMisuse, EmptySessionIsAProgrammingError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(SessionScope scope(Session{}), "SessionScope.*empty Session");
}

}  // namespace
}  // namespace quiesce
