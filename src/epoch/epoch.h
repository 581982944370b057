#ifndef QUIESCE_EPOCH_EPOCH_H_
#define QUIESCE_EPOCH_EPOCH_H_

// The epoch layer: generation, pins, leases, tickets, reclaimer. It knows nothing of graphs: contents
// are Retirable, device work is a CompletionSource. README.md beside this file lists the rules, where
// each is kept, and the failpoints.

#include "epoch/domain.h"
#include "epoch/incarnation.h"
#include "epoch/lease.h"
#include "epoch/pin.h"
#include "epoch/point.h"
#include "epoch/report.h"
#include "epoch/retirable.h"
#include "epoch/thread_context.h"
#include "epoch/thread_record.h"
#include "epoch/ticket.h"

#endif  // QUIESCE_EPOCH_EPOCH_H_
