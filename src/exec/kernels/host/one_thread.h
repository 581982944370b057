#ifndef QUIESCE_EXEC_KERNELS_HOST_ONE_THREAD_H_
#define QUIESCE_EXEC_KERNELS_HOST_ONE_THREAD_H_

// oneDNN's OpenMP runtime, whose header is another compiler's.
extern "C" {
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);
}

namespace quiesce::exec::kernels {

// While it lives, OpenMP regions entered by this thread have one thread: runs of many sessions
// share the cores among themselves, and sums keep one order. The caller's own setting comes back.
// Thread word: thread-bound.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const int before_;
};

}  // namespace quiesce::exec::kernels

#endif  // QUIESCE_EXEC_KERNELS_HOST_ONE_THREAD_H_
