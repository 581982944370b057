#include "exec/plan.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/cpu_check.h"
#include "base/make_error.h"
#include "base/status_macros.h"
#include "device/device.h"
#include "exec/lowering.h"
#include "exec/plan_data.h"
#include "graph/ir.h"

namespace quiesce::exec {

Plan::Plan(std::unique_ptr<PlanData> data) : data_(std::move(data)) {}
Plan::~Plan() = default;

absl::StatusOr<std::shared_ptr<const Plan>> Plan::compile(const Graph& graph, int64_t batch,
                                                          const device::Device& device) {
  if (!graph.valid()) {
    return base::make_error(ErrorKind::kInvalidArgument, "a plan needs a sealed graph");
  }
  if (batch <= 0) {
    return base::make_error(
        ErrorKind::kInvalidArgument,
        absl::StrCat("graph ", graph.name(), " expects a batch above zero, got ", batch));
  }
  if (device.kind() == DeviceKind::kCuda) {
    return base::make_error(ErrorKind::kUnsupported,
                            absl::StrCat("graphs do not run on ", device.name(), " yet"));
  }
  for (const graph::Node& node : graph.ir().nodes) {
    const bool dynamic = node.shape.rank() > 0 && node.shape[0] == Shape::kDynamic;
    if ((dynamic ? node.shape.with_batch(batch) : node.shape).elements() > graph::kMaxElements) {
      return base::make_error(
          ErrorKind::kTooLarge,
          absl::StrCat("graph ", graph.name(), " with a batch of ", batch, " has a value of shape ",
                       node.shape.to_string(), ", which is larger than any device"));
    }
  }
  QUIESCE_RETURN_IF_ERROR(base::check_cpu());
  auto data = std::make_unique<PlanData>();
  Lowering(graph, batch).run(*data);
  return std::shared_ptr<const Plan>(new Plan(std::move(data)));
}

const Graph& Plan::graph() const { return data_->graph; }
int64_t Plan::batch() const { return data_->batch; }
size_t Plan::block_bytes() const { return data_->block_bytes; }
int Plan::kernels() const { return static_cast<int>(data_->steps.size()); }

std::string Plan::to_string() const {
  std::string text = absl::StrCat("plan of ", data_->graph.name(), " for a batch of ", data_->batch,
                                  ", block of ", data_->block_bytes, " bytes\n");
  static constexpr const char* kBases[] = {"block", "variables", "gradients", "slots", "feed"};
  for (const Step& step : data_->steps) {
    absl::StrAppend(&text, "  ", step.kernel->name);
    for (uint32_t i = 0; i < step.pointers; ++i) {
      const Place& place = data_->pointers[step.first_pointer + i].place;
      absl::StrAppend(&text, " ", kBases[static_cast<int>(place.base)]);
      if (place.base == Base::kFeed) {
        absl::StrAppend(&text, place.feed);
      } else {
        absl::StrAppend(&text, "+", place.bytes);
      }
    }
    text += "\n";
  }
  return text;
}

}  // namespace quiesce::exec
