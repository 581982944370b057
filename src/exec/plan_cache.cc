#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "exec/exec.h"

namespace quiesce::exec {

absl::StatusOr<std::shared_ptr<const Plan>> PlanCache::get(const Graph& graph, int64_t batch,
                                                           const device::Device& device) {
  base::MutexLock lock(mutex_);
  for (Entry& entry : entries_) {
    if (&entry.graph.ir() == &graph.ir() && entry.batch == batch) {
      entry.used = ++clock_;
      return entry.plan;
    }
  }
  // Compiled under the lock: it takes microseconds, and nobody compiles the same plan twice.
  QUIESCE_ASSIGN_OR_RETURN(std::shared_ptr<const Plan> plan, Plan::compile(graph, batch, device));
  if (entries_.size() >= capacity_) {
    entries_.erase(
        std::min_element(entries_.begin(), entries_.end(),
                         [](const Entry& a, const Entry& b) { return a.used < b.used; }));
  }
  entries_.push_back({graph, batch, plan, ++clock_});
  return plan;
}

size_t PlanCache::size() const {
  base::MutexLock lock(mutex_);
  return entries_.size();
}

}  // namespace quiesce::exec
