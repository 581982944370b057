// The table that summary() gives.
#ifndef QUIESCE_NN_SUMMARY_H_
#define QUIESCE_NN_SUMMARY_H_

#include <string>

#include "absl/strings/string_view.h"
#include "nn/network.h"

namespace quiesce::nn {

// `network` is null for a model that is not built; shapes and parameters then read "?".
std::string summarize(absl::string_view model, absl::Span<const NamedLayer> layers,
                      const Network* network);

// 100,480
std::string with_commas(int64_t number);

}  // namespace quiesce::nn

#endif  // QUIESCE_NN_SUMMARY_H_
