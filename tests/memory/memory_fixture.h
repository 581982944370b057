#ifndef QUIESCE_TESTS_MEMORY_MEMORY_FIXTURE_H_
#define QUIESCE_TESTS_MEMORY_MEMORY_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>

#include "device/host/host_device.h"
#include "device/simulated/simulated_device.h"
#include "epoch/domain.h"
#include "memory/allocator.h"

namespace quiesce::memory {

inline constexpr uint64_t kKiB = 1024;
inline constexpr uint64_t kMiB = 1024 * kKiB;

// One domain for all tests of a program: domains are immortal.
inline epoch::Domain& test_domain() {
  static epoch::Domain& domain = epoch::Domain::create();
  return domain;
}

inline std::unique_ptr<Allocator> make_allocator(device::Device& device,
                                                 AllocatorOptions options = {}) {
  if (options.address_range == 0) options.address_range = uint64_t{8} << 30;
  auto allocator = Allocator::create(device, test_domain(), options);
  EXPECT_TRUE(allocator.ok()) << allocator.status();
  return *std::move(allocator);
}

// An allocator over a host of its own.
struct OnHost {
  std::unique_ptr<device::Device> device;
  std::unique_ptr<Allocator> allocator;

  explicit OnHost(AllocatorOptions options = {}, uint64_t capacity = 0)
      : device(device::open_host_device({.capacity_bytes = capacity})),
        allocator(make_allocator(*device, options)) {}
};

// An allocator over a simulated device of its own.
struct OnSimulated {
  std::unique_ptr<device::SimulatedDevice> device;
  std::unique_ptr<Allocator> allocator;

  explicit OnSimulated(device::SimulatedDeviceOptions device_options = {},
                       AllocatorOptions options = {})
      : device(device::open_simulated_device(device_options)),
        allocator(make_allocator(*device, options)) {}
};

inline Block must(absl::StatusOr<Block> block) {
  EXPECT_TRUE(block.ok()) << block.status();
  return block.ok() ? *block : Block{};
}

// A device's own sum, and that the allocator's accounts agree with it, when nobody allocates.
inline void expect_sums(Allocator& allocator) {
  const MemorySnapshot snapshot = allocator.snapshot();
  const AllocatorFigures figures = allocator.figures();
  const MemoryTable& t = snapshot.table;
  EXPECT_EQ(t.live + t.pending + t.cached + t.slack + t.outside, t.total - t.free);
  EXPECT_EQ(t.reserved(), figures.reserved);
  EXPECT_EQ(figures.reserved, allocator.device().memory().committed_bytes());
  uint64_t held = 0;
  for (const MemoryHolder& holder : snapshot.holders) held += holder.bytes;
  EXPECT_EQ(held, figures.current);
}

// After everything was freed: nothing in use, and after a trim nothing with this process.
inline void expect_baseline(Allocator& allocator) {
  EXPECT_EQ(allocator.figures().current, 0u);
  const TrimReport trim = allocator.trim();
  EXPECT_EQ(trim.reserved, 0u) << trim.to_string();
  EXPECT_EQ(allocator.device().memory().committed_bytes(), 0u);
  expect_sums(allocator);
}

}  // namespace quiesce::memory

#endif  // QUIESCE_TESTS_MEMORY_MEMORY_FIXTURE_H_
