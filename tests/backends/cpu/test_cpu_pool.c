/* ranks 1 own device */
/* SPDX-License-Identifier: MIT */
/* Max pooling of the cpu backend against plain loops; NaN, ties, padding. */
#include "cpu_kernels.h"

#include "backends/cpu/cpu.h"
#include "ht/kernels/nn.h"

static ht_pool_call make_pool(int64_t n, int64_t c, int64_t in, int64_t kernel, int64_t stride,
                              int64_t padding, int64_t dilation, bool last)
{
    ht_pool_call p = {.spatial = 2, .n = n, .c = c};

    for (int i = 0; i < 2; i++) {
        p.in[i] = in + i;
        p.kernel[i] = kernel;
        p.stride[i] = stride;
        p.padding[i] = padding;
        p.dilation[i] = dilation;
        p.out[i] = (p.in[i] + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
    }
    for (int i = 0; i < 2; i++) {
        int64_t *s = i == 0 ? p.x_stride : p.y_stride, h = i == 0 ? p.in[0] : p.out[0];
        int64_t w = i == 0 ? p.in[1] : p.out[1];

        s[0] = c * h * w;
        s[1] = last ? 1 : h * w;
        s[2] = last ? c * w : w;
        s[3] = last ? c : 1;
    }
    return p;
}

static int64_t at(const int64_t stride[4], int64_t n, int64_t c, int64_t h, int64_t w)
{
    return n * stride[0] + c * stride[1] + h * stride[2] + w * stride[3];
}

/* The position h * W + w of the first of the largest values in a window, NaN above all; -1: none.
 */
static int32_t choose(const ht_pool_call *p, const float *x, int64_t n, int64_t c, int64_t oh,
                      int64_t ow)
{
    int32_t chosen = -1;
    float best = 0;

    for (int64_t k = 0; k < p->kernel[0] * p->kernel[1]; k++) {
        int64_t h = oh * p->stride[0] - p->padding[0] + k / p->kernel[1] * p->dilation[0];
        int64_t w = ow * p->stride[1] - p->padding[1] + k % p->kernel[1] * p->dilation[1];
        float value;

        if (h < 0 || w < 0 || h >= p->in[0] || w >= p->in[1])
            continue;
        value = x[at(p->x_stride, n, c, h, w)];
        if (chosen >= 0 && (isnan(best) || !(isnan(value) || value > best)))
            continue;
        chosen = (int32_t)(h * p->in[1] + w);
        best = value;
    }
    return chosen;
}

/* Few distinct values: many ties. Every 11th is NaN, every 13th -inf. */
static void fill(float *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        x[i] = i % 11 == 10 ? NAN : i % 13 == 12 ? -INFINITY : (float)(rand() % 4);
}

static int run(ht_kernel kernel, ht_pool_call p, float *x, float *y, int32_t *index)
{
    p.x.data = x;
    p.y.data = y;
    p.index.data = index;
    return cpu_run(ht__cpu_kernels(), kernel, HT_FLOAT32, &p);
}

static void check_pool(const ht_pool_call *p)
{
    const int64_t xs = p->n * p->c * p->in[0] * p->in[1], ys = p->n * p->c * p->out[0] * p->out[1];
    float *x = malloc((size_t)(xs + 1) * 4), *y = malloc((size_t)(ys + 1) * 4);
    float *dx = malloc((size_t)(xs + 1) * 4), *expected = calloc((size_t)xs + 1, 4);
    int32_t *index = malloc((size_t)(ys + 1) * 4);

    fill(x, xs);
    memset(dx, 0x55, (size_t)xs * 4);
    assert_int_equal(run(HT_KERNEL_MAX_POOL_FORWARD, *p, x, y, index), 0);
    for (int64_t i = 0; i < ys; i++) {
        const int64_t area = p->out[0] * p->out[1], n = i / (p->c * area), c = i / area % p->c;
        const int64_t oh = i / p->out[1] % p->out[0], ow = i % p->out[1];
        const int64_t to = at(p->y_stride, n, c, oh, ow);
        const int32_t chosen = choose(p, x, n, c, oh, ow);
        const int64_t from = at(p->x_stride, n, c, chosen / (int32_t)p->in[1],
                                chosen % (int32_t)p->in[1]);

        assert_int_equal(index[to], chosen);
        if (chosen < 0)
            assert_true(y[to] == -INFINITY);
        else
            assert_memory_equal(&y[to], &x[from], sizeof *y);
        y[to] = (float)(1 + i % 50); /* now dy */
        if (chosen >= 0)
            expected[from] += y[to];
    }
    assert_int_equal(run(HT_KERNEL_MAX_POOL_BACKWARD, *p, dx, y, index), 0);
    for (int64_t i = 0; i < xs; i++)
        assert_true(dx[i] == expected[i]);

    free(x);
    free(y);
    free(dx);
    free(expected);
    free(index);
}

/* n, c, in, kernel, stride, padding, dilation; the width of x is in + 1. */
static const int64_t shapes[][7] = {
    {2, 3, 6, 2, 2, 0, 1}, {7, 64, 24, 2, 2, 0, 1}, {1, 17, 7, 2, 2, 0, 1},
    {3, 5, 9, 3, 1, 1, 1}, {2, 33, 8, 3, 2, 1, 2},  {1, 1, 5, 5, 5, 2, 1},
    {1, 4, 2, 2, 1, 1, 2}, {2, 16, 9, 3, 3, 0, 1},  {0, 4, 6, 2, 2, 0, 1},
};

static void test_shapes_and_layouts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int last = 0; last < 2; last++) {
            const int64_t *s = shapes[i];
            ht_pool_call p = make_pool(s[0], s[1], s[2], s[3], s[4], s[5], s[6], last);

            check_pool(&p);
        }
}

static void test_first_of_equals_and_nan(void **state)
{
    float x[6] = {1, 3, NAN, 3, 2, NAN}; /* (2, 3): windows {1 3 3 2} and {3 NAN 2 NAN} */
    ht_pool_call p = make_pool(1, 1, 2, 2, 1, 0, 1, false);
    int32_t index[2];
    float y[2];

    (void)state;
    assert_int_equal(run(HT_KERNEL_MAX_POOL_FORWARD, p, x, y, index), 0);
    assert_int_equal(index[0], 1);
    assert_true(y[0] == 3);
    assert_int_equal(index[1], 2);
    assert_true(isnan(y[1]));
}

static void test_other_than_images_are_refused(void **state)
{
    float x[6] = {1, 2, 3, 4, 5, 6}, y[2] = {7, 7};
    ht_pool_call p = make_pool(1, 1, 2, 2, 1, 0, 1, false);
    int32_t index[2] = {0};

    (void)state;
    for (p.spatial = 1; p.spatial <= HT_SPATIAL; p.spatial += 2) {
        assert_int_equal(run(HT_KERNEL_MAX_POOL_FORWARD, p, x, y, index), HT_KERNEL_REFUSED);
        assert_int_equal(run(HT_KERNEL_MAX_POOL_BACKWARD, p, x, y, index), HT_KERNEL_REFUSED);
    }
    assert_true(y[0] == 7 && x[0] == 1);
}

HT_TEST_SUITE(test_cpu_pool, cmocka_unit_test(test_shapes_and_layouts),
              cmocka_unit_test(test_first_of_equals_and_nan),
              cmocka_unit_test(test_other_than_images_are_refused));
