/* SPDX-License-Identifier: MIT
 *
 * Template: convolution of a dtype. */

/* x: the first image and the first channel of the group. The counts of both kernels are below 2^31. */
static __global__ void NAME(im2col)(int64_t work, conv v, const T *x, T *cols)
{
    HT_CUDA_EACH(i, work)
    {
        uint32_t image = (uint32_t)i, channel = take_axis(&image, v.by.k);
        const uint32_t pixel = take_axis(&image, v.by.pixels), tap = take_axis(&channel, v.by.taps);
        int64_t offset;

        cols[i] = find_tap(v, pixel, tap, &offset)
                      ? x[image * v.x_image + channel * v.x_channel + offset]
                      : (T)0;
    }
}

/* Each element of x adds what windows have of it. */
static __global__ void NAME(col2im)(int64_t work, conv v, const T *cols, T *x)
{
    HT_CUDA_EACH(i, work)
    {
        uint32_t image = (uint32_t)i, pixel = take_axis(&image, v.by.area), place[HT_SPATIAL];
        const uint32_t channel = take_axis(&image, v.by.c);
        int64_t at = image * v.x_image + channel * v.x_channel;
        T sum = 0;

        HT_CUDA_UNROLL
        for (int axis = HT_SPATIAL - 1; axis >= 0; axis--) {
            place[axis] = take_axis(&pixel, v.by.in[axis]);
            at += place[axis] * v.x_step[axis];
        }
        for (uint32_t left = v.by.taps.by; left > 0; left--) {
            int64_t out;

            if (find_window(v, place, left - 1, &out))
                sum += cols[(image * v.pixels + out) * v.k + channel * v.taps + left - 1];
        }
        x[at] = sum;
    }
}

/* A group's part of the images from `first` on. */
typedef struct NAME(slab) {
    T *x, *weight, *y, *cols;
    int64_t images, first;
} NAME(slab);

typedef int NAME(slab_fn)(const ht_cuda_device *device, const conv *v, const ht_conv_call *call,
                          const NAME(slab) * s);

static int NAME(forward)(const ht_cuda_device *device, const conv *v, const ht_conv_call *call,
                         const NAME(slab) * s)
{
    const int64_t rows = s->images * v->pixels;
    ht_gemm_call g = product_of(v, call, s->images);

    HT_CUDA_LAUNCH_EACH(device, NAME(im2col), rows * v->k, *v, static_cast<const T *>(s->x),
                        s->cols);
    g.beta = call->bias.data != NULL ? 1 : 0; /* y has the bias already */
    g.k = v->k;
    g.trans_b = true;
    g.m = v->last ? rows : v->o;
    g.n = v->last ? v->o : v->pixels;
    g.a.data = v->last ? s->cols : s->weight;
    g.b.data = v->last ? s->weight : s->cols;
    g.c.data = s->y;
    g.lda = g.ldb = v->k;
    g.ldc = v->last ? v->o * v->groups : v->pixels;
    g.b_step = v->last ? 0 : v->pixels * v->k;
    g.c_step = v->last ? 0 : v->o * v->groups * v->pixels;
    return ht_cuda_multiply(device, &g);
}

static int NAME(backward_data)(const ht_cuda_device *device, const conv *v,
                               const ht_conv_call *call, const NAME(slab) * s)
{
    const int64_t rows = s->images * v->pixels;
    ht_gemm_call g = product_of(v, call, s->images);

    g.k = v->o;
    g.m = v->last ? rows : v->pixels;
    g.n = v->k;
    g.trans_a = !v->last;
    g.a.data = s->y;
    g.b.data = s->weight;
    g.c.data = s->cols;
    g.lda = v->last ? v->o * v->groups : v->pixels;
    g.ldb = g.ldc = v->k;
    g.a_step = v->last ? 0 : v->o * v->groups * v->pixels;
    g.c_step = v->last ? 0 : v->pixels * v->k;
    if (ht_cuda_multiply(device, &g) != 0)
        return 1;
    HT_CUDA_LAUNCH_EACH(device, NAME(col2im), s->images * v->c * v->area, *v,
                        static_cast<const T *>(s->cols), s->x);
    return 0;
}

static int NAME(backward_weight)(const ht_cuda_device *device, const conv *v,
                                 const ht_conv_call *call, const NAME(slab) * s)
{
    const int64_t rows = s->images * v->pixels, steps = v->last ? 1 : s->images;
    ht_gemm_call g = product_of(v, call, 1);
    int failed = 0;

    HT_CUDA_LAUNCH_EACH(device, NAME(im2col), rows * v->k, *v, static_cast<const T *>(s->x),
                        s->cols);
    g.m = v->o;
    g.n = v->k;
    g.k = rows / steps;
    g.trans_a = v->last;
    g.lda = v->last ? v->o * v->groups : v->pixels;
    g.ldb = g.ldc = v->k;
    g.c.data = s->weight;
    for (int64_t i = 0; i < steps && failed == 0; i++) {
        g.a.data = s->y + i * v->o * v->groups * v->pixels;
        g.b.data = s->cols + i * v->pixels * v->k;
        g.beta = s->first + i > 0 ? 1 : 0;
        failed = ht_cuda_multiply(device, &g);
    }
    return failed;
}

/* Runs a step for each group of each slab. */
static int NAME(each_slab)(const ht_cuda_device *device, conv *v, const ht_conv_call *call,
                           NAME(slab_fn) * run)
{
    const int64_t most = images_of(v, sizeof(T)), pixels = v->o * v->groups * v->pixels;
    NAME(slab) s = {};
    int failed = 0;

    set_divisors(v);
    s.cols = static_cast<T *>(
        ht_cuda_scratch(device, (size_t)(most * v->pixels * v->k) * sizeof(T), call->call.what));
    if (s.cols == NULL)
        return 1;
    for (s.first = 0; s.first < v->n; s.first += most)
        for (int64_t group = 0; group < v->groups && failed == 0; group++) {
            s.images = most < v->n - s.first ? most : v->n - s.first;
            s.x = static_cast<T *>(call->x.data) + s.first * v->x_image +
                  group * v->c * v->x_channel;
            s.y = static_cast<T *>(call->y.data) + s.first * pixels +
                  group * v->o * (v->last ? 1 : v->pixels);
            s.weight = static_cast<T *>(call->weight.data) + group * v->o * v->k;
            failed = run(device, v, call, &s);
        }
    ht_cuda_scratch_free(device, s.cols);
    return failed;
}

static int NAME(product_forward)(ht_cuda_device *device, const ht_kernel_call *call)
{
    const ht_conv_call *job = (const ht_conv_call *)call;
    conv v;

    if (!make_conv(job, &v) || v.k == 0 || is_too_large(&v, sizeof(T)))
        return HT_KERNEL_REFUSED;
    if (v.n * v.o * v.pixels == 0)
        return 0;
    if (ht_cuda_begin(device, call) != 0)
        return 1;
    if (job->bias.data != NULL)
        HT_CUDA_LAUNCH_EACH(device, put_channels<T>, v.n * job->o * v.pixels, v.pixels, job->o,
                            v.last, static_cast<const T *>(job->bias.data),
                            static_cast<T *>(job->y.data));
    return NAME(each_slab)(device, &v, job, NAME(forward)) != 0 ? 1 : ht_cuda_end(device, call);
}

static int NAME(product_backward_data)(ht_cuda_device *device, const ht_kernel_call *call)
{
    const ht_conv_call *job = (const ht_conv_call *)call;
    conv v;

    if (!make_conv(job, &v) || v.k == 0 || v.o * v.pixels == 0 || is_too_large(&v, sizeof(T)))
        return HT_KERNEL_REFUSED;
    if (v.n * v.in[0] * v.in[1] * v.in[2] == 0)
        return 0;
    if (ht_cuda_begin(device, call) != 0 ||
        NAME(each_slab)(device, &v, job, NAME(backward_data)) != 0)
        return 1;
    return ht_cuda_end(device, call);
}

static int NAME(product_backward_weight)(ht_cuda_device *device, const ht_kernel_call *call)
{
    const ht_conv_call *job = (const ht_conv_call *)call;
    conv v;
    int failed = 0;

    if (!make_conv(job, &v) || v.n * v.k * v.o * v.pixels == 0 ||
        v.n * v.pixels >= INT64_C(1) << 31 || is_too_large(&v, sizeof(T)))
        return HT_KERNEL_REFUSED;
    if (ht_cuda_begin(device, call) != 0)
        return 1;
    if (job->weight.data != NULL)
        failed = NAME(each_slab)(device, &v, job, NAME(backward_weight));
    if (failed == 0 && job->bias.data != NULL)
        failed = NAME(sum_channels)(device, &v, job);
    return failed != 0 ? failed : ht_cuda_end(device, call);
}
