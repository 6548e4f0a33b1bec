/* ranks 1 own device */
/* SPDX-License-Identifier: MIT */
/* Elementwise kernels of the CUDA module compared with the CPU's, over every dtype: operands
 * contiguous and not, broadcast, by value and in place. All bytes that a kernel may reach are
 * compared, those between the elements, too. */
#include "cuda_device.h"
#include "backends/cpu/cpu_elementwise.h"

enum { ROOM = (COUNT + 8) * MAX_BYTES };

static const struct listed functions[] = {HT_UNARY_KERNELS(LISTED) HT_BINARY_KERNELS(LISTED)
                                              HT_TERNARY_KERNELS(LISTED)};

/* How operands lie: the output, then up to three inputs. */
typedef struct layout {
    const char *name;
    int ndim;
    int64_t shape[3], start[HT_LOOP_OPERANDS], stride[HT_LOOP_OPERANDS][3];
    bool by_value[HT_LOOP_OPERANDS];
    bool in_place; /* the output is input 1 */
} layout;

static const layout layouts[] = {
    {"contiguous", 1, {3000}, {0}, {{1}, {1}, {1}, {1}}, {0}, false},
    {"in place", 1, {3000}, {0}, {{1}, {1}, {1}, {1}}, {0}, true},
    {"not aligned", 1, {3000}, {0, 1, 3, 5}, {{1}, {1}, {1}, {1}}, {0}, false},
    {"the output not aligned", 1, {3000}, {1}, {{1}, {1}, {1}, {1}}, {0}, false},
    {"short", 1, {7}, {0}, {{1}, {1}, {1}, {1}}, {0}, false},
    {"empty", 1, {0}, {0}, {{1}, {1}, {1}, {1}}, {0}, false},
    {"steps", 1, {1000}, {0, 2000, 1}, {{2}, {-1}, {3}, {1}}, {0}, false},
    {"one element", 1, {2000}, {0, 0, 5}, {{1}, {1}, {0}, {1}}, {0}, false},
    {"a value first", 1, {2000}, {0, 5}, {{1}, {0}, {1}, {1}}, {false, true}, false},
    {"a value last",
     1,
     {2000},
     {0, 0, 5, 6},
     {{1}, {1}, {0}, {0}},
     {false, false, true, true},
     false},
    {"permuted axes, broadcast",
     3,
     {5, 7, 11},
     {0, 0, 3},
     {{77, 11, 1}, {1, 5, 35}, {0, 11, 1}, {7, 1, 0}},
     {0},
     false},
    {"a transpose", 2, {40, 72}, {0}, {{72, 1}, {1, 40}, {1, 40}, {72, 1}}, {0}, false},
    {"a transpose, not aligned",
     2,
     {37, 53},
     {3, 1, 5},
     {{53, 1}, {1, 37}, {1, 37}, {53, 1}},
     {0},
     false},
    {"a small transpose", 2, {9, 8}, {0}, {{8, 1}, {1, 9}, {1, 9}, {8, 1}}, {0}, false},
    {"a flat transpose", 2, {300, 10}, {0, 4}, {{10, 1}, {1, 300}, {1, 300}, {10, 1}}, {0}, false},
    {"a batch of transposes, backwards",
     3,
     {3, 16, 24},
     {0, 768},
     {{384, 24, 1}, {-384, 1, 16}, {0, 1, 16}, {384, 24, 1}},
     {0},
     false},
    {"a transpose of the outer axes",
     3,
     {16, 3, 32},
     {0, 0, 8},
     {{96, 32, 1}, {1, 16, 48}, {1, 16, 48}, {96, 32, 1}},
     {0},
     false},
    {"a transpose, upside down",
     2,
     {20, 24},
     {608, 736, 736},
     {{-32, 1}, {1, -32}, {1, -32}, {32, 1}},
     {0},
     false},
    {"a broadcast transpose", 2, {30, 40}, {0}, {{40, 1}, {1, 0}, {1, 0}, {40, 1}}, {0}, false},
};

static ht_device *device;
static bool emulated;
static char *remote[HT_LOOP_OPERANDS];
static operand inputs[HT_LOOP_OPERANDS];
static char expected[ROOM], got[ROOM];
static double exponent[ROOM / 8]; /* of powers */
static int wrong;                 /* results of a kernel for a layout */

/* A kernel, and the dtypes of its operands. */
typedef struct tested {
    ht_kernel id;
    const char *name;
    ht_dtype dtype, of[HT_LOOP_OPERANDS];
    int operands;
} tested;

static int open_device(void **state)
{
    (void)state;
    setup(state);
    device = cuda_device();
    wrong = 0;
    emulated = device != NULL && cuda_is_emulated(device);
    for (int k = 0; device != NULL && k < HT_LOOP_OPERANDS; k++) {
        remote[k] = cuda_room(device, ROOM);
    }
    return 0;
}

/* The loop over operands that begin at the given places. */
static ht_loop make_loop(const tested *t, const layout *l, char *const place[])
{
    ht_loop loop = {.ndim = l->ndim};

    memcpy(loop.shape, l->shape, sizeof l->shape);
    memcpy(loop.param, two_params, sizeof loop.param);
    for (int k = 0; k < t->operands; k++) {
        const int64_t size = (int64_t)ht_dtype_size(t->of[k]);

        memcpy(loop.stride[k], l->stride[k], sizeof l->stride[k]);
        loop.operand[k].data = place[k] + l->start[k] * size;
        if (l->by_value[k]) {
            loop.operand[k].data = NULL;
            memcpy(loop.value[k].bytes, at(&inputs[k], l->start[k]), (size_t)size);
        }
    }
    return loop;
}

static void on_host(const tested *t, const layout *l)
{
    char *place[HT_LOOP_OPERANDS] = {expected, inputs[1].data, inputs[2].data, inputs[3].data};
    ht_loop loop;

    memset(expected, 0x55, ROOM);
    if (l->in_place) {
        memcpy(expected, inputs[1].data, ROOM);
        place[1] = expected;
    }
    loop = make_loop(t, l, place);
    assert_int_equal(cpu_run(&levels[0].kernels, t->id, t->dtype, &loop), 0);
}

static void on_device(const tested *t, const layout *l)
{
    char *place[HT_LOOP_OPERANDS] = {remote[0], remote[1], remote[2], remote[3]};
    ht_loop loop;

    memset(got, 0x55, ROOM);
    ht__device_put(device, remote[0], l->in_place ? inputs[1].data : got, ROOM);
    if (l->in_place)
        place[1] = remote[0];
    loop = make_loop(t, l, place);
    loop.call = (ht_kernel_call){.bytes = sizeof loop,
                                 .kernel = t->id,
                                 .dtype = t->dtype,
                                 .operands = HT_LOOP_OPERANDS,
                                 .what = "the test"};
    assert_int_equal(device->kernels->at[t->id][t->dtype](device->stream, &loop.call), 0);
    assert_int_equal(ht__device_get(device, got, remote[0], ROOM), 0);
}

static bool is_complex_power(const tested *t)
{
    return t->id == HT_KERNEL_POW && t->dtype >= HT_COMPLEX64;
}

/* Element i of input k as a complex number. */
static double complex complex_input(int k, int64_t i)
{
    const ht_dtype part = inputs[k].dtype == HT_COMPLEX64 ? HT_FLOAT32 : HT_FLOAT64;

    return complex_of(cpu_get(part, inputs[k].data, 2 * i),
                      cpu_get(part, inputs[k].data, 2 * i + 1));
}

/* |b log a| of each element of a power. */
static void note_exponents(const layout *l)
{
    int64_t index[3] = {0};

    memset(exponent, 0, sizeof exponent);
    for (bool more = l->shape[0] > 0; more;) {
        int64_t place[3] = {l->start[0], l->start[1], l->start[2]};

        for (int axis = 0; axis < l->ndim; axis++)
            for (int k = 0; k < 3; k++)
                place[k] += index[axis] * l->stride[k][axis];
        exponent[place[0]] = cabs(complex_input(2, place[2]) * clog(complex_input(1, place[1])));
        more = false;
        for (int axis = l->ndim - 1; axis >= 0 && !more; axis--) {
            more = ++index[axis] < l->shape[axis];
            if (!more)
                index[axis] = 0;
        }
    }
}

/* The bound is relative to numbers, or to their parts, of this size. A power of complex numbers is
 * exp(b log a): its error grows with |b log a|, on the host as on a GPU (4 and 4 eps for each). */
static bool differ_little(const tested *t, double value, double right, double size, int64_t i)
{
    const double units = is_complex_power(t) ? 8 * (4 + exponent[i]) : 32;

    if (value == right || (isnan(value) && isnan(right)))
        return true;
    return fabs(value - right) <= units * cpu_eps(t->of[0]) * size + 0x1p-140;
}

/* Sums of terms of about 1, which may be much smaller than these. */
static bool has_terms_that_cancel(ht_kernel id)
{
    return id == HT_KERNEL_LOGADDEXP || id == HT_KERNEL_LOGADDEXP2 || id == HT_KERNEL_GELU_GRAD ||
           id == HT_KERNEL_MISH_GRAD;
}

/* A GPU's library has other functions than the host's, with other last places. Those of complex
 * numbers are the module's own. */
static bool is_near(const tested *t, int64_t i)
{
    const bool is_complex = t->of[0] >= HT_COMPLEX64;
    const ht_dtype part = t->of[0] == HT_COMPLEX64    ? HT_FLOAT32
                          : t->of[0] == HT_COMPLEX128 ? HT_FLOAT64
                                                      : t->of[0];
    const int64_t at = is_complex ? 2 * i : i;
    const double right = cpu_get(part, expected, at);
    const double other = is_complex ? cpu_get(part, expected, at + 1) : 0;

    double size = hypot(isfinite(right) ? right : 0, isfinite(other) ? other : 0);

    if (has_terms_that_cancel(t->id))
        size += 1;
    if (emulated && t->dtype < HT_COMPLEX64)
        return false;
    return differ_little(t, cpu_get(part, got, at), right, size, i) &&
           (!is_complex || differ_little(t, cpu_get(part, got, at + 1), other, size, i));
}

/* The first element that differs is shown. */
static void compare(const tested *t, const layout *l)
{
    const int64_t count = ROOM / (int64_t)ht_dtype_size(t->of[0]);

    if (memcmp(got, expected, ROOM) == 0)
        return;
    for (int64_t i = 0; i < count; i++) {
        if (cpu_same(t->of[0], got, i, expected, i) || is_near(t, i))
            continue;
        print_error("%s of %s, %s: element %lld is %.17g, expected %.17g\n", t->name,
                    ht_dtype_name(t->dtype), l->name, (long long)i, cpu_get(t->of[0], got, i),
                    cpu_get(t->of[0], expected, i));
        wrong++;
        return;
    }
}

static void check_kernel(const tested *t)
{
    for (int k = 1; k < t->operands; k++) {
        fill(&inputs[k], t->of[k], (uint64_t)k);
        ht__device_put(device, remote[k], inputs[k].data, ROOM);
    }
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        if (layouts[i].in_place && t->of[1] != t->of[0])
            continue;
        on_host(t, &layouts[i]);
        if (is_complex_power(t))
            note_exponents(&layouts[i]);
        for (size_t order = 0; order < sizeof cuda_orders / sizeof *cuda_orders; order++) {
            setenv("EMULATED_ORDER", cuda_orders[order], true);
            on_device(t, &layouts[i]);
            compare(t, &layouts[i]);
        }
    }
    unsetenv("EMULATED_ORDER");
}

static bool is_there(ht_kernel id, int dtype)
{
    return exists(id, dtype) && device->kernels->at[id][dtype] != NULL;
}

static void functions_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    FOR_EACH(op, functions)
    for (int dtype = 0; dtype < HT_DTYPE_COUNT; dtype++) {
        tested t = {op->id, op->name, (ht_dtype)dtype, {HT_BOOL}, (int)strlen(op->operands)};

        if (!is_there(op->id, dtype))
            continue;
        t.of[0] = result_of(op, t.dtype);
        for (int k = 1; k < t.operands; k++)
            t.of[k] = op->operands[k] == 'b' ? HT_BOOL : t.dtype;
        check_kernel(&t);
    }
    assert_int_equal(wrong, 0);
}

static void conversions_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    for (int from = 0; from < HT_DTYPE_COUNT; from++)
        for (int to = 0; to < HT_DTYPE_COUNT; to++) {
            const tested t = {HT_KERNEL_CONVERT(to),
                              ht_dtype_name((ht_dtype)to),
                              (ht_dtype)from,
                              {(ht_dtype)to, (ht_dtype)from},
                              2};

            if (is_there(t.id, from))
                check_kernel(&t);
        }
    assert_int_equal(wrong, 0);
}

HT_TEST_SUITE(test_cuda_elementwise,
              cmocka_unit_test_setup_teardown(functions_have_the_bits_of_the_cpu, open_device,
                                              cuda_close),
              cmocka_unit_test_setup_teardown(conversions_have_the_bits_of_the_cpu, open_device,
                                              cuda_close));
