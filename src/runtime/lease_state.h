// LeaseState: what a public Lease holds.
#ifndef QUIESCE_RUNTIME_LEASE_STATE_H_
#define QUIESCE_RUNTIME_LEASE_STATE_H_

#include <utility>

#include "epoch/epoch.h"
#include "runtime/core.h"

namespace quiesce::runtime {

// One claim of the epoch layer, counted in the census. Owned by its Lease. Thread-compatible.
struct LeaseState {
  LeaseState(Core& owner, epoch::Lease claim) : core(owner), lease(std::move(claim)) {
    core.leases.fetch_add(1, std::memory_order_relaxed);
  }
  LeaseState(const LeaseState& other) : LeaseState(other.core, other.lease) {}
  LeaseState& operator=(const LeaseState&) = delete;
  ~LeaseState() { core.leases.fetch_sub(1, std::memory_order_relaxed); }

  SessionUser& user() const { return static_cast<SessionUser&>(lease.incarnation().user()); }

  Core& core;
  epoch::Lease lease;
};

}  // namespace quiesce::runtime

#endif  // QUIESCE_RUNTIME_LEASE_STATE_H_
