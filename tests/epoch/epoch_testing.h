#ifndef QUIESCE_TESTS_EPOCH_EPOCH_TESTING_H_
#define QUIESCE_TESTS_EPOCH_EPOCH_TESTING_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/failpoint.h"
#include "base/ids.h"
#include "epoch/epoch.h"
#include "gtest/gtest.h"
#include "tests/base/sanitized.h"

namespace quiesce::epoch {

// What became of contents; outlives them.
struct Fate {
  std::atomic<int> made{0};
  std::atomic<int> destroyed{0};
};

// Contents that count their end.
class TestContents : public Retirable {
 public:
  explicit TestContents(Fate* fate, uint64_t bytes = 1000) : fate_(fate), bytes_(bytes) {
    ++fate_->made;
  }
  void destroy(ForeignList& foreign) override {
    if (on_destroy) on_destroy(foreign);
    ++fate_->destroyed;
  }
  uint64_t bytes() const override { return bytes_; }
  std::string_view name() const override { return "test"; }

  std::function<void(ForeignList&)> on_destroy;

 private:
  Fate* fate_;
  uint64_t bytes_;
};

// A user with one handle.
class TestUser {
 public:
  TestUser(Domain& domain, std::string name) : user_(new Derived(domain, std::move(name))) {
    user_->add_handle();
    user_->drop_reference();
  }
  TestUser(TestUser&& other) noexcept : user_(std::exchange(other.user_, nullptr)) {}
  ~TestUser() { reset(); }
  void reset() {
    if (user_ != nullptr) std::exchange(user_, nullptr)->drop_handle();
  }
  User& operator*() const { return *user_; }
  User* operator->() const { return user_; }

  // Its current incarnation, made when there is none.
  IncarnationRef current(Fate& fate, std::function<void(ForeignList&)> on_destroy = {},
                         uint64_t bytes = 1000) const {
    auto made = user_->domain().current(
        *user_, [&](Incarnation&) -> absl::StatusOr<std::unique_ptr<Retirable>> {
          auto contents = std::make_unique<TestContents>(&fate, bytes);
          contents->on_destroy = on_destroy;
          return contents;
        });
    return std::move(made).value();
  }

 private:
  struct Derived : User {
    using User::User;
  };
  User* user_;
};

// A door that one thread waits at and another opens.
class Gate {
 public:
  // Blocks until open(); tells wait_arrived() that somebody is here.
  void pass() {
    std::unique_lock<std::mutex> lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void wait_arrived(int count = 1) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return arrived_ >= count; });
  }
  void open() {
    std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  bool open_ = false;
};

// Stops one thread, the one that calls mine(), the first time it reaches a failpoint.
class StopAt {
 public:
  explicit StopAt(const char* failpoint) : guard_(failpoint, [this] { hit(); }) {}
  ~StopAt() { go_on(); }

  void mine() { thread_.store(std::this_thread::get_id()); }
  void wait_stopped() { gate_.wait_arrived(); }
  void go_on() { gate_.open(); }

 private:
  void hit() {
    if (thread_.load() != std::this_thread::get_id()) return;
    if (stopped_.exchange(true)) return;
    gate_.pass();
  }
  std::atomic<std::thread::id> thread_{};
  std::atomic<bool> stopped_{false};
  Gate gate_;
  base::FailpointGuard guard_;
};

// A pin that its thread forgets, and that never ends.
inline void leave_pin_behind(Incarnation& incarnation) {
  static std::mutex& mutex = *new std::mutex;
  static auto& left = *new std::vector<std::unique_ptr<Pin>>;  // reachable, so no leak is reported
  std::lock_guard<std::mutex> lock(mutex);
  left.push_back(std::make_unique<Pin>(incarnation));
}

// A stream whose work is complete when the test says so.
class TestStream final : public CompletionSource {
 public:
  explicit TestStream(uint64_t id) : id_(id) {}
  bool is_complete(Point point) override {
    if (gone_.load()) return true;
    return point.number <= done_.load(std::memory_order_acquire);
  }
  uint64_t id() const { return id_; }
  Point launch() { return {id_, launched_.fetch_add(1) + 1}; }
  void complete_to(uint64_t number) { done_.store(number, std::memory_order_release); }
  void complete_all() { complete_to(launched_.load()); }
  void destroy() { gone_.store(true); }

 private:
  const uint64_t id_;
  std::atomic<uint64_t> launched_{0};
  std::atomic<uint64_t> done_{0};
  std::atomic<bool> gone_{false};
};

inline Ticket clear_all(Domain& domain, const char* api = "clear_session()",
                        SourceLocation where = SourceLocation::current()) {
  ClearSpec spec;
  spec.api = api;
  spec.where = where;
  auto ticket = domain.clear(spec);
  EXPECT_TRUE(ticket.ok()) << ticket.status();
  return ticket.ok() ? *std::move(ticket) : Ticket();
}

inline Ticket clear_user(const TestUser& user, SourceLocation where = SourceLocation::current()) {
  ClearSpec spec;
  spec.user = &*user;
  spec.api = "Session::clear()";
  spec.where = where;
  auto ticket = user->domain().clear(spec);
  EXPECT_TRUE(ticket.ok()) << ticket.status();
  return ticket.ok() ? *std::move(ticket) : Ticket();
}

// The protocol's tests run in both forms of the pin.
class BothForms : public testing::TestWithParam<DomainOptions::PinForm> {
 protected:
  Domain& domain() { return *domain_; }
  Fate fate;

 private:
  Domain* domain_ = &Domain::create({.pin_form = GetParam()});
};

#define QUIESCE_BOTH_FORMS(suite)                                                         \
  INSTANTIATE_TEST_SUITE_P(Forms, suite,                                                  \
                           testing::Values(DomainOptions::PinForm::kExchange,             \
                                           DomainOptions::PinForm::kMembarrier),          \
                           [](const auto& info) {                                         \
                             return info.param == DomainOptions::PinForm::kExchange       \
                                        ? "Exchange"                                      \
                                        : "Membarrier";                                   \
                           })

}  // namespace quiesce::epoch

#endif  // QUIESCE_TESTS_EPOCH_EPOCH_TESTING_H_
