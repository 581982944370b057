// Host loops over one element per index: the bodies, turned into vector code by the compiler.

#include "exec/kernels/bodies/list.h"
#include "exec/kernels/host/loops.h"

#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"  // an unoptimised build has no vector code
#define QUIESCE_VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#else
#define QUIESCE_VECTORIZE _Pragma("GCC ivdep")
#endif

namespace quiesce::exec::kernels {
namespace {

template <typename Body>
inline void loop(const void* args) {
  const typename Body::Args a = *static_cast<const typename Body::Args*>(args);
  const uint64_t count = Body::count(a);
  QUIESCE_VECTORIZE
  for (uint64_t i = 0; i < count; ++i) Body::run(a, i);
}

}  // namespace

#define QUIESCE_LOOP(name, Body) \
  void host::name(const void* args) { loop<Body>(args); }
QUIESCE_ELEMENT_KERNELS(QUIESCE_LOOP)
#undef QUIESCE_LOOP

}  // namespace quiesce::exec::kernels
