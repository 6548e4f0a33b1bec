/* SPDX-License-Identifier: MIT
 *
 * Speed of a device: GB/s of memory read and written, with its ratio to a copy on the device, and
 * matrix products, with their ratio to cuBLAS called directly. Best of many runs.
 *
 * usage: bench/gpu [DEVICE [MIB]], MIB: of each operand; cuda:0 and 1024 by default */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpu.h"

enum { RUNS = 5, CALLS = 4 }; /* calls of a run, which the host does not wait for */
enum { COLUMNS = 4096 };

static ht_device *device;
static bool on_cuda;

static struct operands {
    ht_tensor *x, *y, *z;
    ht_tensor *a, *b, *c; /* matrices */
    ht_optimizer *sgd, *adam;
} o;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double best_of(void (*call)(void), void (*finish)(void))
{
    double best = 1e9;

    for (int run = -1; run < RUNS; run++) { /* the first one warms up */
        const double start = now();

        for (int i = 0; i < CALLS; i++) {
            ht_scope *scope = ht_scope_open();

            call();
            ht_scope_close(scope); /* its memory serves the next call */
        }
        finish();
        const double seconds = (now() - start) / CALLS;

        if (run >= 0 && seconds < best)
            best = seconds;
    }
    return best;
}

static void wait_for_device(void)
{
    ht_device_synchronize(device);
}

static void copy(void)
{
    device->backend->memory_copy(device->stream, ht__body_data(o.z->body), ht__body_data(o.x->body),
                                 (size_t)ht_tensor_nbytes(o.x), HT_COPY_ON_DEVICE);
}

static void add(void)
{
    ht_add(o.x, o.y);
}

static void add_in_place(void)
{
    ht_add_(o.x, o.y, 1e-9);
}

static void exponential(void)
{
    ht_exp(o.x);
}

static void relu(void)
{
    ht_relu(o.x);
}

static void transposed(void)
{
    ht_contiguous(ht_transpose(o.x, 0, 1));
}

static void sum(void)
{
    ht_sum(o.x, HT_NONE);
}

static void sum_of_rows(void)
{
    ht_sum(o.x, 1);
}

static void sgd(void)
{
    ht_optimizer_step(o.sgd);
}

static void adam(void)
{
    ht_optimizer_step(o.adam);
}

static const struct stream_case {
    const char *name;
    void (*call)(void);
    int operands; /* read or written */
} stream_cases[] = {
    {"copy", copy, 2},
    {"add", add, 3},
    {"add in place", add_in_place, 3},
    {"exp", exponential, 2},
    {"relu", relu, 2},
    {"copy of a transpose", transposed, 2},
    {"sum", sum, 1},
    {"sum of each row", sum_of_rows, 1},
    {"step of SGD", sgd, 3},
    {"step of Adam", adam, 7},
};

static void measure_streams(double bytes)
{
    double of_copy = 0;

    for (size_t i = 0; i < sizeof stream_cases / sizeof *stream_cases; i++) {
        const struct stream_case *c = &stream_cases[i];
        const double rate = c->operands * bytes / best_of(c->call, wait_for_device) * 1e-9;

        if (i == 0)
            of_copy = rate;
        printf("%-20s %8.1f GB/s  %5.2f of a copy\n", c->name, rate, rate / of_copy);
    }
}

static void product(void)
{
    ht_matmul(o.a, o.b);
}

static ht_tensor *matrix(int64_t n, ht_dtype dtype)
{
    return ht_astype(ht_randn(HT_SHAPE(n, n), HT_FLOAT32, HT_NONE), dtype);
}

static void measure_product(int64_t n, ht_dtype dtype)
{
    ht_scope *scope = ht_scope_open();
    double ours, theirs = 0;

    o.a = matrix(n, dtype);
    o.b = matrix(n, dtype);
    o.c = matrix(n, dtype);
    ours = best_of(product, wait_for_device);
    wait_for_device();
    if (on_cuda)
        theirs = cublas_seconds(o.a, o.b, o.c);
    printf("product %5" PRId64 " %-9s %8.2f TFLOP/s", n, ht_dtype_name(dtype),
           2e-12 * (double)(n * n * n) / ours);
    if (theirs > 0)
        printf("  %5.2f of cuBLAS", theirs / ours);
    printf("\n");
    ht_scope_close(scope);
}

/* z is what the optimizers change. */
static void make_operands(int64_t rows)
{
    ht_tensor **all[] = {&o.x, &o.y, &o.z};

    for (int i = 0; i < 3; i++)
        *all[i] = ht_rand(HT_SHAPE(rows, COLUMNS), HT_FLOAT32, HT_NONE);
    ht_tensor_set_requires_grad(o.z, true);
    ht_tensor_set_grad(o.z, o.y);
    o.sgd = ht_optim_sgd(ht_value_tensors(1, &o.z), 1e-3, NULL);
    o.adam = ht_optim_adam(ht_value_tensors(1, &o.z), 1e-3, NULL);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "cuda:0";
    const int64_t mib = argc > 2 ? atoll(argv[2]) : 1024;

    ht_init(&argc, &argv);
    ht_use_comm(HT_COMM_SELF);
    device = ht_device_get(name);
    ht_use_device(device);
    on_cuda = strncmp(name, "cuda", 4) == 0;

    ht_scope *scope = ht_scope_open();

    make_operands(mib * ((1 << 20) / 4 / COLUMNS));
    measure_streams((double)ht_tensor_nbytes(o.x));
    ht_release(o.sgd);
    ht_release(o.adam);
    ht_scope_close(scope);
    measure_product(on_cuda ? 4096 : 512, HT_FLOAT32);
    measure_product(on_cuda ? 8192 : 512, HT_BFLOAT16);
    printf("kernels that ran on the host: %" PRId64 "\n", ht_device_fallbacks(device));
    return ht_finalize() != 0;
}
