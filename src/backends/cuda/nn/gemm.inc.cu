/* SPDX-License-Identifier: MIT
 *
 * Template: products of a dtype. 16-bit results are rounded once: a bias is in c before the product
 * is added. */

#if HT_IS_FLOAT
/* c = relu(c + bias) as far as these are asked for; with `replace`, c = bias. */
static __global__ void NAME(put_bias)(int64_t work, ht_gemm_call g, c_lengths lengths,
                                      const T *bias, T *c, bool replace, bool relu)
{
    HT_CUDA_EACH(i, work)
    {
        int64_t row, column;
        const int64_t batch = find_element(lengths, i, &row, &column);
        T *at = c + batch * g.c_step + row * g.ldc + column;
        const C sum = (replace ? (C)0 : LOAD(*at)) + (bias != NULL ? LOAD(bias[column]) : (C)0);

        *at = STORE(relu && sum < 0 ? (C)0 : sum);
    }
}

#endif

#if !HT_IS_BOOL
static __global__ void NAME(plain_product)(int64_t work, ht_gemm_call g, c_lengths lengths,
                                           const T *a, const T *b, T *c)
{
    const int64_t a_row = g.trans_a ? 1 : g.lda, a_next = g.trans_a ? g.lda : 1;
    const int64_t b_column = g.trans_b ? g.ldb : 1, b_next = g.trans_b ? 1 : g.ldb;

    HT_CUDA_EACH(i, work)
    {
        int64_t row, column;
        const int64_t batch = find_element(lengths, i, &row, &column);
        const T *x = a + batch * g.a_step + row * a_row;
        const T *y = b + batch * g.b_step + column * b_column;
        T *at = c + batch * g.c_step + row * g.ldc + column;
        WRAP sum = 0;

        for (int64_t k = 0; k < g.k; k++)
            sum += (WRAP)LOAD(x[k * a_next]) * (WRAP)LOAD(y[k * b_next]);
        sum = scaled(sum, g.alpha);
        *at = STORE(g.beta != 0 ? (WRAP)(sum + scaled((WRAP)LOAD(*at), g.beta)) : sum);
    }
}

#if HT_IS_FLOAT
static int NAME(multiply)(const ht_cuda_device *device, const ht_gemm_call *call)
{
    ht_gemm_call g = *call;
    const int64_t work = g.batch * g.m * g.n;
    const c_lengths lengths = lengths_of(call);
    const T *bias = static_cast<const T *>(g.bias.data);
    const bool relu = g.epilogue == HT_EPILOGUE_RELU, first = bias != NULL && g.beta == 0;
    T *c = static_cast<T *>(g.c.data);
    int failed = 0;

    if (first) {
        HT_CUDA_LAUNCH_EACH(device, NAME(put_bias), work, g, lengths, bias, c, true, false);
        g.beta = 1;
    }
    void *blas = ht_cuda_handle_get(device->blas, device);

    if (blas != NULL) {
        const ht_cuda_product p = transposed(&g);

        failed = multiply_by_blas(device, blas, &p, g.call.what);
    } else {
        HT_CUDA_LAUNCH_EACH(device, NAME(plain_product), work, g, lengths,
                            static_cast<const T *>(g.a.data), static_cast<const T *>(g.b.data), c);
    }
    if (failed == 0 && ((bias != NULL && !first) || relu))
        HT_CUDA_LAUNCH_EACH(device, NAME(put_bias), work, g, lengths,
                            first ? (const T *)NULL : bias, c, false, relu);
    return failed;
}

#else
/* Without bias and epilogue. */
static int NAME(multiply)(const ht_cuda_device *device, const ht_gemm_call *g)
{
    HT_CUDA_LAUNCH_EACH(device, NAME(plain_product), g->batch * g->m * g->n, *g, lengths_of(g),
                        static_cast<const T *>(g->a.data), static_cast<const T *>(g->b.data),
                        static_cast<T *>(g->c.data));
    return 0;
}
#endif

static int NAME(gemm)(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const ht_gemm_call *g = (const ht_gemm_call *)call;

    if (g->compute != (HT_IS_HALF ? HT_FLOAT32 : ID) ||
        (g->epilogue != HT_EPILOGUE_NONE && (g->epilogue != HT_EPILOGUE_RELU || !HT_IS_FLOAT)) ||
        (g->bias.data != NULL && !HT_IS_FLOAT))
        return HT_KERNEL_REFUSED;
    if (g->batch * g->m * g->n == 0)
        return 0;
    if (ht_cuda_begin(device, call) != 0 || NAME(multiply)(device, g) != 0)
        return 1;
    return ht_cuda_end(device, call);
}
#endif
