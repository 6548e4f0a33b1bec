/* SPDX-License-Identifier: MIT
 *
 * Template: convolution of a dtype. */

/* The windows of some pixels. x: the first image and the first channel of the group. */
static __global__ void NAME(im2col)(int64_t work, conv v, uint32_t rows, const T *x, T *cols)
{
    HT_CUDA_EACH(i, work)
    {
        uint32_t in_window, tap;
        const uint32_t strip = ht_cuda_divide((uint32_t)i, v.by.k, &in_window);
        const uint32_t row = strip * STRIP, end = rows - row < STRIP ? rows - row : STRIP;
        T *to = cols + row * v.k + in_window;
        const T *from = x + ht_cuda_divide(in_window, v.by.taps, &tap) * v.x_channel;
        conv_window w = window_of(v, row, tap);

        for (uint32_t step = 0; step < end; step++, to += v.k, next_window(v, &w)) {
            int64_t offset;

            *to = find_tap(v, w, &offset) ? from[offset] : (T)0;
        }
    }
}

/* Each element of x adds what windows have of it. */
static __global__ void NAME(col2im)(int64_t work, conv v, const T *cols, T *x)
{
    HT_CUDA_EACH(i, work)
    {
        uint32_t pixel, channel, place[HT_SPATIAL];
        const uint32_t image = ht_cuda_divide(ht_cuda_divide((uint32_t)i, v.by.area, &pixel),
                                              v.by.c, &channel);
        const T *from = cols + (int64_t)image * v.pixels * v.k + channel * v.taps;
        int64_t at = image * v.x_image + channel * v.x_channel, tap = v.taps;
        T sum = 0;

        HT_CUDA_UNROLL
        for (int axis = HT_SPATIAL - 1; axis >= 0; axis--) {
            pixel = ht_cuda_divide(pixel, v.by.in[axis], &place[axis]);
            at += place[axis] * v.x_step[axis];
        }
        for (uint32_t d = v.by.kernel[0].by; d > 0; d--)
            for (uint32_t h = v.by.kernel[1].by; h > 0; h--)
                for (uint32_t w = v.by.kernel[2].by; w > 0; w--) {
                    uint32_t out = 0;

                    tap--;
                    if (find_window(v, 0, place[0], d - 1, &out) &&
                        find_window(v, 1, place[1], h - 1, &out) &&
                        find_window(v, 2, place[2], w - 1, &out))
                        sum += from[out * v.k + tap];
                }
        x[at] = sum;
    }
}

/* A group's part of the images from `first` on. */
typedef struct NAME(slab) {
    T *x, *weight, *y, *cols;
    int64_t images, first;
} NAME(slab);

static void NAME(take_windows)(const ht_cuda_device *device, const conv *v, const NAME(slab) * s)
{
    const int64_t rows = s->images * v->pixels, strips = (rows + STRIP - 1) / STRIP;

    HT_CUDA_LAUNCH_EACH(device, NAME(im2col), strips * v->k, *v, (uint32_t)rows,
                        static_cast<const T *>(s->x), s->cols);
}

typedef int NAME(slab_fn)(const ht_cuda_device *device, const conv *v, const ht_conv_call *call,
                          const NAME(slab) * s);

static int NAME(forward)(const ht_cuda_device *device, const conv *v, const ht_conv_call *call,
                         const NAME(slab) * s)
{
    const int64_t rows = s->images * v->pixels;
    ht_gemm_call g = product_of(v, call, s->images);

    NAME(take_windows)(device, v, s);
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

/* weight (+)= y^T cols, of `steps` parts of the slab one after the other. y_row: from one row of y, or
 * of y^T where that is row-major, to the next. */
static int NAME(multiply_windows)(const ht_cuda_device *device, const conv *v,
                                  const ht_conv_call *call, const NAME(slab) * s, bool last, T *y,
                                  int64_t y_row, int64_t steps)
{
    ht_gemm_call g = product_of(v, call, 1);
    int failed = 0;

    g.m = v->o;
    g.n = v->k;
    g.k = s->images * v->pixels / steps;
    g.trans_a = last;
    g.lda = y_row;
    g.ldb = g.ldc = v->k;
    g.c.data = s->weight;
    for (int64_t i = 0; i < steps && failed == 0; i++) {
        g.a.data = y + i * v->o * v->groups * v->pixels;
        g.b.data = s->cols + i * v->pixels * v->k;
        g.beta = s->first + i > 0 ? 1 : 0;
        failed = ht_cuda_multiply(device, &g);
    }
    return failed;
}

/* The images of a row-major y are turned, so that one product serves all of them; those of one of
 * several groups do not follow one another. */
static int NAME(backward_weight)(const ht_cuda_device *device, const conv *v,
                                 const ht_conv_call *call, const NAME(slab) * s)
{
    const int64_t count = s->images * v->pixels * v->o;

    NAME(take_windows)(device, v, s);
    if (v->last)
        return NAME(multiply_windows)(device, v, call, s, true, s->y, v->o * v->groups, 1);
    if (v->groups > 1 || s->images == 1)
        return NAME(multiply_windows)(device, v, call, s, false, s->y, v->pixels, s->images);
    T *turned = static_cast<T *>(
        ht_cuda_scratch(device, (size_t)count * sizeof(T), call->call.what));

    if (turned == NULL)
        return 1;
    HT_CUDA_LAUNCH_EACH(device, turn<T>, count, ht_cuda_length_of(v->o, count),
                        ht_cuda_length_of(v->pixels, count), static_cast<const T *>(s->y), turned);
    const int failed = NAME(multiply_windows)(device, v, call, s, true, turned, v->o, 1);

    ht_cuda_scratch_free(device, turned);
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
    if (job->bias.data != NULL) {
        const int64_t work = v.n * job->o * v.pixels;

        HT_CUDA_LAUNCH_EACH(device, put_channels<T>, work, ht_cuda_length_of(v.pixels, work),
                            ht_cuda_length_of(job->o, work), v.last,
                            static_cast<const T *>(job->bias.data), static_cast<T *>(job->y.data));
    }
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
