#ifndef QUIESCE_TESTS_EXEC_MACHINE_H_
#define QUIESCE_TESTS_EXEC_MACHINE_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "device/host/host_device.h"
#include "device/simulated/simulated_device.h"
#include "epoch/domain.h"
#include "exec/exec.h"
#include "memory/allocator.h"

namespace quiesce::exec {

// A device with one stream and an allocator, as a session would have them.
struct Machine {
  std::unique_ptr<device::Device> device;
  std::unique_ptr<device::Stream> stream;
  std::unique_ptr<memory::Allocator> allocator;

  static epoch::Domain& domain() {
    static epoch::Domain& shared = epoch::Domain::create();
    return shared;
  }
  static Machine of(std::unique_ptr<device::Device> device) {
    Machine machine;
    machine.device = std::move(device);
    machine.stream = machine.device->create_stream().value();
    machine.allocator = memory::Allocator::create(*machine.device, domain()).value();
    return machine;
  }
  static Machine host() { return of(device::open_host_device()); }
  static Machine simulated() { return of(device::open_simulated_device()); }

  Context context() const { return {device.get(), stream.get(), allocator.get(), nullptr}; }
  void finish() { ASSERT_OK(stream->synchronize(absl::Now() + absl::Seconds(60))); }

  static void ASSERT_OK(const absl::Status& status) {
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", status.ToString().c_str());
      std::abort();
    }
  }
};

// The three buffers of one model, on one machine.
class Buffers {
 public:
  Buffers(Machine& machine, const Graph& graph) : machine_(machine) {
    variables_ = zeros(static_cast<size_t>(graph.variable_floats()));
    gradients_ = zeros(static_cast<size_t>(graph.trainable_floats()));
    slots_ = zeros(static_cast<size_t>(graph.trainable_floats() * graph.slots()));
  }
  ~Buffers() {
    machine_.finish();
    for (const memory::Block& block : {variables_, gradients_, slots_}) {
      Machine::ASSERT_OK(machine_.allocator->free(block));
    }
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  float* variables() { return variables_.as<float>(); }
  float* gradients() { return gradients_.as<float>(); }

  void set(const VariableInfo& variable, const std::vector<float>& values) {
    Machine::ASSERT_OK(machine_.stream->copy(variables() + variable.offset, values.data(),
                                             values.size() * sizeof(float)));
    machine_.finish();
  }
  std::vector<float> get(const VariableInfo& variable) { return read(variables(), variable); }
  std::vector<float> gradient(const VariableInfo& variable) { return read(gradients(), variable); }
  void bind(Bindings& bindings) {
    bindings.variables = variables();
    bindings.gradients = gradients();
    bindings.slots = slots_.as<float>();
  }

 private:
  memory::Block zeros(size_t floats) {
    if (floats == 0) return {};
    memory::Block block =
        machine_.allocator->allocate(floats * sizeof(float), memory::Request{}).value();
    Machine::ASSERT_OK(fill_zero(machine_.context(), block.data, floats * sizeof(float)));
    return block;
  }
  std::vector<float> read(const float* base, const VariableInfo& variable) {
    std::vector<float> values(static_cast<size_t>(variable.shape.elements()));
    Machine::ASSERT_OK(machine_.stream->copy(values.data(), base + variable.offset,
                                             values.size() * sizeof(float)));
    machine_.finish();
    return values;
  }

  Machine& machine_;
  memory::Block variables_, gradients_, slots_;
};

}  // namespace quiesce::exec

#endif  // QUIESCE_TESTS_EXEC_MACHINE_H_
