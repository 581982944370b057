// The memory layer: the allocator, its accounts, and what they say of themselves.
#ifndef QUIESCE_MEMORY_MEMORY_H_
#define QUIESCE_MEMORY_MEMORY_H_

#include "memory/account.h"          // IWYU pragma: export
#include "memory/allocator.h"        // IWYU pragma: export
#include "quiesce/memory_figures.h"  // IWYU pragma: export

#endif  // QUIESCE_MEMORY_MEMORY_H_
