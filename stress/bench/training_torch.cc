// libtorch as the training group's peer.

#include <dlfcn.h>
#include <torch/torch.h>

#include <cstdio>

#include "stress/bench/training_peer.h"

namespace quiesce::bench {
namespace {

// Debian's libtorch takes whatever BLAS is installed. With the reference one it is ten times slower
// than it need be, and then the comparison says nothing.
void settle_blas() {
  if (void* set_threads = dlsym(RTLD_DEFAULT, "openblas_set_num_threads")) {
    reinterpret_cast<void (*)(int)>(set_threads)(1);
  } else {
    std::fprintf(stderr,
                 "bench: libtorch runs without OpenBLAS here, so its figures are far too slow; "
                 "install libopenblas0-serial for a fair peer\n");
  }
}

class TorchPeer : public TrainingPeer {
 public:
  TorchPeer(const uint8_t* images, const uint8_t* labels, int64_t samples)
      : hidden_(784, 128), output_(128, 10) {
    at::set_num_threads(1);
    settle_blas();
    torch::manual_seed(1);
    // Scaled once, ahead of time: it costs the peer nothing per step.
    x_ = torch::from_blob(const_cast<uint8_t*>(images), {samples, 784}, torch::kUInt8)
             .to(torch::kFloat32)
             .div_(255.0f);
    y_ = torch::from_blob(const_cast<uint8_t*>(labels), {samples}, torch::kUInt8).to(torch::kInt64);
    std::vector<torch::Tensor> parameters = hidden_->parameters();
    for (torch::Tensor& each : output_->parameters()) parameters.push_back(each);
    adam_ = std::make_unique<torch::optim::Adam>(parameters, torch::optim::AdamOptions(1e-3));
  }

  void train(int64_t samples, int64_t batch) override {
    const torch::Tensor order = torch::randperm(samples, torch::kInt64);
    double total = 0;
    for (int64_t at = 0; at < samples; at += batch) {
      const torch::Tensor rows = order.slice(0, at, std::min(samples, at + batch));
      const torch::Tensor x = x_.index_select(0, rows);
      const torch::Tensor y = y_.index_select(0, rows);
      adam_->zero_grad();
      const torch::Tensor loss = torch::nn::functional::cross_entropy(forward(x), y);
      loss.backward();
      adam_->step();
      total += loss.item<float>();
    }
    (void)total;
  }

  void predict_one() override {
    torch::InferenceMode inference;
    const torch::Tensor p = torch::softmax(forward(x_.slice(0, 0, 1)), 1);
    volatile float first = p.data_ptr<float>()[0];
    (void)first;
  }

 private:
  torch::Tensor forward(const torch::Tensor& x) {
    return output_->forward(torch::relu(hidden_->forward(x)));
  }

  torch::nn::Linear hidden_;
  torch::nn::Linear output_;
  torch::Tensor x_;
  torch::Tensor y_;
  std::unique_ptr<torch::optim::Adam> adam_;
};

}  // namespace

std::unique_ptr<TrainingPeer> make_torch_peer(const uint8_t* images, const uint8_t* labels,
                                              int64_t samples) {
  return std::make_unique<TorchPeer>(images, labels, samples);
}

}  // namespace quiesce::bench
