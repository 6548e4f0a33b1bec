/* SPDX-License-Identifier: MIT
 *
 * Template: paths of a dtype. */

static __forceinline__ __device__ double NAME(log_p)(const ht_ctc_call &r, int64_t row, int64_t t,
                                                     int64_t c)
{
    return (double)LOAD(static_cast<const T *>(r.x.data)[(t * r.rows + row) * r.classes + c]);
}

/* alpha of step t, for all elements of all rows. */
static __global__ void NAME(alpha_step)(int64_t work, ht_cuda_length width, ht_ctc_call r,
                                        int64_t t, const int64_t *bad)
{
    HT_CUDA_EACH(i, work)
    {
        int64_t e;
        const int64_t row = ht_cuda_divide(i, width, &e);
        const ht_sequence s = ht__sequence_of(&r, row);

        if (bad[row] != 0 || t >= s.steps || e >= s.elements)
            continue;
        alpha_of(r, row, t)[e] = ht__ctc_alpha(&s, e, NAME(log_p)(r, row, t, ht__class_of(&s, e)),
                                               t > 0 ? alpha_of(r, row, t - 1) : NULL);
    }
}

static __global__ void NAME(put_losses)(int64_t rows, const double *from, T *loss)
{
    HT_CUDA_EACH(row, rows)
    {
        loss[row] = STORE((C)from[row]);
    }
}

static int NAME(ctc_forward)(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const ht_ctc_call *r = (const ht_ctc_call *)call;
    const int64_t width = 2 * r->width + 1, elements = r->rows * width;

    if (r->rows == 0)
        return 0;
    if (r->classes == 0)
        return HT_KERNEL_REFUSED;
    if (ht_cuda_begin(device, call) != 0)
        return 1;
    const ctc_memory m = memory_of(device, r);

    if (m.skipped == NULL)
        return 1;
    ht_cuda_targets bad = ht_cuda_targets_of(device, m.skipped, r->classes, 0, call->what);

    HT_CUDA_LAUNCH_EACH(device, find_bad, r->rows, *r, m.skipped);
    ht_cuda_fault_begin(device, &bad);
    HT_CUDA_LAUNCH_EACH(device, note_bad, r->rows, bad);
    ht_cuda_fault_end(device, bad);
    for (int64_t t = 0; t < r->steps; t++)
        HT_CUDA_LAUNCH_EACH(device, NAME(alpha_step), elements, ht_cuda_length_of(width, elements),
                            *r, t, static_cast<const int64_t *>(m.skipped));
    HT_CUDA_LAUNCH_EACH(device, find_losses, r->rows, *r, m.skipped, m.loss);
    HT_CUDA_LAUNCH_EACH(device, NAME(put_losses), r->rows, static_cast<const double *>(m.loss),
                        static_cast<T *>(r->loss.data));
    ht_cuda_scratch_free(device, m.skipped);
    return ht_cuda_end(device, call);
}

static __forceinline__ __device__ void NAME(put_grad)(const ht_ctc_call &r, const double *loss,
                                                      int64_t row, int64_t t, int64_t c,
                                                      double paths)
{
    const double dloss = (double)LOAD(static_cast<const T *>(r.dloss.data)[row]);

    static_cast<T *>(r.dx.data)[(t * r.rows + row) * r.classes + c] = STORE(
        (C)ht__ctc_grad(dloss, NAME(log_p)(r, row, t, c), paths, loss[row]));
}

/* dx of all classes, as if no element had them. */
static __global__ void NAME(grad_without_paths)(int64_t work, ht_cuda_length classes,
                                                ht_cuda_length rows, ht_ctc_call r, ctc_memory m)
{
    HT_CUDA_EACH(i, work)
    {
        int64_t c, row;
        const int64_t t = ht_cuda_divide(ht_cuda_divide(i, classes, &c), rows, &row);

        if (m.skipped[row] != 0 || t >= ht__sequence_of(&r, row).steps)
            static_cast<T *>(r.dx.data)[i] = STORE(0);
        else
            NAME(put_grad)(r, m.loss, row, t, c, -(double)INFINITY);
    }
}

/* beta of step t; steps take turns at its two halves. */
static __global__ void NAME(beta_step)(int64_t work, ht_cuda_length width, ht_ctc_call r, int64_t t,
                                       ctc_memory m)
{
    HT_CUDA_EACH(i, work)
    {
        int64_t e;
        const int64_t row = ht_cuda_divide(i, width, &e);
        const ht_sequence s = ht__sequence_of(&r, row);
        double *beta = m.beta + t % 2 * work;
        const double *after = m.beta + (t + 1) % 2 * work + row * width_of(r);

        if (m.skipped[row] == 0 && t < s.steps && e < s.elements)
            beta[i] = ht__ctc_beta(&s, e, NAME(log_p)(r, row, t, ht__class_of(&s, e)),
                                   t + 1 < s.steps ? after : NULL);
    }
}

/* dx of step t for the classes of the elements. The first element of a class adds those after it. */
static __global__ void NAME(grad_step)(int64_t work, ht_cuda_length width, ht_ctc_call r, int64_t t,
                                       ctc_memory m)
{
    HT_CUDA_EACH(i, work)
    {
        int64_t e;
        const int64_t row = ht_cuda_divide(i, width, &e);
        const ht_sequence s = ht__sequence_of(&r, row);
        const double *alpha = alpha_of(r, row, t);
        const double *beta = m.beta + t % 2 * work + row * width_of(r);
        double paths = -(double)INFINITY;
        int64_t before = 0;

        if (m.skipped[row] != 0 || t >= s.steps || e >= s.elements)
            continue;
        while (ht__class_of(&s, before) != ht__class_of(&s, e))
            before++;
        if (before < e)
            continue;
        for (int64_t next = e; next < s.elements; next++)
            if (ht__class_of(&s, next) == ht__class_of(&s, e))
                paths = ht__log_sum(paths, alpha[next] + beta[next], -(double)INFINITY);
        NAME(put_grad)(r, m.loss, row, t, ht__class_of(&s, e), paths);
    }
}

static int NAME(ctc_backward)(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const ht_ctc_call *r = (const ht_ctc_call *)call;
    const int64_t width = 2 * r->width + 1, elements = r->rows * width;
    const int64_t work = r->steps * r->rows * r->classes;

    if (work == 0)
        return 0;
    if (ht_cuda_begin(device, call) != 0)
        return 1;
    const ctc_memory m = memory_of(device, r);

    if (m.skipped == NULL)
        return 1;
    HT_CUDA_LAUNCH_EACH(device, find_bad, r->rows, *r, m.skipped);
    HT_CUDA_LAUNCH_EACH(device, find_losses, r->rows, *r, m.skipped, m.loss);
    HT_CUDA_LAUNCH_EACH(device, NAME(grad_without_paths), work, ht_cuda_length_of(r->classes, work),
                        ht_cuda_length_of(r->rows, work), *r, m);
    const ht_cuda_length by = ht_cuda_length_of(width, elements);

    for (int64_t t = r->steps - 1; t >= 0; t--) {
        HT_CUDA_LAUNCH_EACH(device, NAME(beta_step), elements, by, *r, t, m);
        HT_CUDA_LAUNCH_EACH(device, NAME(grad_step), elements, by, *r, t, m);
    }
    ht_cuda_scratch_free(device, m.skipped);
    return ht_cuda_end(device, call);
}

static void NAME(add_ctc)(ht_backend *backend)
{
    ht_cuda_add(backend, "CTC_FORWARD", ID, NAME(ctc_forward));
    ht_cuda_add(backend, "CTC_BACKWARD", ID, NAME(ctc_backward));
}
