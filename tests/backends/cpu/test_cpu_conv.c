/* ranks 1 own device */
/* SPDX-License-Identifier: MIT */
/* Convolutions of the cpu backend against seven loops in double precision. */
#include "cpu_kernels.h"

#include <pthread.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/nn/conv/plain.h"
#include "backends/cpu/scratch.h"
#ifdef HT_HAVE_ONEDNN
#include "backends/cpu/nn/conv/onednn.h"
#endif

typedef struct job {
    int64_t n, c, o, groups, in, kernel, stride, padding, dilation;
} job;

/* Batches, rectangles by the height below, strides, paddings, dilations, groups, depthwise. */
static const job jobs[] = {
    {2, 3, 4, 1, 7, 3, 1, 0, 1},    {1, 1, 32, 1, 12, 3, 1, 0, 1}, {7, 4, 6, 2, 9, 3, 2, 1, 1},
    {3, 6, 6, 6, 8, 3, 1, 1, 1},    {2, 5, 3, 1, 11, 3, 2, 2, 2},  {1, 8, 16, 1, 6, 1, 1, 0, 1},
    {2, 2, 2, 1, 5, 5, 1, 2, 1},    {64, 1, 8, 1, 10, 3, 1, 0, 1}, {7, 32, 16, 1, 14, 3, 1, 0, 1},
    {2, 16, 32, 2, 10, 2, 3, 0, 1}, {0, 2, 3, 1, 6, 3, 1, 0, 1},
};

enum { JOBS = sizeof jobs / sizeof *jobs };

/* The width is two more than the height, so that a mix-up of the two shows. */
static ht_conv_call make_conv(const job *j, bool x_last, bool y_last)
{
    ht_conv_call v = {.spatial = 2, .n = j->n, .c = j->c, .o = j->o, .groups = j->groups};

    for (int i = 0; i < 2; i++) {
        v.in[i] = j->in + 2 * i;
        v.kernel[i] = j->kernel;
        v.stride[i] = j->stride;
        v.padding[i] = j->padding;
        v.dilation[i] = j->dilation;
        v.out[i] = (v.in[i] + 2 * j->padding - j->dilation * (j->kernel - 1) - 1) / j->stride + 1;
    }
    const int64_t last_x[4] = {v.c * v.in[0] * v.in[1], 1, v.c * v.in[1], v.c};
    const int64_t first_x[4] = {v.c * v.in[0] * v.in[1], v.in[0] * v.in[1], v.in[1], 1};
    const int64_t last_y[4] = {v.o * v.out[0] * v.out[1], 1, v.o * v.out[1], v.o};
    const int64_t first_y[4] = {v.o * v.out[0] * v.out[1], v.out[0] * v.out[1], v.out[1], 1};
    memcpy(v.x_stride, x_last ? last_x : first_x, sizeof last_x);
    memcpy(v.y_stride, y_last ? last_y : first_y, sizeof last_y);
    return v;
}

static int64_t at(const int64_t stride[4], int64_t n, int64_t c, int64_t h, int64_t w)
{
    return n * stride[0] + c * stride[1] + h * stride[2] + w * stride[3];
}

/* The operands, and the results: result, dx, dweight, dbias. */
typedef struct oracle {
    double *x, *weight, *y, *dx, *dweight, *dbias, *bias, *result;
} oracle;

static void convolve(const ht_conv_call *v, const oracle *t)
{
    const int64_t cg = v->c / v->groups, og = v->o / v->groups;

    for (int64_t n = 0; n < v->n; n++)
        for (int64_t o = 0; o < v->o; o++)
            for (int64_t oh = 0; oh < v->out[0]; oh++)
                for (int64_t ow = 0; ow < v->out[1]; ow++) {
                    const int64_t y = at(v->y_stride, n, o, oh, ow);

                    t->result[y] = t->bias[o];
                    t->dbias[o] += t->y[y];
                    for (int64_t k = 0; k < cg * v->kernel[0] * v->kernel[1]; k++) {
                        const int64_t c = k / (v->kernel[0] * v->kernel[1]);
                        const int64_t h = oh * v->stride[0] - v->padding[0] +
                                          k / v->kernel[1] % v->kernel[0] * v->dilation[0];
                        const int64_t w = ow * v->stride[1] - v->padding[1] +
                                          k % v->kernel[1] * v->dilation[1];
                        const int64_t x = at(v->x_stride, n, o / og * cg + c, h, w);
                        const int64_t u = o * cg * v->kernel[0] * v->kernel[1] + k;

                        if (h < 0 || w < 0 || h >= v->in[0] || w >= v->in[1])
                            continue;
                        t->result[y] += t->x[x] * t->weight[u];
                        t->dx[x] += t->y[y] * t->weight[u];
                        t->dweight[u] += t->y[y] * t->x[x];
                    }
                }
}

static double *random_values(int64_t count)
{
    double *values = malloc((size_t)(count + 1) * sizeof *values);

    for (int64_t i = 0; i < count; i++)
        values[i] = (rand() % 257 - 128) / 64.0; /* exact in every dtype */
    return values;
}

static void *as_dtype(ht_dtype dtype, const double *from, int64_t count)
{
    void *to = malloc((size_t)(count + 1) * 8);

    for (int64_t i = 0; i < count; i++)
        cpu_set(dtype, to, i, from[i]);
    return to;
}

static void check_close(ht_dtype dtype, const void *got, const double *expected, int64_t count)
{
    const double tolerance = dtype == HT_FLOAT64 ? 1e-12 : dtype == HT_FLOAT32 ? 1e-5 : 1e-2;
    double scale = 1;

    for (int64_t i = 0; i < count; i++)
        scale = fmax(scale, fabs(expected[i]));
    for (int64_t i = 0; i < count; i++) {
        double value = cpu_get(dtype, got, i);

        if (!(fabs(value - expected[i]) <= tolerance * scale))
            fail_msg("element %lld is %g, not %g", (long long)i, value, expected[i]);
    }
}

static int64_t x_count(const ht_conv_call *v)
{
    return v->n * v->c * v->in[0] * v->in[1];
}

static int64_t y_count(const ht_conv_call *v)
{
    return v->n * v->o * v->out[0] * v->out[1];
}

static int64_t weight_count(const ht_conv_call *v)
{
    return v->o * (v->c / v->groups) * v->kernel[0] * v->kernel[1];
}

static oracle make_oracle(const ht_conv_call *v)
{
    oracle t = {.x = random_values(x_count(v)),
                .weight = random_values(weight_count(v)),
                .y = random_values(y_count(v)),
                .bias = random_values(v->o),
                .result = calloc((size_t)y_count(v) + 1, sizeof(double)),
                .dx = calloc((size_t)x_count(v) + 1, sizeof(double)),
                .dweight = calloc((size_t)weight_count(v) + 1, sizeof(double)),
                .dbias = calloc((size_t)v->o + 1, sizeof(double))};

    convolve(v, &t);
    return t;
}

static void free_oracle(oracle *t)
{
    double *all[8] = {t->x, t->weight, t->y, t->bias, t->result, t->dx, t->dweight, t->dbias};

    for (int i = 0; i < 8; i++)
        free(all[i]);
}

static int convolve_with(const ht_kernel_table *k, ht_kernel kernel, ht_dtype dtype, ht_conv_call v,
                         void *x, void *weight, void *bias, void *y)
{
    v.x.data = x;
    v.weight.data = weight;
    v.bias.data = bias;
    v.y.data = y;
    return cpu_run(k, kernel, dtype, &v);
}

/* The three kernels of a table against the oracle; results start as garbage. The gradient of the
 * bias alone comes last. */
static void check_conv(const ht_kernel_table *k, ht_dtype dtype, const ht_conv_call *v)
{
    oracle t = make_oracle(v);
    void *x = as_dtype(dtype, t.x, x_count(v)), *y = as_dtype(dtype, t.y, y_count(v));
    void *weight = as_dtype(dtype, t.weight, weight_count(v));
    void *bias = as_dtype(dtype, t.bias, v->o), *result = as_dtype(dtype, t.y, y_count(v));
    void *dx = as_dtype(dtype, t.x, x_count(v)), *dbias = as_dtype(dtype, t.bias, v->o);
    void *dweight = as_dtype(dtype, t.weight, weight_count(v));
    void *only = as_dtype(dtype, t.bias, v->o);
    void *all[9] = {x, y, weight, bias, result, dx, dbias, dweight, only};
    const ht_kernel forward = HT_KERNEL_CONV_FORWARD, backward = HT_KERNEL_CONV_BACKWARD_WEIGHT;

    assert_int_equal(convolve_with(k, forward, dtype, *v, x, weight, bias, result), 0);
    check_close(dtype, result, t.result, y_count(v));
    assert_int_equal(convolve_with(k, HT_KERNEL_CONV_BACKWARD_DATA, dtype, *v, dx, weight, NULL, y),
                     0);
    check_close(dtype, dx, t.dx, x_count(v));
    assert_int_equal(convolve_with(k, backward, dtype, *v, x, dweight, dbias, y), 0);
    check_close(dtype, dweight, t.dweight, weight_count(v));
    check_close(dtype, dbias, t.dbias, v->o);
    assert_int_equal(convolve_with(k, backward, dtype, *v, x, NULL, only, y), 0);
    check_close(dtype, only, t.dbias, v->o);

    free_oracle(&t);
    for (int i = 0; i < 9; i++)
        free(all[i]);
}

static void check_all(const ht_kernel_table *k, ht_dtype dtype)
{
    for (int i = 0; i < JOBS; i++)
        for (int layout = 0; layout < 4; layout++) {
            ht_conv_call v = make_conv(&jobs[i], layout & 1, layout & 2);

            check_conv(k, dtype, &v);
        }
}

/* The plain code as kernels, where the backend's own may ask oneDNN first. */
static int convolve_plainly(void *stream, const ht_kernel_call *call)
{
    const ht_conv_call *v = (const ht_conv_call *)call;

    (void)stream;
    if (call->kernel == HT_KERNEL_CONV_FORWARD)
        return ht__cpu_conv_plain_forward(v, v->x.data, v->weight.data, v->bias.data, v->y.data);
    if (call->kernel == HT_KERNEL_CONV_BACKWARD_DATA)
        return ht__cpu_conv_plain_backward_data(v, v->y.data, v->weight.data, v->x.data);
    return ht__cpu_conv_plain_backward_weight(v, v->x.data, v->y.data, v->weight.data,
                                              v->bias.data);
}

static const ht_kernel_table *plain_kernels(void)
{
    static ht_kernel_table plain;

    for (ht_kernel k = HT_KERNEL_CONV_FORWARD; k <= HT_KERNEL_CONV_BACKWARD_WEIGHT; k++)
        for (int dtype = 0; dtype < HT_DTYPE_COUNT; dtype++)
            plain.at[k][dtype] = convolve_plainly;
    return &plain;
}

static void plain_convolutions_of_each_dtype(void **state)
{
    (void)state;
    for (int dtype = HT_FLOAT16; dtype <= HT_FLOAT64; dtype++)
        check_all(plain_kernels(), (ht_dtype)dtype);
}

/* The kernels that users get: for float32 those of oneDNN, where the build has it. */
static void test_backend(void **state)
{
    (void)state;
    check_all(ht__cpu_kernels(), HT_FLOAT64);
    check_all(ht__cpu_kernels(), HT_FLOAT32);
}

/* Float32 takes oneDNN's path, for each kernel and layout; the second call has other weights. */
static void test_onednn(void **state)
{
    (void)state;
#ifndef HT_HAVE_ONEDNN
    HT_TEST_SKIP("built without oneDNN");
#else
    static const job nets[] = {{1, 32, 64, 1, 24, 3, 1, 0, 1},
                               {7, 1, 32, 1, 26, 3, 1, 0, 1},
                               {64, 16, 16, 1, 9, 3, 1, 1, 1}};

    for (int i = 0; i < 3; i++)
        for (int layout = 0; layout < 4; layout++) {
            ht_conv_call v = make_conv(&nets[i], layout & 1, layout & 2);
            int64_t calls = ht__cpu_onednn_calls();

            check_conv(ht__cpu_kernels(), HT_FLOAT32, &v);
            check_conv(ht__cpu_kernels(), HT_FLOAT32, &v);
            assert_int_equal(ht__cpu_onednn_calls() - calls, 6);
        }
#endif
}

static void test_weights_changed_in_place(void **state)
{
    ht_conv_call v = make_conv(&(job){1, 1, 1, 1, 1, 1, 1, 0, 1}, true, true);
    float x[3] = {1, 2, 3}, weight = 2, y[3];

    (void)state;
    v.x.data = x;
    v.weight.data = &weight;
    v.y.data = y;
    assert_int_equal(cpu_run(ht__cpu_kernels(), HT_KERNEL_CONV_FORWARD, HT_FLOAT32, &v), 0);
    assert_true(y[0] == 2 && y[2] == 6);
    weight = -1;
    assert_int_equal(cpu_run(ht__cpu_kernels(), HT_KERNEL_CONV_FORWARD, HT_FLOAT32, &v), 0);
    assert_true(y[0] == -1 && y[2] == -3);
}

static void test_other_than_images_are_refused(void **state)
{
    ht_conv_call v = make_conv(&(job){1, 1, 1, 1, 1, 1, 1, 0, 1}, false, false);
    float x[3] = {1, 2, 3}, weight = 2, y[3] = {7, 7, 7};

    (void)state;
    v.x.data = x;
    v.weight.data = &weight;
    v.y.data = y;
    for (v.spatial = 1; v.spatial <= HT_SPATIAL; v.spatial += 2)
        for (ht_kernel k = HT_KERNEL_CONV_FORWARD; k <= HT_KERNEL_CONV_BACKWARD_WEIGHT; k++)
            assert_int_equal(cpu_run(ht__cpu_kernels(), k, HT_FLOAT32, &v), HT_KERNEL_REFUSED);
    assert_true(x[0] == 1 && weight == 2 && y[0] == 7);
}

/* No kernel; and the plain code itself, which others may call, names the dtype. */
static void test_dtypes_without_convolution(void **state)
{
    ht_conv_call v = make_conv(&jobs[0], false, false);
    int32_t x[256] = {0}, weight[256] = {0}, y[512] = {0};

    (void)state;
    for (int dtype = 0; dtype < HT_DTYPE_COUNT; dtype++)
        for (ht_kernel k = HT_KERNEL_CONV_FORWARD; k <= HT_KERNEL_CONV_BACKWARD_WEIGHT; k++) {
            if (!ht_dtype_is_floating((ht_dtype)dtype))
                assert_null(ht__cpu_kernel(k, (ht_dtype)dtype));
        }
    assert_int_not_equal(
        convolve_with(plain_kernels(), HT_KERNEL_CONV_FORWARD, HT_INT32, v, x, weight, NULL, y), 0);
    assert_message("ht_conv2d: dtype is int32, expected one with a kernel on the cpu");
}

static void *ask_for_nothing(void *got)
{
    *(bool *)got = ht__cpu_scratch(0) != NULL;
    return NULL;
}

/* Some of oneDNN's convolutions work in no memory: where one is a thread's first, too. */
static void test_a_primitive_without_scratch_succeeds(void **state)
{
    pthread_t thread;
    bool got = false;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, ask_for_nothing, &got), 0);
    pthread_join(thread, NULL);
    assert_true(got);
}

HT_TEST_SUITE(test_cpu_conv, cmocka_unit_test(test_a_primitive_without_scratch_succeeds),
              cmocka_unit_test(plain_convolutions_of_each_dtype), cmocka_unit_test(test_backend),
              cmocka_unit_test(test_onednn), cmocka_unit_test(test_weights_changed_in_place),
              cmocka_unit_test(test_other_than_images_are_refused),
              cmocka_unit_test(test_dtypes_without_convolution));
