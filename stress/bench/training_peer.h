// What the training group asks of a peer, so that the peer's headers stay in a unit of their own.
#ifndef QUIESCE_STRESS_BENCH_TRAINING_PEER_H_
#define QUIESCE_STRESS_BENCH_TRAINING_PEER_H_

#include <cstdint>
#include <memory>

namespace quiesce::bench {

// An MLP 784-128-relu-10 with Adam 1e-3 on `samples` images of bytes, on one thread.
class TrainingPeer {
 public:
  virtual ~TrainingPeer() = default;
  // One pass over the first `samples` images, shuffled.
  virtual void train(int64_t samples, int64_t batch) = 0;
  virtual void predict_one() = 0;
};

// Null when the bench was built without libtorch.
std::unique_ptr<TrainingPeer> make_torch_peer(const uint8_t* images, const uint8_t* labels,
                                              int64_t samples);

}  // namespace quiesce::bench

#endif  // QUIESCE_STRESS_BENCH_TRAINING_PEER_H_
