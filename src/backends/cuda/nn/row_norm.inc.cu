/* SPDX-License-Identifier: MIT
 *
 * Template: normalisation of rows of a dtype, as backends/cpu/nn/row_norm.inc.c. */

/* The mean of a row, and 1 / sqrt(variance + eps), with eps in `divisor`. */
struct NAME(row_moments) : ht_cuda_moments_fold, ht_cuda_one_input<T> {
    static __forceinline__ __device__ acc start(const ht_cuda_reduction &r, int64_t, int64_t at)
    {
        const double first = r.kind == ABOUT_MEAN && r.reduced.count > 0 ? (double)LOAD(get(r, at))
                                                                         : 0;

        return ht_cuda_moments_start(first);
    }
    static __forceinline__ __device__ void step(acc &a, const ht_cuda_reduction &r, const item &x,
                                                int64_t)
    {
        ht_cuda_moments_step(a, (double)LOAD(x));
        a.sum = r.kind == ABOUT_ZERO ? 0 : a.sum;
    }
    static __forceinline__ __device__ void put(const ht_cuda_reduction &r, int64_t o, const acc &a)
    {
        ht_cuda_put_two(r, o, ht_cuda_moments_mean(a), 1 / sqrt(a.squares / a.n + r.divisor));
    }
};

static __forceinline__ __device__ C NAME(parameter)(const void *from, int64_t i, C absent)
{
    return from != NULL ? LOAD(static_cast<const T *>(from)[i]) : absent;
}

static __global__ void NAME(row_norm)(int64_t work, row_norm_job job)
{
    const ht_row_norm_call &n = job.call;
    const int64_t rows = n.outer * n.groups;
    const double *stats = static_cast<const double *>(n.stats.data);
    const T *x = static_cast<const T *>(n.x.data);
    T *y = static_cast<T *>(n.y.data);

    HT_CUDA_EACH(i, work)
    {
        int64_t row;
        const int64_t at = find_parameter(job, i, &row);
        const C weight = NAME(parameter)(n.weight.data, at, 1);
        const C bias = NAME(parameter)(n.bias.data, at, 0);

        y[i] = STORE((LOAD(x[i]) - (C)stats[row]) * (C)stats[rows + row] * weight + bias);
    }
}

static int NAME(row_norm_forward)(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const ht_row_norm_call *n = (const ht_row_norm_call *)call;
    const int64_t work = rows_of(n) * row_length(n);
    ht_cuda_reduction r = over_rows(n, n->x.data, n->stats.data);

    if (work == 0)
        return 0;
    r.divisor = n->eps;
    if (ht_cuda_begin(device, call) != 0 ||
        ht_cuda_launch_reduction(device, &r, ht_cuda_fold_kernels<NAME(row_moments)>(),
                                 call->what) != 0)
        return 1;
    HT_CUDA_LAUNCH_EACH(device, NAME(row_norm), work, job_of(n));
    return ht_cuda_end(device, call);
}

/* With d = (x - mean) invstd, dy weight and dy weight d; or dy and dy d. */
static __forceinline__ __device__ ht_cuda_two_sums NAME(dy_at)(const row_norm_job &job, int64_t at,
                                                               bool weighted)
{
    const ht_row_norm_call &n = job.call;
    int64_t row;
    const int64_t parameter = find_parameter(job, at, &row);
    const double *stats = static_cast<const double *>(n.stats.data);
    const double d = ((double)LOAD(static_cast<const T *>(n.x.data)[at]) - stats[row]) *
                     stats[n.outer * n.groups + row];
    const double dy = (double)LOAD(static_cast<const T *>(n.y.data)[at]) *
                      (weighted ? (double)NAME(parameter)(n.weight.data, parameter, 1) : 1);

    return {dy, dy * d};
}

/* Sums of dy_at over a row, by its weights, or over all rows. The job is in `extra`; y (2, outputs). */
template <bool weighted> struct NAME(dy_fold) : ht_cuda_sum_fold<ht_cuda_two_sums> {
    typedef ht_cuda_two_sums item;
    static __forceinline__ __device__ item get(const ht_cuda_reduction &r, int64_t at)
    {
        return NAME(dy_at)(*static_cast<const row_norm_job *>(r.extra), at, weighted);
    }
    static __forceinline__ __device__ void step(acc &a, const ht_cuda_reduction &, const item &x,
                                                int64_t)
    {
        a += x;
    }
    static __forceinline__ __device__ void put(const ht_cuda_reduction &r, int64_t o, const acc &a)
    {
        ht_cuda_put_two(r, o, a.first, a.second);
    }
};

/* sums (2, rows): of dy_fold. */
static __global__ void NAME(row_norm_grad)(int64_t work, row_norm_job job, const double *sums)
{
    const ht_row_norm_call &n = job.call;
    const int64_t rows = n.outer * n.groups;
    const double length = (double)(n.channels * n.inner);
    const double *stats = static_cast<const double *>(n.stats.data);
    const T *x = static_cast<const T *>(n.x.data), *dy = static_cast<const T *>(n.y.data);
    T *dx = static_cast<T *>(n.dx.data);

    HT_CUDA_EACH(i, work)
    {
        int64_t row;
        const int64_t at = find_parameter(job, i, &row);
        const double invstd = stats[rows + row];
        const C first = (C)(n.root_mean_square ? 0 : sums[row] / length);
        const C second = (C)(sums[rows + row] * invstd / length);
        const C weighted = LOAD(dy[i]) * NAME(parameter)(n.weight.data, at, 1);

        dx[i] = STORE((C)invstd * (weighted - first - (LOAD(x[i]) - (C)stats[row]) * second));
    }
}

static __global__ void NAME(put_gradients)(int64_t parameters, const double *sums, double *dweight,
                                           double *dbias)
{
    HT_CUDA_EACH(i, parameters)
    {
        if (dbias != NULL)
            dbias[i] = sums[i];
        if (dweight != NULL)
            dweight[i] = sums[parameters + i];
    }
}

/* there: a copy of the job in the device's memory, behind the room for sums. */
static int NAME(launch_backward)(const ht_cuda_device *device, const row_norm_job *job,
                                 double *sums, const void *there)
{
    const ht_row_norm_call *n = &job->call;
    const int64_t rows = rows_of(n), parameters = n->groups * n->channels;
    ht_cuda_reduction r = over_rows(n, n->y.data, sums);
    int failed = 0;

    r.extra = there;
    if (n->dx.data != NULL) {
        failed = ht_cuda_launch_reduction(
            device, &r, ht_cuda_fold_kernels < NAME(dy_fold) < true >> (), n->call.what);
        if (failed == 0)
            HT_CUDA_LAUNCH_EACH(device, NAME(row_norm_grad), rows * row_length(n), *job,
                                static_cast<const double *>(sums));
    }
    if (failed != 0 || (n->dweight.data == NULL && n->dbias.data == NULL))
        return failed;
    over_parameters(n, n->y.data, &r);
    r.extra = there;
    r.y = sums;
    failed = ht_cuda_launch_reduction(
        device, &r, ht_cuda_fold_kernels < NAME(dy_fold) < false >> (), n->call.what);
    if (failed == 0)
        HT_CUDA_LAUNCH_EACH(
            device, NAME(put_gradients), parameters, static_cast<const double *>(sums),
            static_cast<double *>(n->dweight.data), static_cast<double *>(n->dbias.data));
    return failed;
}

static int NAME(row_norm_backward)(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const ht_row_norm_call *n = (const ht_row_norm_call *)call;
    const int64_t rows = rows_of(n), parameters = n->groups * n->channels;
    const size_t values = 2 * (size_t)(rows > parameters ? rows : parameters);
    ht_cuda_reduction r;

    if (!over_parameters(n, n->y.data, &r) || rows * row_length(n) == 0)
        return HT_KERNEL_REFUSED;
    const row_norm_job job = job_of(n);
    const size_t behind = (sizeof job + sizeof(double) - 1) / sizeof(double);

    return ht_cuda_with_scratch<double>(device, call, values + behind, [=](double *sums) {
        const int failed = ht_cuda_check(
            ht_cuda_copy(sums + values, &job, sizeof job, device->stream), device, call->what);

        return failed != 0 ? failed : NAME(launch_backward)(device, &job, sums, sums + values);
    });
}

static void NAME(add_row_norm)(ht_backend *backend)
{
    ht_cuda_add(backend, "ROW_NORM_FORWARD", ID, NAME(row_norm_forward));
    ht_cuda_add(backend, "ROW_NORM_BACKWARD", ID, NAME(row_norm_backward));
}
