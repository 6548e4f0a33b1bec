/* SPDX-License-Identifier: MIT
 *
 * Speed of the cpu kernels: GB/s of memory read and written, best of many runs, and its ratio to
 * memcpy of the same bytes in the same run.   usage: bench/kernels [elements] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/cpu/cpu.h"
#include "ht/kernels/elementwise.h"
#include "ht/kernels/nn.h"
#include "ht/kernels/optim.h"
#include "ht/kernels/random.h"
#include "ht/kernels/reduce.h"

enum { RUNS = 30 };

typedef struct work {
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

/* An operand at a place; kernels of the host do not read how far it reaches. */
#define AT(place) ((ht_kernel_operand){.data = (void *)(uintptr_t)(place)})

/* arguments: of the kernel's struct. */
#define RUN(kernel_, dtype_, arguments) \
    ht__cpu_kernel(kernel_, dtype_)(    \
        NULL,                           \
        fill_call((ht_kernel_call *)(arguments), (uint32_t)sizeof *(arguments), kernel_, dtype_))

static const ht_kernel_call *fill_call(ht_kernel_call *call, uint32_t bytes, ht_kernel kernel,
                                       ht_dtype dtype)
{
    call->bytes = bytes;
    call->kernel = kernel;
    call->dtype = dtype;
    call->what = "bench";
    return call;
}

static void row(const work *k, ht_kernel kernel, ht_dtype dtype, const void *a, const void *b)
{
    ht_loop loop = {
        .operand = {AT(k->y), AT(a), AT(b)}, .ndim = 1, .shape = {k->n}, .stride = {{1}, {1}, {1}}};

    RUN(kernel, dtype, &loop);
}

static void copy(const work *k)
{
    memcpy(k->y, k->x, (size_t)k->n * sizeof *k->x);
}

static void add(const work *k)
{
    row(k, HT_KERNEL_ADD, HT_FLOAT32, k->x, k->z);
}

static void relu(const work *k)
{
    row(k, HT_KERNEL_RELU, HT_FLOAT32, k->x, NULL);
}

static void leaky_relu(const work *k)
{
    ht_loop loop = {.ndim = 1,
                    .shape = {k->n},
                    .stride = {{1}, {1}},
                    .operand = {AT(k->y), AT(k->x)},
                    .param = {0.01}};

    RUN(HT_KERNEL_LEAKY_RELU, HT_FLOAT32, &loop);
}

static void axpby(const work *k)
{
    ht_loop loop = {.ndim = 1,
                    .shape = {k->n},
                    .stride = {{1}, {1}, {1}},
                    .operand = {AT(k->y), AT(k->x), AT(k->z)},
                    .param = {0.9, 0.1}};

    RUN(HT_KERNEL_AXPBY, HT_FLOAT32, &loop);
}

/* Between two numbers. */
static void clip(const work *k)
{
    const float bounds[2] = {0.25f, 0.75f};
    ht_loop loop = {
        .ndim = 1, .shape = {k->n}, .stride = {{1}, {1}}, .operand = {AT(k->y), AT(k->x)}};

    memcpy(loop.value[2].bytes, &bounds[0], sizeof bounds[0]);
    memcpy(loop.value[3].bytes, &bounds[1], sizeof bounds[1]);
    RUN(HT_KERNEL_CLIP, HT_FLOAT32, &loop);
}

static void exponential(const work *k)
{
    row(k, HT_KERNEL_EXP, HT_FLOAT32, k->x, NULL);
}

static void hyperbolic(const work *k)
{
    row(k, HT_KERNEL_TANH, HT_FLOAT32, k->x, NULL);
}

static void to_float(const work *k)
{
    row(k, HT_KERNEL_CONVERT_FLOAT32, HT_UINT8, k->bytes, NULL);
}

/* The sum of (n / 256, 256) along `axis`. */
static void sum(const work *k, int axis)
{
    const int64_t shape[2] = {k->n / 256, 256}, stride[2] = {256, 1};
    ht_reduction r = {.loop = {.ndim = 1,
                               .shape = {shape[1 - axis]},
                               .stride = {{1}, {stride[1 - axis]}},
                               .operand = {AT(k->y), AT(k->x)}},
                      .ndim = 1,
                      .shape = {shape[axis]},
                      .stride = {stride[axis]}};

    RUN(HT_KERNEL_SUM, HT_FLOAT32, &r);
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
    struct {
        ht_update_call update;
        ht_update_part part;
    } one = {.update = {.lr = 1, .beta1 = 0.9, .eps = 1e-6, .grad_scale = 1},
             .part = {.param = AT(k->y),
                      .grad = AT(k->x),
                      .state = {AT(k->z), AT(k->w)},
                      .n = k->n,
                      .step = 1}};

    one.update.call.rows = 1;
    one.update.call.table = (uint32_t)((char *)&one.part - (char *)&one);

    RUN(HT_KERNEL_UPDATE_ADADELTA, HT_FLOAT32, &one);
}

static void log_softmax(const work *k)
{
    ht_rows_call rows_of_10 = {.rows = k->n / 10, .columns = 10, .x = AT(k->x), .y = AT(k->y)};

    RUN(HT_KERNEL_LOG_SOFTMAX_FORWARD, HT_FLOAT32, &rows_of_10);
}

static void uniform(const work *k)
{
    ht_random_call draw = {.out = AT(k->y), .draw = {.seed = 1, .outer = 1, .inner = k->n, .b = 1}};

    RUN(HT_KERNEL_RANDOM_UNIFORM, HT_FLOAT32, &draw);
}

static void normal(const work *k)
{
    ht_random_call draw = {.out = AT(k->y), .draw = {.seed = 1, .outer = 1, .inner = k->n, .b = 1}};

    RUN(HT_KERNEL_RANDOM_NORMAL, HT_FLOAT32, &draw);
}

static const struct {
    const char *name;
    void (*run)(const work *);
    int bytes; /* read and written for one element */
} rows[] = {
    {"memcpy", copy, 8},
    {"add", add, 12},
    {"relu", relu, 8},
    {"leaky_relu", leaky_relu, 8},
    {"axpby", axpby, 12},
    {"clip", clip, 8},
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
    work k = {.n = n};
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
