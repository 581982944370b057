#ifndef QUIESCE_GRAPH_GRAPH_H_
#define QUIESCE_GRAPH_GRAPH_H_

// The graph layer: shapes and host tensors, graphs and their builder, names and uids. The insides of
// a graph are in graph/ir.h, for who compiles them.

#include "graph/names.h"
#include "quiesce/graph.h"
#include "quiesce/shape.h"
#include "quiesce/tensor.h"

#endif  // QUIESCE_GRAPH_GRAPH_H_
