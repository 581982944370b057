#ifndef QUIESCE_EXEC_LOWERING_H_
#define QUIESCE_EXEC_LOWERING_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include "exec/fusion.h"
#include "exec/layout.h"
#include "exec/plan_data.h"
#include "graph/ir.h"

namespace quiesce::exec {

inline constexpr uint64_t kFloat = sizeof(float);

// Turns a graph into the steps of a plan.
//
// 1. Nodes are lowered in their order, so an operand's step comes before its user's; a loss group
// as
//    a whole where its first member stands.
// 2. A value's bytes are written by one chain of steps and read until its last user's step. A step
//    may write over an operand only when it is that operand's last user.
// 3. The gradient of each trainable variable ends in its place of the flat gradient buffer, and all
//    of them before the first step of the update.
//
// Thread word: thread-compatible; used once.
class Lowering {
 public:
  Lowering(const Graph& graph, int64_t batch);
  void run(PlanData& plan);

 private:
  // Somewhere a value's elements lie.
  struct Buffer {
    Base base = Base::kBlock;
    int32_t feed = 0;
    uint64_t at = 0;  // fixed places; temporaries get theirs from the layout
    uint64_t bytes = 0;
    int32_t first = -1;
    int32_t last = -1;
  };
  // An argument struct's pointer field and the buffer it is to point to; -1: stays null.
  struct Field {
    size_t at;
    int32_t buffer;
  };

  const graph::Node& node(int32_t id) const { return ir_.nodes[id]; }
  Shape shape_of(int32_t id) const;
  uint64_t elements(int32_t id) const { return static_cast<uint64_t>(shape_of(id).elements()); }
  // A reshaped value is the value it was made of.
  int32_t root(int32_t id) const;
  int32_t buffer_of(int32_t id) const { return buffers_of_[root(id)]; }

  int32_t new_temporary(uint64_t bytes);
  int32_t fixed(Base base, uint64_t at, uint64_t bytes);
  // Where the result of `id` goes: its pinned place, over `operand` when this is its last use (-1:
  // never), else a temporary.
  int32_t place_result(int32_t id, int32_t operand = -1);
  void consume(int32_t id) { --uses_left_[root(id)]; }
  void pin_gradients();

  template <typename Args>
  Step& emit(const device::Kernel& kernel, const Args& args, std::initializer_list<Field> fields) {
    static_assert(std::is_trivially_copyable_v<Args> && sizeof(Args) <= kMaxArgsBytes);
    return emit_bytes(kernel, &args, sizeof(Args), fields);
  }
  Step& emit_bytes(const device::Kernel& kernel, const void* args, size_t bytes,
                   std::initializer_list<Field> fields);

  void lower_input(int32_t id);
  void lower_dense(int32_t id);
  void lower_activation(int32_t id, const device::Kernel& kernel);
  void lower_activation_grad(int32_t id, const device::Kernel& kernel);
  void lower_matmul_grad_input(int32_t id, int32_t relu_y, int32_t result_id);
  void lower_regularizer_grad(int32_t id, const device::Kernel& kernel);
  void lower_loss(const LossGroup& group);
  void lower_correct(int32_t id);
  void lower_node(int32_t id);
  void lower_update();
  void copy_stray_gradients();

  const Graph& graph_;
  const graph::Ir& ir_;
  const int64_t batch_;
  const Fusion fusion_;
  std::vector<Buffer> buffers_;
  std::vector<int32_t> buffers_of_;  // per value
  std::vector<int32_t> uses_left_;   // per root value
  std::vector<int64_t> pinned_;      // per value: byte offset in the gradient buffer, or -1
  std::vector<bool> group_done_;
  struct PendingPointer {
    uint32_t at;
    int32_t buffer;
  };
  std::vector<PendingPointer> pointers_;
  PlanData* plan_ = nullptr;
};

}  // namespace quiesce::exec

#endif  // QUIESCE_EXEC_LOWERING_H_
