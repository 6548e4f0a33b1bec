/* SPDX-License-Identifier: MIT
 *
 * Template: convolution by im2col and matrix products, for an image, a group and a few output rows
 * at a time. Half precision is widened before the products and rounded once after them.
 *
 *     cols  (rows * ow, k)            the windows of these output rows; k = c / groups * kh * kw
 *     flat  (rows * ow, o / groups)   these rows of y or dy */
#if HT_IS_FLOAT

#define COMPUTE_ID (HT_IS_HALF ? HT_FLOAT32 : ID)

/* Moves one window of the channel x between the image (h, w) and its place in cols: out of the
 * image, or added to it. */
HT_INLINE void NAME(gather_window)(const ht_conv_call *v, const T *x, int64_t oh, int64_t ow,
                                   C *cols)
{
    for (int64_t i = 0; i < v->kernel[0]; i++) {
        const int64_t h = oh * v->stride[0] - v->padding[0] + i * v->dilation[0];
        const bool row_inside = h >= 0 && h < v->in[0];

        for (int64_t j = 0; j < v->kernel[1]; j++) {
            const int64_t w = ow * v->stride[1] - v->padding[1] + j * v->dilation[1];
            const bool inside = row_inside && w >= 0 && w < v->in[1];

            *cols++ = inside ? LOAD(x[h * v->x_stride[2] + w * v->x_stride[3]]) : 0;
        }
    }
}

HT_INLINE void NAME(scatter_window)(const ht_conv_call *v, C *image, int64_t oh, int64_t ow,
                                    const C *cols)
{
    for (int64_t i = 0; i < v->kernel[0]; i++) {
        const int64_t h = oh * v->stride[0] - v->padding[0] + i * v->dilation[0];
        const bool row_inside = h >= 0 && h < v->in[0];

        for (int64_t j = 0; j < v->kernel[1]; j++, cols++) {
            const int64_t w = ow * v->stride[1] - v->padding[1] + j * v->dilation[1];

            if (row_inside && w >= 0 && w < v->in[1])
                image[h * v->in[1] + w] += *cols;
        }
    }
}

/* cols of output rows from `first` on; x is the first channel of the group. */
static void NAME(im2col)(const conv_plan *p, const T *x, int64_t first, int64_t rows, C *cols)
{
    const ht_conv_call *v = p->conv;

    for (int64_t oh = first; oh < first + rows; oh++)
        for (int64_t ow = 0; ow < v->out[1]; ow++)
            for (int64_t c = 0; c < p->c; c++, cols += p->window)
                NAME(gather_window)(v, x + c * v->x_stride[1], oh, ow, cols);
}

/* The same way back: added to image (c / groups, h, w). */
static void NAME(col2im)(const conv_plan *p, const C *cols, int64_t first, int64_t rows, C *image)
{
    const ht_conv_call *v = p->conv;

    for (int64_t oh = first; oh < first + rows; oh++)
        for (int64_t ow = 0; ow < v->out[1]; ow++)
            for (int64_t c = 0; c < p->c; c++, cols += p->window)
                NAME(scatter_window)(v, image + c * p->area, oh, ow, cols);
}

static void NAME(load_rows)(const conv_plan *p, const T *y, int64_t first, int64_t rows, C *flat)
{
    const int64_t *stride = p->conv->y_stride;

    for (int64_t oh = first; oh < first + rows; oh++)
        for (int64_t ow = 0; ow < p->conv->out[1]; ow++)
            for (int64_t o = 0; o < p->o; o++)
                *flat++ = LOAD(y[o * stride[1] + oh * stride[2] + ow * stride[3]]);
}

static void NAME(store_rows)(const conv_plan *p, const C *flat, int64_t first, int64_t rows, T *y)
{
    const int64_t *stride = p->conv->y_stride;

    for (int64_t oh = first; oh < first + rows; oh++)
        for (int64_t ow = 0; ow < p->conv->out[1]; ow++)
            for (int64_t o = 0; o < p->o; o++)
                y[o * stride[1] + oh * stride[2] + ow * stride[3]] = STORE(*flat++);
}

static void NAME(store_image)(const conv_plan *p, const C *image, T *x)
{
    const ht_conv_call *v = p->conv;

    for (int64_t c = 0; c < p->c; c++)
        for (int64_t h = 0; h < v->in[0]; h++)
            for (int64_t w = 0; w < v->in[1]; w++)
                x[c * v->x_stride[1] + h * v->x_stride[2] + w * v->x_stride[3]] = STORE(*image++);
}

static void NAME(load_flat)(int64_t n, const T *from, C *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = LOAD(from[i]);
}

static void NAME(store_flat)(int64_t n, const C *from, T *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = STORE(from[i]);
}

/* x and y of image n and group g. */
#define X_OF(x, n, g) ((x) + (n)*v->x_stride[0] + (g)*p->c * v->x_stride[1])
#define Y_OF(y, n, g) ((y) + (n)*v->y_stride[0] + (g)*p->o * v->y_stride[1])

static int NAME(conv_forward)(const conv_plan *p, const T *x, const T *weight, const T *bias, T *y)
{
    const ht_conv_call *v = p->conv;
    conv_parts at;
    int failed = 0;

    if (!cut_scratch(p, sizeof(C), 0, &at))
        return 1;
    NAME(load_flat)(v->o * p->k, weight, at.weight);
    if (bias != NULL)
        NAME(load_flat)(v->o, bias, at.bias);
    for (int64_t n = 0; n < v->n; n++)
        for (int64_t g = 0; g < v->groups; g++)
            for (int64_t first = 0; first < v->out[0] && !failed; first += p->rows) {
                const int64_t rows = rows_from(p, first);
                ht_gemm_call product = {.call.dtype = COMPUTE_ID,
                                        .trans_b = true,
                                        .m = rows * v->out[1],
                                        .n = p->o,
                                        .k = p->k,
                                        .lda = p->k,
                                        .ldb = p->k,
                                        .ldc = p->o,
                                        .alpha = 1,
                                        .a.data = at.cols,
                                        .b.data = (C *)at.weight + g * p->o * p->k,
                                        .bias.data = bias != NULL ? (C *)at.bias + g * p->o : NULL,
                                        .c.data = at.flat};

                NAME(im2col)(p, X_OF(x, n, g), first, rows, at.cols);
                failed = ht__cpu_gemm(&product);
                NAME(store_rows)(p, at.flat, first, rows, Y_OF(y, n, g));
            }
    return failed;
}

/* dx = the sum over windows of dy weight. */
static int NAME(conv_backward_data)(const conv_plan *p, const T *dy, const T *weight, T *dx)
{
    const ht_conv_call *v = p->conv;
    conv_parts at;
    int failed = 0;

    if (!cut_scratch(p, sizeof(C), p->c * p->area, &at))
        return 1;
    NAME(load_flat)(v->o * p->k, weight, at.weight);
    for (int64_t n = 0; n < v->n; n++)
        for (int64_t g = 0; g < v->groups; g++) {
            memset(at.extra, 0, (size_t)(p->c * p->area) * sizeof(C));
            for (int64_t first = 0; first < v->out[0] && !failed; first += p->rows) {
                const int64_t rows = rows_from(p, first);
                ht_gemm_call product = {.call.dtype = COMPUTE_ID,
                                        .m = rows * v->out[1],
                                        .n = p->k,
                                        .k = p->o,
                                        .lda = p->o,
                                        .ldb = p->k,
                                        .ldc = p->k,
                                        .alpha = 1,
                                        .a.data = at.flat,
                                        .b.data = (C *)at.weight + g * p->o * p->k,
                                        .c.data = at.cols};

                NAME(load_rows)(p, Y_OF(dy, n, g), first, rows, at.flat);
                failed = ht__cpu_gemm(&product);
                NAME(col2im)(p, at.cols, first, rows, at.extra);
            }
            NAME(store_image)(p, at.extra, X_OF(dx, n, g));
        }
    return failed;
}

/* dweight = the sum over windows of dy^T x. */
static int NAME(conv_backward_weight)(const conv_plan *p, const T *x, const T *dy, T *dweight)
{
    const ht_conv_call *v = p->conv;
    conv_parts at;
    int failed = 0;

    if (!cut_scratch(p, sizeof(C), 0, &at))
        return 1;
    memset(at.weight, 0, (size_t)(v->o * p->k) * sizeof(C));
    for (int64_t n = 0; n < v->n; n++)
        for (int64_t g = 0; g < v->groups; g++)
            for (int64_t first = 0; first < v->out[0] && !failed; first += p->rows) {
                const int64_t rows = rows_from(p, first);
                ht_gemm_call product = {.call.dtype = COMPUTE_ID,
                                        .trans_a = true,
                                        .m = p->o,
                                        .n = p->k,
                                        .k = rows * v->out[1],
                                        .lda = p->o,
                                        .ldb = p->k,
                                        .ldc = p->k,
                                        .alpha = 1,
                                        .beta = 1,
                                        .a.data = at.flat,
                                        .b.data = at.cols,
                                        .c.data = (C *)at.weight + g * p->o * p->k};

                NAME(im2col)(p, X_OF(x, n, g), first, rows, at.cols);
                NAME(load_rows)(p, Y_OF(dy, n, g), first, rows, at.flat);
                failed = ht__cpu_gemm(&product);
            }
    NAME(store_flat)(v->o * p->k, at.weight, dweight);
    return failed;
}

/* dbias = the sum of dy over images and pixels, in double precision. */
static void NAME(conv_backward_bias)(const ht_conv_call *v, const T *dy, T *dbias)
{
    const int64_t *stride = v->y_stride;

    for (int64_t o = 0; o < v->o; o++) {
        SUM sum = 0;

        for (int64_t n = 0; n < v->n; n++)
            for (int64_t h = 0; h < v->out[0]; h++)
                for (int64_t w = 0; w < v->out[1]; w++)
                    sum += (SUM)LOAD(
                        dy[n * stride[0] + o * stride[1] + h * stride[2] + w * stride[3]]);
        dbias[o] = STORE(sum);
    }
}

#undef X_OF
#undef Y_OF
#undef COMPUTE_ID
#endif
