/* SPDX-License-Identifier: MIT
 *
 * Speed of the cpu kernels: GB/s of memory read and written, best of many runs, and its ratio to
 * memcpy of the same bytes in the same run.   usage: bench/kernels [elements] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/cpu/cpu.h"

enum { RUNS = 30 };

typedef struct work {
    const ht_kernels *kernels;
    int64_t n; /* elements of each array */
    float *x, *y, *z, *w;
    uint8_t *bytes;
} work;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void row(const work *k, ht_loop_fn f, const void *a, const void *b)
{
    ht_loop loop = {.ndim = 1, .shape = {k->n}, .stride = {{1}, {1}, {1}}, .data = {k->y}};

    loop.data[1] = (void *)(uintptr_t)a;
    loop.data[2] = (void *)(uintptr_t)b;
    f(NULL, &loop);
}

static void copy(const work *k)
{
    memcpy(k->y, k->x, (size_t)k->n * sizeof *k->x);
}

static void add(const work *k)
{
    row(k, k->kernels->binary[HT_BINARY_ADD][HT_FLOAT32], k->x, k->z);
}

static void relu(const work *k)
{
    row(k, k->kernels->unary[HT_UNARY_RELU][HT_FLOAT32], k->x, NULL);
}

static void exponential(const work *k)
{
    row(k, k->kernels->unary[HT_UNARY_EXP][HT_FLOAT32], k->x, NULL);
}

static void hyperbolic(const work *k)
{
    row(k, k->kernels->unary[HT_UNARY_TANH][HT_FLOAT32], k->x, NULL);
}

static void to_float(const work *k)
{
    row(k, k->kernels->convert[HT_UINT8][HT_FLOAT32], k->bytes, NULL);
}

/* The sum of (n / 256, 256) along `axis`. */
static void sum(const work *k, int axis)
{
    const int64_t shape[2] = {k->n / 256, 256}, stride[2] = {256, 1};
    ht_reduction r = {.loop = {.ndim = 1,
                               .shape = {shape[1 - axis]},
                               .stride = {{1}, {stride[1 - axis]}},
                               .data = {k->y, k->x}},
                      .ndim = 1,
                      .shape = {shape[axis]},
                      .stride = {stride[axis]}};

    k->kernels->reduce[HT_REDUCE_SUM][HT_FLOAT32](NULL, &r);
}

static void sum_axis_0(const work *k)
{
    sum(k, 0);
}

static void sum_axis_1(const work *k)
{
    sum(k, 1);
}

static void adadelta(const work *k)
{
    const ht_update u = {.dtype = HT_FLOAT32,
                         .n = k->n,
                         .param = k->y,
                         .grad = k->x,
                         .state = {k->z, k->w},
                         .lr = 1,
                         .beta1 = 0.9,
                         .eps = 1e-6,
                         .grad_scale = 1};

    k->kernels->update[HT_UPDATE_ADADELTA](NULL, &u);
}

static void log_softmax(const work *k)
{
    const ht_rows rows = {.dtype = HT_FLOAT32, .rows = k->n / 10, .columns = 10};

    k->kernels->log_softmax_forward(NULL, &rows, k->x, k->y);
}

static void uniform(const work *k)
{
    const ht_random draw = {.dtype = HT_FLOAT32, .seed = 1, .outer = 1, .inner = k->n, .b = 1};

    k->kernels->random[HT_RANDOM_UNIFORM](NULL, &draw, k->y);
}

static void normal(const work *k)
{
    const ht_random draw = {.dtype = HT_FLOAT32, .seed = 1, .outer = 1, .inner = k->n, .b = 1};

    k->kernels->random[HT_RANDOM_NORMAL](NULL, &draw, k->y);
}

static const struct {
    const char *name;
    void (*run)(const work *);
    int bytes; /* read and written for one element */
} rows[] = {
    {"memcpy", copy, 8},
    {"add", add, 12},
    {"relu", relu, 8},
    {"exp", exponential, 8},
    {"tanh", hyperbolic, 8},
    {"uint8 to float32", to_float, 5},
    {"sum, axis 0", sum_axis_0, 4},
    {"sum, axis 1", sum_axis_1, 4},
    {"adadelta", adadelta, 28},
    {"log_softmax, 10 columns", log_softmax, 8},
    {"uniform", uniform, 4},
    {"normal", normal, 4},
};

int main(int argc, char **argv)
{
    const int64_t n = argc > 1 ? atoll(argv[1]) : 1 << 22;
    const ht_backend *cpu = ht__backend_cpu();
    work k = {.kernels = &cpu->kernels, .n = n};
    float **arrays[] = {&k.x, &k.y, &k.z, &k.w};
    double copied = 0;

    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i] = cpu->memory_alloc(NULL, (size_t)n * sizeof(float));
        if (*arrays[i] == NULL)
            return 1;
        for (int64_t j = 0; j < n; j++)
            (*arrays[i])[j] = (float)(j % 1000) * 1e-3f;
    }
    k.bytes = (uint8_t *)k.w;
    printf("%lld elements, %s\n%-24s %8s %8s %8s\n", (long long)n, ht__cpu_simd_level(), "kernel",
           "ms", "GB/s", "/memcpy");
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        double best = 1e30, speed;

        for (int run = 0; run < RUNS; run++) {
            double start = now(), took;

            rows[r].run(&k);
            took = now() - start;
            best = took < best ? took : best;
        }
        speed = (double)n * rows[r].bytes / best * 1e-9;
        copied = r == 0 ? speed : copied;
        printf("%-24s %8.3f %8.2f %8.2f\n", rows[r].name, 1e3 * best, speed, speed / copied);
    }
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        cpu->memory_free(NULL, *arrays[i]);
    return 0;
}
