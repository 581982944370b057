#include <cstddef>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "quiesce/trials.h"
#include "trials/hash_random.h"
#include "trials/params.h"

namespace quiesce {
namespace {

class GridSampler final : public Sampler {
 public:
  std::string_view name() const override { return "grid"; }

  std::optional<int64_t> size(const SearchSpace& space) const override { return space.grid_size(); }

  absl::StatusOr<std::vector<Param>> suggest(const SearchSpace& space, uint64_t /*study_seed*/,
                                             int64_t number) const override {
    if (number < 0 || number >= space.grid_size()) {
      return base::make_error(
          ErrorKind::kInvalidArgument,
          absl::StrCat("trial ", number, " is outside a grid of ", space.grid_size(), " points"));
    }
    // The number in mixed radix, the last dimension being the lowest digit.
    const std::vector<Dimension>& dimensions = space.dimensions();
    std::vector<Param> params(dimensions.size());
    auto rest = static_cast<uint64_t>(number);
    for (size_t i = dimensions.size(); i-- > 0;) {
      const uint64_t points = trials::grid_points(dimensions[i]);
      params[i] = {dimensions[i].name, trials::grid_value(dimensions[i], rest % points)};
      rest /= points;
    }
    return params;
  }
};

class RandomSampler final : public Sampler {
 public:
  std::string_view name() const override { return "random"; }

  std::optional<int64_t> size(const SearchSpace& /*space*/) const override { return std::nullopt; }

  absl::StatusOr<std::vector<Param>> suggest(const SearchSpace& space, uint64_t study_seed,
                                             int64_t number) const override {
    std::vector<Param> params;
    for (const Dimension& dimension : space.dimensions()) {
      const uint64_t bits = trials::hash(study_seed, static_cast<uint64_t>(number), params.size());
      params.push_back({dimension.name, trials::random_value(dimension, bits)});
    }
    return params;
  }
};

}  // namespace

Sampler::~Sampler() = default;

std::shared_ptr<const Sampler> grid_sampler() { return std::make_shared<const GridSampler>(); }

std::shared_ptr<const Sampler> random_sampler() { return std::make_shared<const RandomSampler>(); }

}  // namespace quiesce
