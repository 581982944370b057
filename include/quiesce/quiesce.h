// Everything of Quiesce that is public, in one include.
#ifndef QUIESCE_QUIESCE_H_
#define QUIESCE_QUIESCE_H_

#include "quiesce/clear.h"
#include "quiesce/device.h"
#include "quiesce/errors.h"
#include "quiesce/graph.h"
#include "quiesce/memory_figures.h"
#include "quiesce/memory_report.h"
#include "quiesce/nn.h"
#include "quiesce/runtime.h"
#include "quiesce/session.h"
#include "quiesce/shape.h"
#include "quiesce/source_location.h"
#include "quiesce/stop_token.h"
#include "quiesce/tensor.h"
#include "quiesce/trials.h"

#endif  // QUIESCE_QUIESCE_H_
