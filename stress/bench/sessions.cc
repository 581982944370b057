// Sessions: what it costs to be inside one, to make one, to clear.
#include <malloc.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "epoch/epoch.h"
#include "quiesce/runtime.h"
#include "runtime/core.h"
#include "stress/bench/harness.h"

namespace quiesce::bench {
namespace {

constexpr char kGroup[] = "sessions";

void public_pins(const Session& session, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    Pin pin = session.pin();
    keep(pin.ok());
  }
}

void pins(epoch::Incarnation& incarnation, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    epoch::Pin pin(incarnation, "bench");
    keep(static_cast<bool>(pin));
  }
}

void copies(const std::shared_ptr<int>& shared, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    std::shared_ptr<int> copy = shared;
    keep(copy.get());
  }
}

void pin_rows(Report& report, Session& session) {
  const uint64_t count = report.options().quick ? 100'000 : 5'000'000;
  { Pin first = session.pin(); }
  runtime::SessionUser& user = *runtime::Access::user(session);
  const epoch::IncarnationRef incarnation = user.core().domain().current_or_null(user);
  const auto shared = std::make_shared<int>(1);
  const Contender copy = {"shared_ptr copy", [&] {
                            return ns_per_operation(count, [&](uint64_t n) { copies(shared, n); });
                          }};
  report.compare(kGroup, "pin + unpin", "ns",
                 {"pin", [&] {
                    return ns_per_operation(count, [&](uint64_t n) { pins(*incarnation, n); });
                  }},
                 copy);
  report.compare(kGroup, "pin + unpin, Session::pin()", "ns",
                 {"public pin", [&] {
                    return ns_per_operation(count, [&](uint64_t n) { public_pins(session, n); });
                  }},
                 copy);
  // CPU time of two threads together, halved: what each pays when both are in one session.
  const auto of_two = [&](const std::function<void(uint64_t)>& body) {
    const double before = process_cpu_seconds();
    throughput(2, count, [&](int, uint64_t n) { body(n); });
    return (process_cpu_seconds() - before) * 1e9 / (2.0 * static_cast<double>(count));
  };
  report.compare(kGroup, "pin + unpin, each of two threads on one session", "ns",
                 {"pin", [&] { return of_two([&](uint64_t n) { pins(*incarnation, n); }); }},
                 {"shared_ptr copy", [&] {
                    return of_two([&](uint64_t n) { copies(shared, n); });
                  }});
}

void life_rows(Report& report, Runtime& runtime) {
  const uint64_t count = report.options().quick ? 1'000 : 50'000;
  report.compare(kGroup, "session made, entered and cleared, empty", "us",
                 {"session", [&] {
                    return 1e-3 * ns_per_operation(count, [&](uint64_t n) {
                             for (uint64_t i = 0; i < n; ++i) {
                               Session session = runtime.new_session().value();
                               { Pin pin = session.pin(); }
                               keep(session.clear().ok());
                             }
                           });
                  }});
  report.compare(kGroup, "clear_session() with nothing to clear", "us",
                 {"clear", [&] {
                    return 1e-3 * ns_per_operation(count, [&](uint64_t n) {
                             for (uint64_t i = 0; i < n; ++i) keep(runtime.clear().ok());
                           });
                  }});
  constexpr int kSessions = 1000;
  std::vector<Session> sessions;
  sessions.reserve(kSessions);
  const size_t before = mallinfo2().uordblks;
  for (int i = 0; i < kSessions; ++i) {
    sessions.push_back(runtime.new_session().value());
    Pin pin = sessions.back().pin();
  }
  report.add({kGroup, "memory of an empty session",
              static_cast<double>(mallinfo2().uordblks - before) / kSessions, "B", "", 0});
  report.compare(kGroup, "clear_session(), per idle session", "us", {"clear", [&] {
                   for (const Session& session : sessions) Pin pin = session.pin();
                   return 1e-3 / kSessions * ns_per_operation(1, [&](uint64_t) {
                            keep(runtime.clear().ok());
                          });
                 }});
}

void sessions(Report& report) {
  OwnedRuntime runtime = Runtime::create().value();
  Session session = runtime->new_session({.name = "bench"}).value();
  pin_rows(report, session);
  life_rows(report, *runtime);
}

const Group group("sessions", sessions);

}  // namespace
}  // namespace quiesce::bench
