#include <cstdio>

#include "quiesce/quiesce.h"
namespace qs = quiesce;

int main() {
  const qs::LabeledImages data = qs::load_fashion_mnist().value();
  {
    qs::Session trial = qs::Runtime::process().new_session({.name = "trial-1", .seed = 1}).value();
    qs::Lease lease = trial.lease("quick start").value();  // no clear ends what is done under it
    qs::SessionScope scope(lease);                         // this thread works in that session
    auto model = qs::Sequential::create({qs::Rescaling(1.0 / 255, 0, {.input_shape = {28, 28}}),
                                         qs::Flatten(), qs::Dense(128, {.activation = qs::kRelu}),
                                         qs::Dense(10, {.activation = qs::kSoftmax})}).value();
    auto compiled = model.compile({.optimizer = qs::Adam(1e-3),
                                   .loss = qs::kSparseCategoricalCrossentropy,
                                   .metrics = {"accuracy"}});
    if (!compiled.ok()) return 1;
    model.fit(data.x_train, data.y_train, {.batch_size = 128, .epochs = 2, .verbose = 2}).value();
    auto test = model.evaluate(data.x_test, data.y_test).value();
    std::printf("test accuracy %.3f\n", test["accuracy"]);
  }
  auto report = qs::clear_session({.memory = qs::ReleaseMemory::kToDriver}).value();
  std::printf("%s", report.to_string().c_str());
}
