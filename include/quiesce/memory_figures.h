// What the allocator says of itself: figures, the table that adds up, holders of memory, what a
// trim did. All of them are plain values: readable for ever, thread-compatible, unchanged by clear
// and shutdown.
#ifndef QUIESCE_MEMORY_FIGURES_H_
#define QUIESCE_MEMORY_FIGURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "quiesce/export.h"
#include "quiesce/source_location.h"

namespace quiesce {

// Bytes of one account: a device, a runtime, a session, an incarnation of one.
struct AccountFigures {
  uint64_t current = 0;  // in live blocks
  uint64_t peak = 0;     // most there were since it was opened or reset; exact when one thread used
                      // it, else within one credit per thread
  uint64_t charged = 0;  // current, and the credits that threads keep; never above the limit
  uint64_t limit = 0;    // 0: none
};

// Bytes of one device's allocator. A figure may be a moment older than the next one; a snapshot is
// exact.
struct AllocatorFigures {
  uint64_t current = 0;        // in live blocks
  uint64_t peak = 0;           // of current
  uint64_t reserved = 0;       // obtained from the driver and not given back
  uint64_t peak_reserved = 0;  // of reserved
  uint64_t released = 0;       // given back to the driver so far
  uint64_t limit = 0;          // bound on reserved; 0: the device's memory

  // In the cache: magazines, shards, and blocks whose device work is not complete.
  uint64_t cached() const { return reserved > current ? reserved - current : 0; }
};

// Where a device's bytes are. live + pending + cached + slack + outside = total - free, and
// live + pending + cached + slack = reserved.
struct MemoryTable {
  uint64_t live = 0;     // asked for, in live blocks
  uint64_t pending = 0;  // freed, but device work on them is not complete
  uint64_t cached = 0;   // free, ready to be handed out
  uint64_t slack = 0;    // rounding of live blocks
  uint64_t outside = 0;  // not ours: context, code, libraries, other processes
  uint64_t total = 0;    // the device's memory
  uint64_t free = 0;     // of it, as the driver says

  uint64_t reserved() const { return live + pending + cached + slack; }
};

// Live blocks of one account with one label and call site.
struct MemoryHolder {
  std::string session;   // the account's name
  uint64_t account = 0;  // its id
  std::string label;
  SourceLocation where;
  uint64_t blocks = 0;
  uint64_t bytes = 0;  // with rounding
};

// Every byte of one device at one moment. Each block is counted in one state, so the table sums
// exactly by construction.
struct QUIESCE_EXPORT MemorySnapshot {
  std::string device;
  MemoryTable table;
  uint64_t live_blocks = 0;
  uint64_t limit = 0;                 // bound on reserved; 0: none
  uint64_t largest_cached = 0;        // largest block that the cache can give
  uint64_t largest_satisfiable = 0;   // largest block that a request can get now, without waiting
  std::vector<MemoryHolder> holders;  // largest first

  // Share of the cached bytes that the largest cached block cannot use: 0 none, 1 all.
  double fragmentation() const;
  std::string to_string() const;
};

// What a trim gave back to the driver, and what it kept and why.
struct QUIESCE_EXPORT TrimReport {
  uint64_t released = 0;      // bytes given back by this trim
  uint64_t kept_live = 0;     // in chunks that hold live blocks: the live bytes and the cached rest
  uint64_t kept_pending = 0;  // in chunks that device work may still use
  uint64_t kept_wanted = 0;   // idle, but more than was asked for
  uint64_t kept_failed = 0;   // idle, but the driver refused to take them; tried again next time
  uint64_t reserved = 0;      // obtained from the driver and not given back, after the trim

  std::string to_string() const;
};

}  // namespace quiesce

#endif  // QUIESCE_MEMORY_FIGURES_H_
