/* ranks 1 own device */
/* SPDX-License-Identifier: MIT */
/* Reads, writes and sums of rows, and resampling, of the CUDA module compared with the CPU's, over
 * every dtype. The bits are the same wherever rows or taps share a place, and however many share
 * it. */
#include "cuda_device.h"
#include "backends/cpu/cpu_kernels.h"
#include "ht/kernels/index.h"

enum {
    ROWS = 700,
    MANY = 9000,
    ROOM = 12000,
    BYTES = ROOM * 16,
    AXES = 2,
    ORDERS = sizeof cuda_orders / sizeof *cuda_orders
};

static const struct listed {
    ht_kernel id;
    const char *name;
    int x; /* its operand */
} kernels[] = {
    {HT_KERNEL_TAKE, "TAKE", 1}, {HT_KERNEL_PUT, "PUT", 0}, {HT_KERNEL_PUT_ADD, "PUT_ADD", 0}};

/* Along an axis, an index is one of `different` that are next to one another, and negative for odd
 * rows. */
typedef struct job {
    const char *name;
    int64_t rows, shape[2], x_stride[2], stride[2], row_step, begin; /* begin: of x */
    int axes;
    ht_indexed_axis axis[AXES];
    int64_t different[AXES];
} job;

/* All places of an axis, or n from one on. */
#define PART(all, first, n, step)                                 \
    {                                                             \
        .length = all, .start = first, .count = n, .stride = step \
    }
#define ALL(n, step) PART(n, 0, n, step)

/* clang-format off */
static const job jobs[] = {
    {"few rows", 20, {1, 7}, {0, 1}, {0, 1}, 7, 0, 1, {ALL(50, 7)}, {50}},
    {"repeated places", ROWS, {1, 7}, {0, 1}, {0, 1}, 7, 0, 1, {ALL(90, 7)}, {90}},
    {"single elements", ROWS, {1, 1}, {0, 1}, {0, 1}, 1, 0, 1, {ALL(9000, 1)}, {9000}},
    {"many rows", MANY, {1, 1}, {0, 1}, {0, 1}, 1, 0, 1, {ALL(4000, 3)}, {4000}},
    {"many rows at one place", MANY, {1, 1}, {0, 1}, {0, 1}, 1, 0, 1, {ALL(4000, 3)}, {1}},
    {"one place", ROWS, {1, 5}, {0, 1}, {0, 1}, 5, 0, 1, {ALL(300, 5)}, {1}},
    {"one place, of one", ROWS, {1, 5}, {0, 1}, {0, 1}, 5, 0, 1, {ALL(1, 5)}, {1}},
    {"three places", ROWS, {1, 5}, {0, 1}, {0, 1}, 5, 0, 1, {ALL(300, 5)}, {3}},
    {"backwards", ROWS, {1, 6}, {0, -1}, {0, 1}, 6, 599, 1, {ALL(100, -6)}, {100}},
    {"columns", ROWS, {1, 6}, {0, 100}, {0, ROWS}, 1, 0, 1, {ALL(100, 1)}, {100}},
    {"rows of two axes", 200, {3, 4}, {4, -1}, {800, 1}, 4, 3, 1, {ALL(60, 12)}, {60}},
    {"two indexed axes", ROWS, {1, 4}, {0, 1}, {0, 1}, 4, 0, 2, {ALL(9, 4), ALL(11, 36)}, {9, 11}},
    {"an axis backwards", ROWS, {1, 1}, {0, 1}, {0, 1}, 1, 80, 2, {ALL(9, -10), ALL(10, 1)}, {9, 10}},
    {"a part", ROWS, {1, 3}, {0, 1}, {0, 1}, 3, 0, 1, {PART(200, 70, 64, 3)}, {200}},
    {"parts of two axes", ROWS, {1, 1}, {0, 1}, {0, 1}, 1, 7, 2,
     {PART(20, 5, 7, 8), PART(9, 1, 8, -1)}, {20, 9}},
    {"more places than keys", ROWS, {1, 1}, {0, 1}, {0, 1}, 1, 0, 2,
     {ALL(2, INT64_C(1) << 33), ALL(50, 1)}, {1, 50}},
    {"no places", ROWS, {1, 3}, {0, 1}, {0, 1}, 3, 0, 1, {PART(200, 200, 0, 3)}, {200}},
};
/* clang-format on */

static cpu_level levels[3];
static ht_device *device;
static _Alignas(64) char x[BYTES], y[BYTES], expected[BYTES], got[BYTES];
static int64_t at[AXES][MANY];
static struct {
    char *x, *y;
    int64_t *at[AXES];
} remote;

static int open_device(void **state)
{
    (void)state;
    cpu_levels(levels);
    device = cuda_device();
    if (device == NULL)
        return 0;
    remote.x = cuda_room(device, sizeof x);
    remote.y = cuda_room(device, sizeof y);
    for (int k = 0; k < AXES; k++)
        remote.at[k] = cuda_room(device, sizeof at[k]);
    return 0;
}

/* Sums of these depend on the order. */
static void fill(char *array, ht_dtype dtype, uint64_t seed)
{
    for (int64_t i = 0; i < ROOM; i++)
        cpu_set(dtype, array, i,
                (cpu_random(&seed) - (dtype == HT_UINT8 ? 0 : 0.5)) * (i % 9 == 0 ? 100 : 3));
}

static void fill_indices(const job *j)
{
    uint64_t seed = 3;

    for (int k = 0; k < j->axes; k++)
        for (int64_t row = 0; row < j->rows; row++) {
            const int64_t length = j->axis[k].length, first = (length - j->different[k]) / 2;

            at[k][row] = first + (int64_t)(cpu_random(&seed) * (double)j->different[k]);
            at[k][row] -= row % 2 == 1 ? length : 0;
        }
}

static ht_index_call make_call(const struct listed *k, const job *j, ht_dtype dtype, char *to_x,
                               char *to_y, int64_t *const to_at[])
{
    ht_index_call c = {.loop = {.ndim = j->shape[0] == 1 ? 1 : 2},
                       .rows = j->rows,
                       .row_step = j->row_step,
                       .axes = j->axes};
    const int first = 2 - c.loop.ndim;

    for (int axis = 0; axis < c.loop.ndim; axis++) {
        c.loop.shape[axis] = j->shape[first + axis];
        c.loop.stride[k->x][axis] = j->x_stride[first + axis];
        c.loop.stride[1 - k->x][axis] = j->stride[first + axis];
    }
    c.loop.operand[k->x] = CPU_AT(to_x + j->begin * (int64_t)ht_dtype_size(dtype));
    c.loop.operand[1 - k->x] = CPU_AT(to_y);
    for (int axis = 0; axis < j->axes; axis++) {
        c.axis[axis] = j->axis[axis];
        c.axis[axis].at = CPU_AT(to_at[axis]);
        c.axis[axis].at_step = 1;
    }
    return c;
}

/* A kernel whose result is remote.x or remote.y. */
static void on_device(ht_kernel_call *call, const ht_kernel_call *as, const char *result,
                      size_t order)
{
    *call = *as;
    ht__device_put(device, remote.x, x, sizeof x);
    ht__device_put(device, remote.y, y, sizeof y);
    for (int axis = 0; axis < AXES; axis++)
        ht__device_put(device, remote.at[axis], at[axis], sizeof at[axis]);
    setenv("EMULATED_ORDER", cuda_orders[order], true);
    assert_int_equal(device->kernels->at[call->kernel][call->dtype](device->stream, call), 0);
    assert_int_equal(ht__device_get(device, got, result, sizeof got), 0);
    unsetenv("EMULATED_ORDER");
}

static void compare(const char *kernel, ht_dtype dtype, const char *name, size_t order)
{
    for (int64_t i = 0; i < ROOM; i++)
        if (!cpu_same(dtype, got, i, expected, i))
            fail_msg("%s of %s, %s, %s: element %lld is %.17g, expected %.17g", kernel,
                     ht_dtype_name(dtype), name, cuda_orders[order], (long long)i,
                     cpu_get(dtype, got, i), cpu_get(dtype, expected, i));
}

static void check_rows(const struct listed *k, const job *j, ht_dtype dtype)
{
    int64_t *const here[AXES] = {at[0], at[1]};
    int64_t *const there[AXES] = {remote.at[0], remote.at[1]};
    ht_index_call c = make_call(k, j, dtype, k->x == 0 ? expected : x, k->x == 0 ? y : expected,
                                here);
    const ht_kernel_call as = {.bytes = sizeof c,
                               .kernel = k->id,
                               .dtype = dtype,
                               .operands = HT_LOOP_OPERANDS,
                               .what = "the test"};

    fill_indices(j);
    memcpy(expected, k->x == 0 ? x : y, sizeof expected);
    assert_int_equal(cpu_run(&levels[0].kernels, k->id, dtype, &c), 0);
    for (size_t order = 0; order < ORDERS; order++) {
        c = make_call(k, j, dtype, remote.x, remote.y, there);
        on_device(&c.loop.call, &as, k->x == 0 ? remote.x : remote.y, order);
        compare(k->name, dtype, j->name, order);
    }
}

static void rows_equal_those_of_the_cpu(void **state)
{
    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    for (int dtype = 0; dtype < HT_DTYPE_COUNT; dtype++) {
        fill(x, (ht_dtype)dtype, 7);
        fill(y, (ht_dtype)dtype, 8);
        for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
            assert_non_null(device->kernels->at[kernels[i].id][dtype]);
            for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++)
                check_rows(&kernels[i], &jobs[j], (ht_dtype)dtype);
        }
    }
}

/* Places and weights of taps, those of at[1] as double, take no order. */
static void fill_taps(const ht_resample_call *r)
{
    uint64_t seed = 9;

    for (int64_t tap = 0; tap < r->taps * r->out; tap++) {
        const double weight = cpu_random(&seed) - 0.25;

        at[0][tap] = (int64_t)(cpu_random(&seed) * (double)r->in);
        memcpy(&at[1][tap], &weight, sizeof weight);
    }
}

static void check_resampling(ht_resample_call r, ht_kernel id, ht_dtype dtype)
{
    const bool forward = id == HT_KERNEL_RESAMPLE_FORWARD;
    const ht_kernel_call as = {.bytes = sizeof r,
                               .kernel = id,
                               .dtype = dtype,
                               .operands = HT_RESAMPLE_OPERANDS,
                               .what = "the test"};

    fill_taps(&r);
    memcpy(expected, forward ? y : x, sizeof expected);
    r.at = CPU_AT(at[0]);
    r.weight = CPU_AT(at[1]);
    r.x = CPU_AT(forward ? x : expected);
    r.y = CPU_AT(forward ? expected : y);
    assert_int_equal(cpu_run(&levels[0].kernels, id, dtype, &r), 0);
    r.at = CPU_AT(remote.at[0]);
    r.weight = CPU_AT(remote.at[1]);
    r.x = CPU_AT(remote.x);
    r.y = CPU_AT(remote.y);
    for (size_t order = 0; order < ORDERS; order++) {
        on_device(&r.call, &as, forward ? remote.y : remote.x, order);
        compare(forward ? "RESAMPLE_FORWARD" : "RESAMPLE_BACKWARD", dtype,
                r.inner == 1 ? "the last axis" : "an axis before", order);
    }
}

static void resampling_equals_the_cpu(void **state)
{
    static const ht_resample_call calls[] = {
        {.outer = 6, .in = 40, .out = 70, .inner = 1, .taps = 3},
        {.outer = 2, .in = 200, .out = 90, .inner = 7, .taps = 2},
        {.outer = 3, .in = 1, .out = 600, .inner = 3, .taps = 1},
        {.outer = 1, .in = 3000, .out = 4000, .inner = 1, .taps = 2},
    };

    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    for (int dtype = HT_FLOAT16; dtype <= HT_FLOAT64; dtype++) {
        fill(x, (ht_dtype)dtype, 7);
        fill(y, (ht_dtype)dtype, 8);
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
            check_resampling(calls[i], HT_KERNEL_RESAMPLE_FORWARD, (ht_dtype)dtype);
            check_resampling(calls[i], HT_KERNEL_RESAMPLE_BACKWARD, (ht_dtype)dtype);
        }
    }
}

HT_TEST_SUITE(test_cuda_index,
              cmocka_unit_test_setup_teardown(rows_equal_those_of_the_cpu, open_device, cuda_close),
              cmocka_unit_test_setup_teardown(resampling_equals_the_cpu, open_device, cuda_close));
