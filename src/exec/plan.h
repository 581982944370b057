#ifndef QUIESCE_EXEC_PLAN_H_
#define QUIESCE_EXEC_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "quiesce/graph.h"

namespace quiesce::device {
class Device;
}  // namespace quiesce::device

namespace quiesce::exec {

struct PlanData;

// A graph compiled for one batch size and one kind of device: fused kernels in order, and a place
// in one block for every temporary.
//
// Owner: counted (a model's PlanCache, and whoever runs it); must outlive the work enqueued from
// it. It holds no device memory. Thread word: immutable; many threads may run it at once.
class Plan {
 public:
  static absl::StatusOr<std::shared_ptr<const Plan>> compile(const Graph& graph, int64_t batch,
                                                             const device::Device& device);
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const Graph& graph() const;
  int64_t batch() const;
  // Size of the one block that a run allocates; 0 when everything lies in bound memory.
  size_t block_bytes() const;
  int kernels() const;
  // One line per kernel, for people and tests.
  std::string to_string() const;

  const PlanData& data() const { return *data_; }

 private:
  explicit Plan(std::unique_ptr<PlanData> data);
  std::unique_ptr<PlanData> data_;
};

}  // namespace quiesce::exec

#endif  // QUIESCE_EXEC_PLAN_H_
