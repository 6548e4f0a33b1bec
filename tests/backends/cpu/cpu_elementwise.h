/* SPDX-License-Identifier: MIT
 *
 * For the tests of elementwise kernels: operands of every kind, the result for one element alone,
 * and rows of any length, start and stride. All must have the same bits at every level. */
#ifndef HT_TESTS_BACKENDS_CPU_CPU_ELEMENTWISE_H
#define HT_TESTS_BACKENDS_CPU_CPU_ELEMENTWISE_H

#include "complex_of.h"
#include "cpu_kernels.h"

enum { COUNT = 3100, MAX_BYTES = 16 };

static cpu_level levels[3];
static int level_count;

typedef struct operand {
    ht_dtype dtype;
    _Alignas(64) char data[(COUNT + 8) * MAX_BYTES];
} operand;

static operand a, b;
static char alone[(COUNT + 8) * MAX_BYTES], row[(2 * COUNT + 8) * MAX_BYTES];

/* A special number, every `every` of which another one comes. */
static inline double special(int64_t i, int64_t every)
{
    static const double numbers[] = {0,   -0.0,     1,  -1, INFINITY, -INFINITY,
                                     NAN, 0x1p-130, -3, 90, -105};

    return numbers[i / every % 11];
}

static inline void fill(operand *x, ht_dtype dtype, uint64_t seed)
{
    const bool whole = ht_dtype_is_integer(dtype) || dtype == HT_BOOL;

    x->dtype = dtype;
    for (int64_t i = 0; i < COUNT + 8; i++) {
        double value = 20 * cpu_random(&seed) - (dtype == HT_UINT8 ? 0 : 10);

        if (!whole && i % 7 == 3)
            value = special(i, 7);
        cpu_set(dtype, x->data, i, dtype == HT_BOOL ? value > 0 : value);
    }
}

static inline const char *at(const operand *x, int64_t i)
{
    return x->data + i * (int64_t)ht_dtype_size(x->dtype);
}

/* A kernel, and the dtype of what it gives. */
typedef struct kernel {
    ht_kernel id;
    ht_dtype dtype, result;
} kernel;

static inline bool exists(ht_kernel id, int dtype)
{
    return levels[0].kernels.at[id][dtype] != NULL;
}

/* LEAKY_RELU_GRAD's slope, AXPBY's factors, ISCLOSE's tolerances; functions of one operand have their
 * own in their table. */
static const double two_params[HT_LOOP_PARAMS] = {0.75, -1.25};
static const double *params = two_params;

/* The third operand is a number, CLIP's upper bound. */
static inline void run(int level, const kernel *k, ht_loop loop)
{
    memcpy(loop.param, params, sizeof loop.param);
    if (loop.operand[3].data == NULL)
        cpu_set(k->dtype, loop.value[3].bytes, 0, 4);
    assert_int_equal(cpu_run(&levels[level].kernels, k->id, k->dtype, &loop), 0);
}

/* Each element by a separate call. */
static inline void compute_alone(const kernel *k)
{
    for (int64_t i = 0; i < COUNT + 8; i++)
        run(0, k,
            cpu_row(1, alone + i * (int64_t)ht_dtype_size(k->result), 1, at(&a, i), 1, at(&b, i),
                    1));
}

static inline void check_row(int level, const kernel *k, int64_t n, int64_t start, int64_t ys,
                             int64_t as, int64_t bs)
{
    run(level, k, cpu_row(n, row, ys, at(&a, start), as, at(&b, start), bs));
    for (int64_t i = 0; i < n; i++)
        assert_true(cpu_same(k->result, row, i * ys, alone, start + i * as));
}

/* Every length up to 70, some starts, and a long row; then steps, forwards and backwards. */
static inline void check_layouts(int level, const kernel *k)
{
    for (int64_t n = 0; n <= 70; n++)
        check_row(level, k, n, n % 5, 1, 1, 1);
    check_row(level, k, 3000, 3, 1, 1, 1);
    for (int64_t n = 1; n <= 40; n += 3) {
        check_row(level, k, n, 1, 2, 1, 1);
        check_row(level, k, n, 2, 1, 3, 3);
        check_row(level, k, n, 60, 1, -1, -1);
    }
}

/* From where operand `which` is taken where it is one element: b, but for a first one, a mask, that
 * is of another dtype. */
static inline const operand *source(int which)
{
    return which == 1 && a.dtype != b.dtype ? &a : &b;
}

/* Operand `which` is element 5 of its source in memory, of stride 0, or by value. */
static inline void use_scalar(ht_loop *loop, int which, bool by_value)
{
    const operand *x = source(which);

    loop->stride[which][0] = 0;
    loop->operand[which].data = by_value ? NULL : (void *)(uintptr_t)at(x, 5);
    if (by_value)
        memcpy(loop->value[which].bytes, at(x, 5), ht_dtype_size(x->dtype));
}

/* An operand of stride 0, or by value, is the same as one that repeats its element. `operands`
 * counts the result, too. */
static inline void check_scalars(int level, const kernel *k, int operands)
{
    char repeated[64 * MAX_BYTES], expected[64 * MAX_BYTES];
    const int64_t n = 61;

    for (int which = 1; which < operands; which++) {
        const operand *x = source(which);
        const size_t size = ht_dtype_size(x->dtype);
        ht_loop loop = cpu_row(n, expected, 1, a.data, 1, b.data, 1);

        for (int64_t i = 0; i < n; i++)
            memcpy(repeated + (size_t)i * size, at(x, 5), size);
        loop.operand[which].data = repeated;
        run(level, k, loop);
        loop.operand[0].data = row;
        for (int by_value = 0; by_value < 2; by_value++) {
            use_scalar(&loop, which, by_value);
            memset(row, 0x55, sizeof expected);
            run(level, k, loop);
            for (int64_t i = 0; i < n; i++)
                assert_true(cpu_same(k->result, row, i, expected, i));
        }
    }
}

/* Nothing but values: every element is the same. */
static inline void check_values(int level, const kernel *k, int operands)
{
    char one[MAX_BYTES];
    ht_loop loop = cpu_row(1, one, 1, at(source(1), 5), 1, at(source(2), 5), 1);

    run(level, k, loop);
    loop = cpu_row(23, row, 2, NULL, 0, NULL, 0);
    for (int which = 1; which < operands; which++)
        use_scalar(&loop, which, true);
    run(level, k, loop);
    for (int64_t i = 0; i < 23; i++)
        assert_true(cpu_same(k->result, row, 2 * i, one, 0));
}

static inline void check_levels_agree(const kernel *k)
{
    compute_alone(k);
    for (int level = 0; level < level_count; level++) {
        run(level, k, cpu_row(COUNT, row, 1, a.data, 1, b.data, 1));
        for (int64_t i = 0; i < COUNT; i++) {
            if (!cpu_same(k->result, row, i, alone, i))
                fail_msg("kernel %d of %s, level %d: element %d differs from itself alone",
                         (int)k->id, ht_dtype_name(k->dtype), level, (int)i);
        }
    }
}

static inline void check_levels(const kernel *k, int operands)
{
    for (int level = 0; level < level_count; level++) {
        check_layouts(level, k);
        check_scalars(level, k, operands);
        check_values(level, k, operands);
    }
}

/* The error is relative to the result, or to `terms` where larger terms cancelled. A result beyond
 * the range of the dtype must be so in the reference too. */
static inline void check_sum(ht_dtype dtype, const void *got, int64_t i, double expected,
                             double terms)
{
    char rounded[MAX_BYTES];
    double value = cpu_get(dtype, got, i), bound = 0;

    cpu_set(dtype, rounded, 0, expected);
    expected = cpu_get(dtype, rounded, 0);
    if (isfinite(expected) && expected != 0)
        bound = 4 * cpu_eps(dtype) * fmax(fabs(expected), terms) + 0x1p-148;
    if (isnan(expected) ? isnan(value) : value == expected || fabs(value - expected) <= bound)
        return;
    fail_msg("element %lld of %s is %.17g, expected %.17g", (long long)i, ht_dtype_name(dtype),
             value, expected);
}

static inline void check_value(ht_dtype dtype, const void *got, int64_t i, double expected)
{
    check_sum(dtype, got, i, expected, 0);
}

static inline double complex get_complex(ht_dtype dtype, const void *array, int64_t i)
{
    const ht_dtype part = dtype == HT_COMPLEX64 ? HT_FLOAT32 : HT_FLOAT64;

    return complex_of(cpu_get(part, array, 2 * i), cpu_get(part, array, 2 * i + 1));
}

/* A number after it is rounded to a dtype. */
static inline double rounded(ht_dtype dtype, double value)
{
    char element[MAX_BYTES];

    cpu_set(dtype, element, 0, value);
    return cpu_get(dtype, element, 0);
}

/* Relative to the absolute value, times what errors grow by; where infinities are, only that the
 * result is not finite. */
static inline void check_complex_growth(ht_dtype dtype, const void *got, int64_t i,
                                        double complex expected, double growth)
{
    const double complex value = get_complex(dtype, got, i);

    if (isfinite(rounded(dtype, cabs(expected))))
        assert_true(cabs(value - expected) <= 16 * growth * cpu_eps(dtype) * cabs(expected) +
                                                  (dtype == HT_COMPLEX64 ? 0x1p-147 : 0));
    else
        assert_false(isfinite(creal(value)) && isfinite(cimag(value)));
}

static inline void check_complex_value(ht_dtype dtype, const void *got, int64_t i,
                                       double complex expected)
{
    check_complex_growth(dtype, got, i, expected, 1);
}

/* A row of the lists of kernels. */
struct listed {
    ht_kernel id;
    const char *name, *operands;
};
#define LISTED(name, operands) {HT_KERNEL_##name, #name, operands},

#define FOR_EACH(op, list) \
    for (const struct listed *op = list; op < list + sizeof list / sizeof *list; op++)

/* By the letter of the output. */
static inline ht_dtype result_of(const struct listed *op, ht_dtype dtype)
{
    if (op->operands[0] == 'B')
        return HT_BOOL;
    if (op->operands[0] == 'P' && ht_dtype_is_complex(dtype))
        return dtype == HT_COMPLEX64 ? HT_FLOAT32 : HT_FLOAT64;
    return dtype;
}

static inline int setup(void **state)
{
    (void)state;
    if (level_count == 0)
        level_count = cpu_levels(levels);
    return 0;
}

#endif
