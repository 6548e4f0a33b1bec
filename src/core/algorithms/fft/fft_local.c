/* SPDX-License-Identifier: MIT
 *
 * Lines that are complete on each rank: one kernel for all of them. */
#include "core/algorithms/fft/fft.h"

#include "ht/manipulations.h"

ht_dtype ht__fft_complex(ht_dtype dtype)
{
    return dtype == HT_FLOAT32 ? HT_COMPLEX64 : dtype == HT_FLOAT64 ? HT_COMPLEX128 : dtype;
}

static ht_dtype result_dtype(const ht_fft_line *t, ht_dtype dtype)
{
    if (t->kernel != HT_KERNEL_FFT_HERMITIAN)
        return ht__fft_complex(dtype);
    return dtype == HT_COMPLEX64 ? HT_FLOAT32 : HT_FLOAT64;
}

ht_tensor *ht__fft_result(const ht_fft_line *t, const ht_tensor *x)
{
    const ht_body *from = x->body;
    int64_t shape[HT_MAX_NDIM];

    for (int i = 0; i < from->ndim; i++)
        shape[i] = i == t->axis ? ht__fft_length(t, true) : from->shape[i];
    return ht__tensor_new(ht__body_new(t->what, from->comm, from->storage->device,
                                       result_dtype(t, from->dtype), from->ndim, shape, from->split,
                                       from->split == t->axis ? NULL : from->bounds));
}

ht_tensor *ht__fft_local(const ht_fft_line *t, ht_tensor *x, bool owned)
{
    ht_tensor *in = x != NULL ? ht_contiguous(x) : NULL, *out;
    ht_fft_call call = {
        .call.operands = 2, .outer = 1, .n = t->n, .inner = 1, .sign = t->sign, .scale = t->scale};

    if (in == NULL)
        return NULL;
    out = (owned || in != x) && t->kernel == HT_KERNEL_FFT_COMPLEX ? in : ht__fft_result(t, in);
    if (out == NULL)
        return NULL;
    for (int i = 0; i < t->axis; i++)
        call.outer *= in->body->lshape[i];
    for (int i = t->axis + 1; i < in->body->ndim; i++)
        call.inner *= in->body->lshape[i];
    if (in->body->lsize == 0)
        return out;
    call.in = ht__operand_of(in->body, HT_READ);
    call.out = ht__operand_of(out->body, HT_WRITE);
    ht__storage_touch(out->body->storage);
    if (HT_LAUNCH(out->body->comm, out->body->storage->device, t->kernel,
                  ht__fft_complex(in->body->dtype), &call, t->what) != HT_SUCCESS)
        return NULL;
    return out;
}
