/* ranks 1 own device */
/* SPDX-License-Identifier: MIT */
/* Reductions and cumulative sums of the CUDA module compared with the CPU's, over every dtype,
 * along any axes. Elements are small whole numbers, whose sums are exact in any order. */
#include "cuda_device.h"
#include "backends/cpu/cpu_kernels.h"
#include "ht/kernels/reduce.h"

enum { ROOM = 40000, RECORD = 4, BYTES = ROOM * 16 };

static const struct listed {
    ht_kernel id;
    const char *name, *operands;
} kernels[] = {
#define ROW(name, operands) {HT_KERNEL_##name, #name, operands},
    HT_REDUCE_KERNELS(ROW) HT_CUMULATIVE_KERNELS(ROW)
#undef ROW
};

/* Outputs with the strides of y, x and the positions, and the reduced axes. */
typedef struct job {
    const char *name;
    int ndim;
    int64_t shape[3], stride[3][3], begin;
    int reduced;
    int64_t length[3], step[3];
} job;

static const job jobs[] = {
    {"rows", 1, {13}, {{1}, {1500}, {1}}, 0, 1, {1500}, {1}},
    {"columns", 1, {1500}, {{1}, {1}, {1}}, 0, 1, {13}, {1500}},
    {"all", 1, {1}, {{1}, {1}, {1}}, 0, 1, {ROOM}, {1}},
    {"many short rows", 1, {3000}, {{1}, {5}, {2}}, 0, 1, {5}, {1}},
    {"backwards", 1, {10}, {{2}, {-1000}, {1}}, 9999, 1, {1000}, {-1}},
    {"outer and inner axis", 1, {5}, {{1}, {11}, {1}}, 0, 2, {70, 11}, {55, 1}},
    {"two axes stay", 3, {4, 3, 7}, {{21, 7, 1}, {210, 70, 1}, {21, 7, 1}}, 0, 1, {10}, {7}},
    {"a long row, from an odd element", 1, {1}, {{1}, {1}, {1}}, 3, 1, {ROOM - 3}, {1}},
    {"long columns", 1, {3}, {{1}, {1}, {1}}, 0, 1, {ROOM / 3}, {3}},
    {"rows of one thread each", 1, {300}, {{1}, {130}, {1}}, 0, 1, {61}, {2}},
    {"rows of a few threads each", 1, {100}, {{1}, {400}, {1}}, 1, 1, {399}, {1}},
    {"two axes that are one", 1, {5}, {{1}, {1}, {1}}, 0, 2, {70, 11}, {55, 5}},
    {"a reduced axis of length 1", 1, {5}, {{1}, {1}, {1}}, 0, 2, {70, 1}, {55, 7}},
    {"a reduced axis of length 1 first", 1, {5}, {{1}, {700}, {1}}, 0, 2, {1, 70}, {55, 7}},
    {"three reduced axes", 1, {3}, {{1}, {7}, {1}}, 0, 3, {70, 9, 7}, {567, 63, 1}},
    {"one element each", 1, {17}, {{1}, {1}, {1}}, 0, 1, {1}, {1}},
    {"no outputs", 1, {0}, {{1}, {1}, {1}}, 0, 1, {5}, {1}},
    {"nothing to add", 1, {12}, {{1}, {1}, {1}}, 0, 1, {0}, {1}},
};

static cpu_level levels[3];
static ht_device *device;
static _Alignas(64) char x[BYTES], start[BYTES], expected[RECORD * BYTES], got[RECORD * BYTES];
static int64_t expected_at[ROOM], got_at[ROOM];
static int64_t
    places; /* elements of the output that are compared: those that a job may write, and some */
static struct {
    char *x, *start, *y, *at;
} remote;

static int open_device(void **state)
{
    (void)state;
    cpu_levels(levels);
    device = cuda_device();
    if (device == NULL)
        return 0;
    remote.x = cuda_room(device, sizeof x);
    remote.start = cuda_room(device, sizeof start);
    remote.y = cuda_room(device, sizeof got);
    remote.at = cuda_room(device, sizeof got_at);
    return 0;
}

static void fill(char *array, ht_dtype dtype, bool nan)
{
    uint64_t seed = 5;

    for (int64_t i = 0; i < ROOM; i++)
        cpu_set(dtype, array, i, floor(4 * cpu_random(&seed)) - (dtype == HT_UINT8 ? 0 : 2));
    for (int64_t i = 100; nan && i < ROOM; i += 700)
        cpu_set(dtype, array, i, i % 2 == 0 ? NAN : -0.0);
}

static ht_dtype part_of(ht_dtype dtype)
{
    return dtype == HT_COMPLEX64 ? HT_FLOAT32 : HT_FLOAT64;
}

/* 1, and now and then 2, or of complex numbers 2i: products are exact in any order. */
static void fill_factors(ht_dtype dtype)
{
    for (int64_t at = 0; at < ROOM; at++) {
        const bool two = at % 1000 == 7;

        if (dtype < HT_COMPLEX64) {
            cpu_set(dtype, x, at, two ? 2 : 1);
        } else {
            cpu_set(part_of(dtype), x, 2 * at, two ? 0 : 1);
            cpu_set(part_of(dtype), x, 2 * at + 1, two ? 2 : 0);
        }
    }
}

/* The same bits, but that the order of products decides the signs of a complex number's zeros. */
static bool same(ht_dtype of, int64_t i)
{
    const ht_dtype part = part_of(of);

    if (cpu_same(of, got, i, expected, i))
        return true;
    return of >= HT_COMPLEX64 && cpu_get(part, got, 2 * i) == cpu_get(part, expected, 2 * i) &&
           cpu_get(part, got, 2 * i + 1) == cpu_get(part, expected, 2 * i + 1);
}

/* The dtype of what a kernel writes, by its letter. */
static ht_dtype dtype_of(char letter, ht_dtype dtype)
{
    const bool exact = dtype < HT_FLOAT16;
    const ht_dtype wide = dtype >= HT_COMPLEX64 ? HT_COMPLEX128 : HT_FLOAT64;

    switch (letter) {
    case 'D':
    case 'R':
        return HT_FLOAT64;
    case 'W':
        return wide;
    case 'A':
        return exact ? HT_INT64 : wide;
    case 'T':
        return exact ? HT_INT64 : dtype;
    case 'M':
        return exact ? HT_FLOAT32 : dtype;
    default:
        return dtype;
    }
}

static bool is_there(const struct listed *k, int dtype)
{
    return levels[0].kernels.at[k->id][dtype] != NULL && device->kernels->at[k->id][dtype] != NULL;
}

static size_t bytes_of_y(void)
{
    return (size_t)places * 16;
}

static size_t bytes_of_at(void)
{
    return (size_t)places * sizeof *got_at;
}

static void on_device(const struct listed *k, ht_dtype dtype, ht_kernel_call *call, uint32_t bytes,
                      size_t order)
{
    *call = (ht_kernel_call){.bytes = bytes,
                             .kernel = k->id,
                             .dtype = dtype,
                             .operands = HT_LOOP_OPERANDS,
                             .what = "the test"};
    memset(got, 0x55, bytes_of_y());
    ht__device_put(device, remote.y, got, bytes_of_y());
    memset(got_at, 0x55, bytes_of_at());
    ht__device_put(device, remote.at, got_at, bytes_of_at());
    setenv("EMULATED_ORDER", cuda_orders[order], true);
    assert_int_equal(device->kernels->at[k->id][dtype](device->stream, call), 0);
    assert_int_equal(ht__device_get(device, got, remote.y, bytes_of_y()), 0);
    assert_int_equal(ht__device_get(device, got_at, remote.at, bytes_of_at()), 0);
    unsetenv("EMULATED_ORDER");
}

static ht_reduction make_reduction(const struct listed *k, const job *j, ht_dtype dtype, char *y,
                                   char *from, void *at)
{
    ht_reduction r = {.loop = {.ndim = j->ndim}, .ndim = j->reduced, .divisor = 4};

    memcpy(r.loop.shape, j->shape, sizeof j->shape);
    for (int operand = 0; operand < 3; operand++)
        memcpy(r.loop.stride[operand], j->stride[operand], sizeof j->stride[operand]);
    for (int axis = 0; axis < j->ndim && k->operands[0] == 'R'; axis++)
        r.loop.stride[0][axis] *= RECORD;
    memcpy(r.shape, j->length, sizeof j->length);
    memcpy(r.stride, j->step, sizeof j->step);
    r.loop.operand[0] = CPU_AT(y);
    r.loop.operand[1] = CPU_AT(from + j->begin * (int64_t)ht_dtype_size(dtype));
    r.loop.operand[2] = CPU_AT(k->operands[2] == 'I' ? at : NULL);
    return r;
}

/* Records with another shift may have the same moments. */
static void normalise(char *array)
{
    double *record = (double *)(void *)array;

    for (int64_t i = 0; i + RECORD <= places; i += RECORD) {
        const double n = record[i];

        if (!(n > 0 && n < ROOM + 1))
            continue;
        record[i + 3] -= record[i + 2] * record[i + 2] / n;
        record[i + 1] += record[i + 2] / n;
        record[i + 2] = 0;
    }
}

static void compare(const struct listed *k, ht_dtype dtype, const char *name)
{
    const ht_dtype of = dtype_of(k->operands[0], dtype);
    const bool near = k->id == HT_KERNEL_SPREAD || k->id == HT_KERNEL_MOMENTS;

    if (memcmp(got, expected, bytes_of_y()) == 0 && memcmp(got_at, expected_at, bytes_of_at()) == 0)
        return;
    if (k->operands[0] == 'R') {
        normalise(expected);
        normalise(got);
    }
    for (int64_t i = 0; i < places; i++) {
        const double value = cpu_get(of, got, i), right = cpu_get(of, expected, i);

        if (!same(of, i) && !(near && fabs(value - right) <= 1e-13 * (1 + fabs(right))))
            fail_msg("%s of %s, %s: element %lld is %.17g, expected %.17g", k->name,
                     ht_dtype_name(dtype), name, (long long)i, value, right);
        if (k->operands[2] == 'I' && got_at[i] != expected_at[i])
            fail_msg("%s of %s, %s: position %lld is %lld, expected %lld", k->name,
                     ht_dtype_name(dtype), name, (long long)i, (long long)got_at[i],
                     (long long)expected_at[i]);
    }
}

static void check_reduction(const struct listed *k, ht_dtype dtype, const job *j)
{
    ht_reduction r = make_reduction(k, j, dtype, expected, x, expected_at);

    places = 64;
    for (int axis = 0; axis < j->ndim; axis++)
        places += j->shape[axis] * RECORD * j->stride[0][axis];
    assert_in_range(places, 64, ROOM);
    memset(expected, 0x55, bytes_of_y());
    memset(expected_at, 0x55, bytes_of_at());
    assert_int_equal(cpu_run(&levels[0].kernels, k->id, dtype, &r), 0);
    for (size_t order = 0; order < sizeof cuda_orders / sizeof *cuda_orders; order++) {
        r = make_reduction(k, j, dtype, remote.y, remote.x, remote.at);
        on_device(k, dtype, &r.loop.call, sizeof r, order);
        compare(k, dtype, j->name);
    }
}

/* Sums and products alone have results without elements. Other kernels meet NaN and -0. */
static void reductions_equal_those_of_the_cpu(void **state)
{
    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        for (int dtype = 0; dtype < HT_DTYPE_COUNT; dtype++) {
            const struct listed *k = &kernels[i];
            const bool selects = k->id >= HT_KERNEL_MAX && k->id <= HT_KERNEL_ARGMIN;
            const bool sums = k->id == HT_KERNEL_SUM || k->id == HT_KERNEL_SUM_WIDE ||
                              k->id == HT_KERNEL_PROD;

            if (k->operands[2] == 'a' || !is_there(k, dtype))
                continue;
            fill(x, (ht_dtype)dtype, selects && ht_dtype_is_floating((ht_dtype)dtype));
            if (k->id == HT_KERNEL_PROD && dtype >= HT_COMPLEX64)
                fill_factors((ht_dtype)dtype);
            ht__device_put(device, remote.x, x, sizeof x);
            for (size_t at = 0; at < sizeof jobs / sizeof *jobs; at++)
                if (sums || jobs[at].length[0] > 0)
                    check_reduction(k, (ht_dtype)dtype, &jobs[at]);
        }
}

/* Elements whose sums are rounded have the same sum wherever they begin. */
static void sums_are_those_of_aligned_elements(void **state)
{
    static const struct listed sum = {HT_KERNEL_SUM_WIDE, "SUM_WIDE", "Ws"};
    static const job rows = {"rows", 1, {13}, {{1}, {3000}, {1}}, 0, 1, {3000}, {1}};
    uint64_t seed = 7;

    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    for (int64_t i = 0; i < ROOM; i++)
        cpu_set(HT_FLOAT32, x, i, cpu_random(&seed));
    for (int64_t begin = 0; begin < 4; begin++) {
        char *from = remote.x + begin * (int64_t)sizeof(float);
        ht_reduction r = make_reduction(&sum, &rows, HT_FLOAT32, remote.y, from, NULL);

        places = ROOM;
        ht__device_put(device, from, x, 13 * 3000 * sizeof(float));
        on_device(&sum, HT_FLOAT32, &r.loop.call, sizeof r, 0);
        if (begin == 0)
            memcpy(expected, got, bytes_of_y());
        assert_memory_equal(got, expected, bytes_of_y());
    }
    assert_true(((double *)(void *)expected)[12] > 300); /* 3000 / 2 over the divisor 4 */
}

/* How lines lie: how many, of how many elements, and the strides between and along them. */
static const struct lines {
    const char *name;
    int64_t lines, count, between, along, begin;
} all_lines[] = {
    {"one long line", 1, ROOM, 0, 1, 0},
    {"rows", 30, 41, 41, 1, 0},
    {"columns", 41, 30, 1, 41, 0},
    {"long rows", 3, 10000, 10000, 1, 0},
    {"backwards", 3, 5000, 5000, -1, 4999},
    {"empty lines", 5, 0, 1, 1, 0},
    {"no lines", 0, 7, 7, 1, 0},
};

static void check_lines(const struct listed *k, ht_dtype dtype, const struct lines *l, bool started)
{
    const int64_t size = (int64_t)ht_dtype_size(dtype);
    const int64_t total = (int64_t)ht_dtype_size(dtype_of('T', dtype));
    ht_cumulation c = {.loop = {.ndim = 1,
                                .shape = {l->lines},
                                .stride = {{l->between}, {l->between}, {started ? 1 : 0}}},
                       .count = l->count,
                       .out_stride = l->along,
                       .in_stride = l->along};
    const ht_cumulation empty = c;

    places = ROOM;
    memset(expected, 0x55, bytes_of_y());
    c.loop.operand[0] = CPU_AT(expected + l->begin * total);
    c.loop.operand[1] = CPU_AT(x + l->begin * size);
    c.loop.operand[2] = CPU_AT(started ? start : NULL);
    assert_int_equal(cpu_run(&levels[0].kernels, k->id, dtype, &c), 0);
    for (size_t order = 0; order < sizeof cuda_orders / sizeof *cuda_orders; order++) {
        c = empty;
        c.loop.operand[0] = CPU_AT(remote.y + l->begin * total);
        c.loop.operand[1] = CPU_AT(remote.x + l->begin * size);
        c.loop.operand[2] = CPU_AT(started ? remote.start : NULL);
        on_device(k, dtype, &c.loop.call, sizeof c, order);
        compare(k, dtype, l->name);
    }
}

static void cumulative_sums_equal_those_of_the_cpu(void **state)
{
    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        for (int dtype = 0; dtype < HT_DTYPE_COUNT; dtype++) {
            const struct listed *k = &kernels[i];

            if (k->operands[2] != 'a' || !is_there(k, dtype))
                continue;
            fill(x, (ht_dtype)dtype, false);
            if (k->id == HT_KERNEL_CUMPROD)
                fill_factors((ht_dtype)dtype);
            fill(start, dtype_of('A', (ht_dtype)dtype), false);
            ht__device_put(device, remote.x, x, sizeof x);
            ht__device_put(device, remote.start, start, sizeof start);
            for (size_t at = 0; at < sizeof all_lines / sizeof *all_lines; at++)
                for (int started = 0; started < 2; started++)
                    check_lines(k, (ht_dtype)dtype, &all_lines[at], started);
        }
}

HT_TEST_SUITE(test_cuda_reduce,
              cmocka_unit_test_setup_teardown(reductions_equal_those_of_the_cpu, open_device,
                                              cuda_close),
              cmocka_unit_test_setup_teardown(sums_are_those_of_aligned_elements, open_device,
                                              cuda_close),
              cmocka_unit_test_setup_teardown(cumulative_sums_equal_those_of_the_cpu, open_device,
                                              cuda_close));
