/* SPDX-License-Identifier: MIT
 *
 * The convolution and pooling kernels of the MNIST network at batch 64, channels-last: the best
 * time of many, in milliseconds. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "backends/cpu/cpu.h"
#include "ht/kernels/nn.h"

#define REPEATS 40

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static float *random_floats(int64_t count)
{
    float *values = malloc((size_t)count * sizeof *values);

    for (int64_t i = 0; i < count; i++)
        values[i] = (float)rand() / (float)RAND_MAX - 0.5f;
    return values;
}

static void set_channels_last(int64_t stride[4], int64_t c, const int64_t in[2])
{
    stride[0] = c * in[0] * in[1];
    stride[1] = 1;
    stride[2] = c * in[1];
    stride[3] = c;
}

#define BEST_OF(best, call)                           \
    do {                                              \
        (best) = 1e9;                                 \
        for (int i_ = 0; i_ < REPEATS; i_++) {        \
            double start_ = now(), took_;             \
            if ((call) != 0)                          \
                exit(1);                              \
            took_ = now() - start_;                   \
            (best) = took_ < (best) ? took_ : (best); \
        }                                             \
    } while (0)

/* arguments: of the kernel's struct. */
#define RUN(kernel_, dtype_, arguments) \
    ht__cpu_kernel(kernel_, dtype_)(    \
        NULL,                           \
        fill_call((ht_kernel_call *)(arguments), (uint32_t)sizeof *(arguments), kernel_, dtype_))

static const ht_kernel_call *fill_call(ht_kernel_call *call, uint32_t bytes, ht_kernel kernel,
                                       ht_dtype dtype)
{
    *call = (ht_kernel_call){.bytes = bytes, .kernel = kernel, .dtype = dtype, .what = "bench"};
    return call;
}

static void bench_conv(const char *name, int64_t c, int64_t o, int64_t in)
{
    ht_conv_call v = {.n = 64,
                      .spatial = 2,
                      .c = c,
                      .o = o,
                      .groups = 1,
                      .in = {in, in},
                      .kernel = {3, 3},
                      .out = {in - 2, in - 2},
                      .stride = {1, 1},
                      .dilation = {1, 1}};
    float *x = random_floats(v.n * c * in * in), *weight = random_floats(o * c * 9);
    float *y = random_floats(v.n * o * in * in), *bias = random_floats(o);
    double forward, data, gradient;

    set_channels_last(v.x_stride, c, v.in);
    set_channels_last(v.y_stride, o, v.out);
    v.x.data = x;
    v.y.data = y;
    v.weight.data = weight;
    v.bias.data = bias;
    BEST_OF(forward, RUN(HT_KERNEL_CONV_FORWARD, HT_FLOAT32, &v));
    BEST_OF(gradient, RUN(HT_KERNEL_CONV_BACKWARD_WEIGHT, HT_FLOAT32, &v));
    BEST_OF(data, RUN(HT_KERNEL_CONV_BACKWARD_DATA, HT_FLOAT32, &v));
    printf("%-8s forward %6.2f  weight gradient %6.2f  data gradient %6.2f\n", name, forward,
           gradient, data);
    free(x);
    free(y);
    free(weight);
    free(bias);
}

static void bench_pool(void)
{
    ht_pool_call p = {.n = 64,
                      .spatial = 2,
                      .c = 64,
                      .in = {24, 24},
                      .kernel = {2, 2},
                      .out = {12, 12},
                      .stride = {2, 2},
                      .dilation = {1, 1}};
    float *x = random_floats(64 * 64 * 24 * 24), *y = random_floats(64 * 64 * 12 * 12);
    int32_t *index = malloc(sizeof *index * 64 * 64 * 12 * 12);
    double forward, backward;

    set_channels_last(p.x_stride, p.c, p.in);
    set_channels_last(p.y_stride, p.c, p.out);
    p.x.data = x;
    p.y.data = y;
    p.index.data = index;
    BEST_OF(forward, RUN(HT_KERNEL_MAX_POOL_FORWARD, HT_FLOAT32, &p));
    BEST_OF(backward, RUN(HT_KERNEL_MAX_POOL_BACKWARD, HT_FLOAT32, &p));
    printf("%-8s forward %6.2f  backward %6.2f\n", "pool", forward, backward);
    free(x);
    free(y);
    free(index);
}

int main(void)
{
    printf("best of %d, ms, kernels: %s\n", REPEATS, ht__cpu_simd_level());
    bench_conv("conv1", 1, 32, 28);
    bench_conv("conv2", 32, 64, 26);
    bench_pool();
    return 0;
}
