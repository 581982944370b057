// The program of the README: a network learns clothes in a session of its own, and everything is
// given back. Usage: quickstart [SAMPLES]
#include <cstdio>
#include <cstdlib>

#include "quiesce/quiesce.h"

namespace qs = quiesce;

int main(int argc, char** argv) {
  const int64_t samples = argc > 1 ? std::atoll(argv[1]) : 60000;
  const qs::LabeledImages data = qs::load_fashion_mnist().value();
  {
    qs::Session session = qs::Runtime::process().new_session({.name = "quickstart", .seed = 1}).value();
    qs::Lease lease = session.lease("training");  // no clear ends what is under it
    qs::SessionScope scope(lease);
    qs::Sequential model = qs::Sequential::create({
        qs::Rescaling(1.0 / 255, 0, {.input_shape = {28, 28}}),
        qs::Flatten(),
        qs::Dense(128, {.activation = qs::kRelu}),
        qs::Dense(10, {.activation = qs::kSoftmax})}).value();
    model.compile({.optimizer = qs::Adam(1e-3), .loss = qs::kSparseCategoricalCrossentropy, .metrics = {"accuracy"}});
    model.fit(data.x_train.rows(0, samples), data.y_train.rows(0, samples), {.batch_size = 128, .epochs = 2, .verbose = 2}).value();
    std::printf("test accuracy %.4f\n", model.evaluate(data.x_test, data.y_test).value()["accuracy"]);
  }
  std::printf("%s", qs::clear_session({.memory = qs::ReleaseMemory::kToDriver}).value().to_string().c_str());
}
