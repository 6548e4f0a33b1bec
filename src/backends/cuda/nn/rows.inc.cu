/* SPDX-License-Identifier: MIT
 *
 * Template: rows of a dtype, as backends/cpu/nn/rows.inc.c. */
#include "backends/cuda/nn/softmax.inc.cu"

/* The sum of x times `also`, which is as large as x. */
struct NAME(row_products) : ht_cuda_sum_fold<NAME(shifted)>, ht_cuda_two_inputs<T> {
    static __forceinline__ __device__ acc start(const ht_cuda_reduction &, int64_t, int64_t)
    {
        return {0, 0};
    }
    static __forceinline__ __device__ void step(acc &a, const ht_cuda_reduction &, const item &x,
                                                int64_t)
    {
        a.sum += (double)(LOAD(x.x) * LOAD(x.also));
    }
    static __forceinline__ __device__ void put(const ht_cuda_reduction &r, int64_t o, const acc &a)
    {
        static_cast<C *>(r.y)[o] = (C)a.sum;
    }
};

/* The logarithm of the sum in the exponent would round a number as large as x - max. */
static __global__ void NAME(softmax)(int64_t work, ht_cuda_length columns, const T *x, const C *max,
                                     const C *sum, T *y)
{
    HT_CUDA_EACH(i, work)
    {
        const int64_t row = ht_cuda_quotient(i, columns);

        y[i] = STORE(HT_MATH(exp, LOAD(x[i]) - max[row]) / sum[row]);
    }
}

static __global__ void NAME(softmax_grad)(int64_t work, ht_cuda_length columns, const T *dy,
                                          const T *y, const C *sum, T *dx)
{
    HT_CUDA_EACH(i, work)
    {
        dx[i] = STORE(LOAD(y[i]) * (LOAD(dy[i]) - sum[ht_cuda_quotient(i, columns)]));
    }
}

static __global__ void NAME(log_softmax)(int64_t work, ht_cuda_length columns, const T *x,
                                         const C *max, const C *log_sum, T *y)
{
    HT_CUDA_EACH(i, work)
    {
        const int64_t row = ht_cuda_quotient(i, columns);

        y[i] = STORE(LOAD(x[i]) - max[row] - log_sum[row]);
    }
}

static __global__ void NAME(log_softmax_grad)(int64_t work, ht_cuda_length columns, const T *dy,
                                              const T *y, const C *sum, T *dx)
{
    HT_CUDA_EACH(i, work)
    {
        dx[i] = STORE(LOAD(dy[i]) - HT_MATH(exp, LOAD(y[i])) * sum[ht_cuda_quotient(i, columns)]);
    }
}

/* y of each element, from the largest of its row and the sum of exponentials, or its logarithm. */
static int NAME(rows_forward)(void *stream, const ht_kernel_call *call, int kind,
                              void (*map)(int64_t, ht_cuda_length, const T *, const C *, const C *,
                                          T *))
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const ht_rows_call *rows = (const ht_rows_call *)call;
    const int64_t work = rows->rows * rows->columns;

    if (work == 0)
        return 0;
    return ht_cuda_with_scratch<C>(device, call, 2 * (size_t)rows->rows, [=](C *max) {
        C *sum = max + rows->rows;
        const int failed = NAME(row_statistics)(device, kind, rows->rows, rows->columns,
                                                rows->x.data, max, sum, call->what);

        if (failed == 0)
            HT_CUDA_LAUNCH_EACH(device, map, work, ht_cuda_length_of(rows->columns, work),
                                static_cast<const T *>(rows->x.data), static_cast<const C *>(max),
                                static_cast<const C *>(sum), static_cast<T *>(rows->y.data));
        return failed;
    });
}

/* dx of each element, from dy, y, and the sum of dy, or of dy y, over its row. */
static int NAME(rows_backward)(void *stream, const ht_kernel_call *call, bool products,
                               void (*map)(int64_t, ht_cuda_length, const T *, const T *, const C *,
                                           T *))
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const ht_rows_call *rows = (const ht_rows_call *)call;
    const int64_t work = rows->rows * rows->columns;

    if (work == 0)
        return 0;
    return ht_cuda_with_scratch<C>(device, call, (size_t)rows->rows, [=](C *sum) {
        ht_cuda_reduction r = ht_cuda_over_columns(rows->rows, rows->columns, rows->dy.data, sum);

        r.also = products ? rows->y.data : NULL;
        const int failed = ht_cuda_launch_reduction(device, &r,
                                                    products
                                                        ? ht_cuda_fold_kernels<NAME(row_products)>()
                                                        : ht_cuda_fold_kernels<NAME(row_sum)>(),
                                                    call->what);

        if (failed == 0)
            HT_CUDA_LAUNCH_EACH(device, map, work, ht_cuda_length_of(rows->columns, work),
                                static_cast<const T *>(rows->dy.data),
                                static_cast<const T *>(rows->y.data), static_cast<const C *>(sum),
                                static_cast<T *>(rows->x.data));
        return failed;
    });
}

static int NAME(softmax_forward)(void *stream, const ht_kernel_call *call)
{
    return NAME(rows_forward)(stream, call, HT_CUDA_SUM, NAME(softmax));
}

/* dx = y (dy - sum(dy y)) */
static int NAME(softmax_backward)(void *stream, const ht_kernel_call *call)
{
    return NAME(rows_backward)(stream, call, true, NAME(softmax_grad));
}

static int NAME(log_softmax_forward)(void *stream, const ht_kernel_call *call)
{
    return NAME(rows_forward)(stream, call, HT_CUDA_LOG_SUM, NAME(log_softmax));
}

/* dx = dy - exp(y) sum(dy) */
static int NAME(log_softmax_backward)(void *stream, const ht_kernel_call *call)
{
    return NAME(rows_backward)(stream, call, false, NAME(log_softmax_grad));
}

static __global__ void NAME(nll)(int64_t work, ht_cuda_targets t, const T *x, T *y)
{
    HT_CUDA_EACH(row, work)
    {
        int64_t column;

        y[row] = STORE(ht_cuda_target(t, row, &column) ? -LOAD(x[row * t.columns + column]) : 0);
    }
}

/* A target outside of the columns is an error of the forward pass. */
static __global__ void NAME(nll_grad)(int64_t work, ht_cuda_length columns, ht_cuda_targets t,
                                      const T *dy, T *dx)
{
    HT_CUDA_EACH(i, work)
    {
        int64_t column;
        const int64_t row = ht_cuda_divide(i, columns, &column), target = t.target[row];

        dx[i] = target != t.ignore && target == column ? STORE(-LOAD(dy[row])) : 0;
    }
}

static int NAME(nll_forward)(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const ht_rows_call *rows = (const ht_rows_call *)call;

    if (rows->rows == 0)
        return 0;
    if (ht_cuda_begin(device, call) != 0)
        return 1;
    ht_cuda_targets targets = targets_of(device, rows);

    ht_cuda_fault_begin(device, &targets);
    HT_CUDA_LAUNCH_EACH(device, NAME(nll), rows->rows, targets,
                        static_cast<const T *>(rows->x.data), static_cast<T *>(rows->y.data));
    ht_cuda_fault_end(device, targets);
    return ht_cuda_end(device, call);
}

static int NAME(nll_backward)(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const ht_rows_call *rows = (const ht_rows_call *)call;
    const int64_t work = rows->rows * rows->columns;

    if (work == 0)
        return 0;
    if (ht_cuda_begin(device, call) != 0)
        return 1;
    HT_CUDA_LAUNCH_EACH(device, NAME(nll_grad), work, ht_cuda_length_of(rows->columns, work),
                        targets_of(device, rows), static_cast<const T *>(rows->dy.data),
                        static_cast<T *>(rows->x.data));
    return ht_cuda_end(device, call);
}

/* stats (2, rows) <- the largest element, and the logarithm of the sum of exponentials. */
static __global__ void NAME(cross_entropy)(int64_t rows, ht_cuda_targets t, const T *x,
                                           const C *max, const C *log_sum, double *stats, T *loss)
{
    HT_CUDA_EACH(row, rows)
    {
        int64_t column;
        C value = 0;

        stats[row] = (double)max[row];
        stats[rows + row] = (double)log_sum[row];
        if (ht_cuda_target(t, row, &column))
            value = -(LOAD(x[row * t.columns + column]) - max[row] - log_sum[row]);
        loss[row] = STORE(value);
    }
}

static int NAME(cross_entropy_forward)(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const ht_cross_entropy_call *c = (const ht_cross_entropy_call *)call;

    if (c->rows == 0)
        return 0;
    if (c->columns == 0)
        return HT_KERNEL_REFUSED;
    return ht_cuda_with_scratch<C>(device, call, 2 * (size_t)c->rows, [=](C *max) {
        ht_cuda_targets targets = ht_cuda_targets_of(device, c->target.data, c->columns, c->ignore,
                                                     call->what);
        C *log_sum = max + c->rows;
        const int failed = NAME(row_statistics)(device, HT_CUDA_LOG_SUM, c->rows, c->columns,
                                                c->x.data, max, log_sum, call->what);

        if (failed != 0)
            return failed;
        ht_cuda_fault_begin(device, &targets);
        HT_CUDA_LAUNCH_EACH(device, NAME(cross_entropy), c->rows, targets,
                            static_cast<const T *>(c->x.data), static_cast<const C *>(max),
                            static_cast<const C *>(log_sum), static_cast<double *>(c->stats.data),
                            static_cast<T *>(c->loss.data));
        ht_cuda_fault_end(device, targets);
        return 0;
    });
}

static __global__ void NAME(cross_entropy_grad)(int64_t work, ht_cuda_length columns,
                                                ht_cuda_targets t, int64_t rows, const T *x,
                                                const double *stats, const T *dloss, T *dx)
{
    HT_CUDA_EACH(i, work)
    {
        int64_t column;
        const int64_t row = ht_cuda_divide(i, columns, &column), target = t.target[row];
        const C g = LOAD(dloss[row]);
        const C p = HT_MATH(exp, LOAD(x[i]) - (C)stats[row] - (C)stats[rows + row]) * g;

        if (target == t.ignore || target < 0 || target >= t.columns)
            dx[i] = STORE(0);
        else
            dx[i] = STORE(target == column ? p - g : p);
    }
}

static int NAME(cross_entropy_backward)(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const ht_cross_entropy_call *c = (const ht_cross_entropy_call *)call;
    const int64_t work = c->rows * c->columns;

    if (work == 0)
        return 0;
    if (ht_cuda_begin(device, call) != 0)
        return 1;
    HT_CUDA_LAUNCH_EACH(
        device, NAME(cross_entropy_grad), work, ht_cuda_length_of(c->columns, work),
        ht_cuda_targets_of(device, c->target.data, c->columns, c->ignore, call->what), c->rows,
        static_cast<const T *>(c->x.data), static_cast<const double *>(c->stats.data),
        static_cast<const T *>(c->dloss.data), static_cast<T *>(c->dx.data));
    return ht_cuda_end(device, call);
}

static void NAME(add_rows)(ht_backend *backend)
{
    ht_cuda_add(backend, "SOFTMAX_FORWARD", ID, NAME(softmax_forward));
    ht_cuda_add(backend, "SOFTMAX_BACKWARD", ID, NAME(softmax_backward));
    ht_cuda_add(backend, "LOG_SOFTMAX_FORWARD", ID, NAME(log_softmax_forward));
    ht_cuda_add(backend, "LOG_SOFTMAX_BACKWARD", ID, NAME(log_softmax_backward));
    ht_cuda_add(backend, "NLL_FORWARD", ID, NAME(nll_forward));
    ht_cuda_add(backend, "NLL_BACKWARD", ID, NAME(nll_backward));
    ht_cuda_add(backend, "CROSS_ENTROPY_FORWARD", ID, NAME(cross_entropy_forward));
    ht_cuda_add(backend, "CROSS_ENTROPY_BACKWARD", ID, NAME(cross_entropy_backward));
}
