// The Keras-like surface: layers, models, training, data sets.
#ifndef QUIESCE_NN_H_
#define QUIESCE_NN_H_

#include "quiesce/callbacks.h"
#include "quiesce/dataset.h"
#include "quiesce/initializers.h"
#include "quiesce/layers.h"
#include "quiesce/losses.h"
#include "quiesce/metrics.h"
#include "quiesce/model.h"
#include "quiesce/optimizers.h"

#endif  // QUIESCE_NN_H_
