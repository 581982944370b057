#ifndef QUIESCE_BASE_BASE_H_
#define QUIESCE_BASE_BASE_H_

// The base layer: what every other layer leans on, and which leans on none of them.

#include "base/cache_line.h"
#include "base/cpu_check.h"
#include "base/failpoint.h"
#include "base/format_bytes.h"
#include "base/ids.h"
#include "base/make_error.h"
#include "base/mutex.h"
#include "base/process.h"
#include "base/spin_lock.h"
#include "base/status_macros.h"
#include "quiesce/errors.h"
#include "quiesce/export.h"
#include "quiesce/source_location.h"

#endif  // QUIESCE_BASE_BASE_H_
