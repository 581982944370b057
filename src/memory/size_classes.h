#ifndef QUIESCE_MEMORY_SIZE_CLASSES_H_
#define QUIESCE_MEMORY_SIZE_CLASSES_H_

#include <bit>
#include <cstddef>
#include <cstdint>

namespace quiesce::memory {

inline constexpr size_t kPageBytes = 4096;
// Blocks up to here share slabs; larger ones have a run of pages each.
inline constexpr size_t kSlabBlockBytes = 32 << 10;
// Blocks up to here have a class, so that magazines can keep them.
inline constexpr size_t kClassedBytes = size_t{64} << 20;
inline constexpr uint16_t kClasses = 160;
// The class of blocks that have none: runs of pages cut to measure.
inline constexpr uint16_t kNoClass = 0xFFFF;

// Steps of sizes: multiples of one unit up to eight units, then eight steps per doubling, so
// rounding wastes at most an eighth.
constexpr uint32_t step_of(uint64_t units) {
  if (units <= 8) return static_cast<uint32_t>(units == 0 ? 0 : units - 1);
  const uint32_t log = 63u - static_cast<uint32_t>(std::countl_zero(units - 1));
  return 8 * (log - 2) + static_cast<uint32_t>((units - 1) >> (log - 3)) - 8;
}
constexpr uint64_t units_of_step(uint32_t step) {
  if (step < 8) return step + 1;
  const uint32_t log = step / 8 + 2;
  return (uint64_t{1} << log) + (uint64_t{step % 8} + 1) * (uint64_t{1} << (log - 3));
}

// The classes of one device, whose unit is its block alignment. Immutable.
class SizeClasses {
 public:
  explicit SizeClasses(size_t unit) : shift_(static_cast<uint32_t>(std::countr_zero(unit))) {
    for (uint16_t i = 0; i < kClasses; ++i) bytes_[i] = units_of_step(i) << shift_;
    slab_classes_ = class_of(kSlabBlockBytes) + 1;
  }

  size_t unit() const { return size_t{1} << shift_; }
  // For 1 <= bytes <= kClassedBytes: the smallest class that holds them.
  uint16_t class_of(size_t bytes) const {
    return static_cast<uint16_t>(step_of((bytes + unit() - 1) >> shift_));
  }
  size_t bytes_of(uint16_t size_class) const { return bytes_[size_class]; }
  bool is_slab(uint16_t size_class) const { return size_class < slab_classes_; }
  uint16_t slab_classes() const { return slab_classes_; }
  // Alignment that every block of the class has.
  size_t alignment_of(uint16_t size_class) const {
    if (!is_slab(size_class)) return kPageBytes;
    const size_t bytes = bytes_[size_class];
    const size_t natural = bytes & (~bytes + 1);
    return natural < kPageBytes ? natural : kPageBytes;
  }
  // Pages of a slab of the class, and blocks in it.
  size_t slab_pages(uint16_t size_class) const {
    const size_t wanted = 8 * bytes_[size_class];
    const size_t least = size_t{64} << 10;
    return ((wanted > least ? wanted : least) + kPageBytes - 1) / kPageBytes;
  }
  uint32_t slab_blocks(uint16_t size_class) const {
    return static_cast<uint32_t>(slab_pages(size_class) * kPageBytes / bytes_[size_class]);
  }

 private:
  uint32_t shift_;
  uint16_t slab_classes_;
  size_t bytes_[kClasses];
};

}  // namespace quiesce::memory

#endif  // QUIESCE_MEMORY_SIZE_CLASSES_H_
