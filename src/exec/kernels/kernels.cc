// Ties each kernel's name, argument struct, spans and host loop together.

#include "exec/kernels/kernels.h"

#include "exec/kernels/bodies/dense.h"
#include "exec/kernels/bodies/list.h"
#include "exec/kernels/host/loops.h"

namespace quiesce::exec::kernels {
namespace {

template <typename Body>
void spans_of(const void* args, device::SpanSink& sink) {
  Body::spans(*static_cast<const typename Body::Args*>(args), sink);
}

template <typename Args>
void dense_spans_of(const void* args, device::SpanSink& sink) {
  DenseSpans::spans(*static_cast<const Args*>(args), sink);
}

template <typename Args>
constexpr bool kPlain = std::is_trivially_copyable_v<Args>&& std::is_standard_layout_v<Args>;

#define QUIESCE_CHECK_ARGS(name, Body) static_assert(kPlain<Body::Args>);
QUIESCE_ELEMENT_KERNELS(QUIESCE_CHECK_ARGS)
QUIESCE_ROW_KERNELS(QUIESCE_CHECK_ARGS)
#undef QUIESCE_CHECK_ARGS

}  // namespace

#define QUIESCE_KERNEL(name, Body) \
  .name = {#name, sizeof(Body::Args), &host::name, &spans_of<Body>},

constinit const KernelTable kKernels = {
    QUIESCE_ELEMENT_KERNELS(QUIESCE_KERNEL) QUIESCE_ROW_KERNELS(QUIESCE_KERNEL)
        .dense = {"dense", sizeof(DenseArgs), &host::dense, &dense_spans_of<DenseArgs>},
    .dense_grad_input = {"dense_grad_input", sizeof(DenseGradInputArgs), &host::dense_grad_input,
                         &dense_spans_of<DenseGradInputArgs>},
    .dense_grad_weight = {"dense_grad_weight", sizeof(DenseGradWeightArgs),
                          &host::dense_grad_weight, &dense_spans_of<DenseGradWeightArgs>},
};
#undef QUIESCE_KERNEL

}  // namespace quiesce::exec::kernels
