// Running a plan: one block, one launch per step, copies for the fetches.

#include <cmath>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/make_error.h"
#include "base/status_macros.h"
#include "device/device.h"
#include "device/stream.h"
#include "exec/exec.h"
#include "exec/kernels/bodies/elementwise.h"
#include "exec/kernels/bodies/feed.h"
#include "exec/kernels/bodies/update.h"
#include "exec/plan_data.h"
#include "graph/ir.h"
#include "memory/allocator.h"

namespace quiesce::exec {
namespace {

// The run's one block; given back when the run has been enqueued, reusable by others when its last
// piece of work is complete.
class RunBlock {
 public:
  explicit RunBlock(const Context& context) : context_(context) {}
  ~RunBlock() {
    if (block_.data == nullptr) return;
    device::Point after;
    if (!context_.device->completes_at_once()) {
      absl::StatusOr<device::Point> point = context_.stream->record();
      if (point.ok()) {
        after = *point;
      } else if (!drained()) {
        return;  // kept, charged and named in reports: better than handing it out under queued work
      }
    }
    (void)context_.allocator->free(block_, after);
  }
  RunBlock(const RunBlock&) = delete;
  RunBlock& operator=(const RunBlock&) = delete;

  absl::Status allocate(uint64_t bytes) {
    if (bytes == 0) return absl::OkStatus();
    memory::Request request;
    request.account = context_.account;
    request.stream = context_.stream->id();
    request.label = "run";
    QUIESCE_ASSIGN_OR_RETURN(block_, context_.allocator->allocate(bytes, request));
    return absl::OkStatus();
  }
  std::byte* data() const { return static_cast<std::byte*>(block_.data); }

 private:
  // Whether no work is on the stream any more, after it refused to record a point.
  bool drained() const {
    return !context_.device->health().ok() ||
           context_.stream->synchronize(absl::Now() + absl::Seconds(10)).ok();
  }

  const Context& context_;
  memory::Block block_;
};

struct Bases {
  std::byte* block = nullptr;
  std::byte* variables = nullptr;
  std::byte* gradients = nullptr;
  std::byte* slots = nullptr;
  absl::InlinedVector<std::byte*, 4> feeds;

  std::byte* at(const Place& place) const {
    switch (place.base) {
      case Base::kBlock:
        return block + place.bytes;
      case Base::kVariables:
        return variables + place.bytes;
      case Base::kGradients:
        return gradients + place.bytes;
      case Base::kSlots:
        return slots + place.bytes;
      case Base::kFeed:
        return feeds[place.feed] + place.bytes;
    }
    return nullptr;
  }
};

std::byte* bytes_of(const void* data) {
  return const_cast<std::byte*>(static_cast<const std::byte*>(data));
}

// Whether the user's own array serves as the input, without a copy. Only where kernels read host
// memory at once: elsewhere it is brought over.
bool in_place(const PlanData& plan, int32_t input, const Feed& feed, const Context& context) {
  return feed.rows == nullptr && !plan.feeds[input].scaled &&
         feed.dtype == plan.graph.inputs()[input].dtype && context.device->completes_at_once();
}

absl::Status check_bindings(const PlanData& plan, const Bindings& bindings) {
  const auto missing = [&](const std::string& what) {
    return base::make_error(ErrorKind::kInvalidArgument,
                            absl::StrCat("a run of graph ", plan.graph.name(), " needs ", what));
  };
  if (bindings.feeds.size() != plan.feeds.size()) {
    return missing(absl::StrCat(plan.feeds.size(), " feeds, got ", bindings.feeds.size()));
  }
  for (size_t i = 0; i < plan.feeds.size(); ++i) {
    if (plan.feeds[i].needed && bindings.feeds[i].data == nullptr) {
      return missing("data for input " + plan.graph.inputs()[i].name);
    }
  }
  if (plan.reads_variables && bindings.variables == nullptr) return missing("its variables");
  if (plan.graph.has_update()) {
    if (bindings.gradients == nullptr) return missing("a gradient buffer");
    if (plan.graph.slots() > 0 && bindings.slots == nullptr) return missing("its optimizer slots");
    if (bindings.iteration < 1) return missing("iterations counted from 1");
  }
  for (const Fetch& fetch : bindings.fetches) {
    if (fetch.output < 0 || static_cast<size_t>(fetch.output) >= plan.outputs.size() ||
        fetch.destination == nullptr) {
      return missing("fetches of its own outputs, with a destination");
    }
  }
  return absl::OkStatus();
}

void set_update_rates(const UpdateRule& rule, const Bindings& bindings, kernels::UpdateArgs& args) {
  double rate = bindings.learning_rate;
  args.decay = static_cast<float>(rate * rule.weight_decay);
  if (rule.kind == UpdateRule::Kind::kAdam) {
    const auto t = static_cast<double>(bindings.iteration);
    rate *= std::sqrt(1.0 - std::pow(rule.beta_2, t)) / (1.0 - std::pow(rule.beta_1, t));
  }
  args.lr = static_cast<float>(rate);
}

}  // namespace

absl::Status run(const Plan& compiled, const Context& context, const Bindings& bindings) {
  const PlanData& plan = compiled.data();
  QUIESCE_RETURN_IF_ERROR(check_bindings(plan, bindings));
  RunBlock block(context);
  QUIESCE_RETURN_IF_ERROR(block.allocate(plan.block_bytes));

  Bases bases;
  bases.block = block.data();
  bases.variables = bytes_of(bindings.variables);
  bases.gradients = bytes_of(bindings.gradients);
  bases.slots = bytes_of(bindings.slots);
  for (size_t i = 0; i < plan.feeds.size(); ++i) {
    const auto input = static_cast<int32_t>(i);
    bases.feeds.push_back(!plan.feeds[i].needed ? nullptr
                          : in_place(plan, input, bindings.feeds[i], context)
                              ? bytes_of(bindings.feeds[i].data)
                              : bases.block + plan.feeds[i].block_at);
  }

  device::Stream& stream = *context.stream;
  for (const Step& step : plan.steps) {
    alignas(16) std::byte args[kMaxArgsBytes];
    const size_t args_bytes = step.kernel->args_bytes;
    std::memcpy(args, plan.args.data() + step.args_at, args_bytes);
    for (uint32_t i = 0; i < step.pointers; ++i) {
      const Pointer& pointer = plan.pointers[step.first_pointer + i];
      const std::byte* address = bases.at(pointer.place);
      std::memcpy(args + pointer.at, &address, sizeof(address));
    }
    switch (step.late) {
      case Late::kNothing:
        break;
      case Late::kFeed: {
        const Feed& feed = bindings.feeds[step.feed];
        if (in_place(plan, step.feed, feed, context)) continue;
        auto* feed_args = reinterpret_cast<kernels::FeedArgs*>(args);
        feed_args->data = feed.data;
        feed_args->rows = feed.rows;
        feed_args->from = static_cast<uint32_t>(feed.dtype);
        break;
      }
      case Late::kSeed:
        reinterpret_cast<kernels::DropoutArgs*>(args)->seed = bindings.seed;
        break;
      case Late::kUpdate:
        set_update_rates(plan.graph.ir().update, bindings,
                         *reinterpret_cast<kernels::UpdateArgs*>(args));
        break;
    }
    QUIESCE_RETURN_IF_ERROR(stream.launch(*step.kernel, args, args_bytes));
  }
  for (const Fetch& fetch : bindings.fetches) {
    const OutputPlan& output = plan.outputs[fetch.output];
    QUIESCE_RETURN_IF_ERROR(stream.copy(fetch.destination, bases.at(output.place), output.bytes));
  }
  return absl::OkStatus();
}

absl::Status fill_zero(const Context& context, void* data, size_t bytes) {
  return context.stream->fill(data, 0, bytes);
}

}  // namespace quiesce::exec
