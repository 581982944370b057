#ifndef QUIESCE_BASE_IDS_H_
#define QUIESCE_BASE_IDS_H_

#include <cstdint>

namespace quiesce::base {

// A number that this process never gave before and never gives again; 0 is never given.
// Thread-safe.
uint64_t next_id();

}  // namespace quiesce::base

#endif  // QUIESCE_BASE_IDS_H_
