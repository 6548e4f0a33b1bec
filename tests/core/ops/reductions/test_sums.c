/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* The guarantees of the headers for sums, for every dtype. Exact partial sums give the same bits on
 * any number of ranks; others keep a bound, and give the same bits each time. */
#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/tensor/tensor.h"
#include "complex_of.h"
#include "backends/cpu/cpu_kernels.h"
#include "ht_test.h"
#include "tensor_check.h"

typedef ht_tensor *reduce_fn(ht_tensor *, int);

static const struct {
    const char *name;
    reduce_fn *run;
    bool real; /* not of complex numbers, or not exact of them */
} functions[] = {{"sum", ht_sum, false},      {"prod", ht_prod, true},
                 {"mean", ht_mean, false},    {"var", ht_var, false},
                 {"std", ht_std, false},      {"max", ht_max, true},
                 {"min", ht_min, true},       {"argmax", ht_argmax, true},
                 {"argmin", ht_argmin, true}, {"cumsum", ht_cumsum, false}};

enum { FUNCTIONS = sizeof functions / sizeof *functions, CUMSUM = FUNCTIONS - 1 };

/* Small whole numbers, whose sums and sums of squares are exact in every accumulator. */
static ht_tensor *whole_numbers(int ndim, const int64_t shape[], ht_dtype dtype)
{
    int64_t size = 1;
    double complex *data;
    ht_tensor *x;

    for (int i = 0; i < ndim; i++)
        size *= shape[i];
    data = test_malloc((size_t)size * sizeof *data);
    for (int64_t i = 0; i < size; i++) {
        double value = (double)(i * 7919 % 31 % 5) - (dtype <= HT_UINT8 ? 0 : 2);

        data[i] = complex_of(value == 0 && i % 2 ? -value : value, (double)(i % 3));
    }
    x = ht_astype(ht_array(data, ndim, shape, HT_COMPLEX128, HT_NONE), dtype);
    test_free(data);
    return x;
}

static void expect_bits(ht_tensor *x, ht_tensor *whole, const char *name)
{
    ht_tensor *all;

    assert_non_null(x);
    assert_int_equal(ht_tensor_dtype(x), ht_tensor_dtype(whole));
    all = ht_contiguous(ht_resplit(x, HT_NONE));
    if (memcmp(ht_test_data(all), ht_test_data(ht_contiguous(whole)),
               (size_t)ht_tensor_size(all) * ht_dtype_size(ht_tensor_dtype(all))) != 0)
        fail_msg("%s of %s split along %d has other bits than that of one process", name,
                 ht_dtype_name(ht_tensor_dtype(x)), ht_tensor_split(x));
}

static void exact_sums_have_the_bits_of_one_process(void **state)
{
    static const int64_t shapes[][2] = {{16, 4}, {2, 8}, {1, 1}};

    (void)state;
    for (int job = 0; job < 3 * HT_DTYPE_COUNT * FUNCTIONS; job++) {
        const int f = job % FUNCTIONS;
        const ht_dtype dtype = (ht_dtype)(job / FUNCTIONS % HT_DTYPE_COUNT);
        const int64_t *shape = shapes[job / FUNCTIONS / HT_DTYPE_COUNT];

        if (functions[f].real && ht_dtype_is_complex(dtype))
            continue;
        for (int axis = f == CUMSUM ? 0 : -1; axis < 2; axis++) {
            ht_scope *scope = ht_scope_open();
            ht_tensor *x = whole_numbers(2, shape, dtype);
            ht_tensor *whole = functions[f].run(x, axis < 0 ? HT_NONE : axis);

            for (int split = 0; split < 2; split++)
                expect_bits(functions[f].run(ht_resplit(x, split), axis < 0 ? HT_NONE : axis),
                            whole, functions[f].name);
            ht_scope_close(scope);
        }
    }
}

/* Few results and many results are computed in different ways. */
static void many_sums_have_the_bits_of_few(void **state)
{
    static const int64_t widths[] = {10, 3000, 300000};
    static const ht_dtype dtypes[] = {HT_FLOAT32, HT_FLOAT64, HT_COMPLEX64, HT_INT16};

    (void)state;
    for (int w = 0; w < 3; w++) {
        for (int d = 0; d < 4; d++) {
            ht_scope *scope = ht_scope_open();
            const int64_t shape[2] = {4, widths[w]};
            ht_tensor *x = ht_mul_scalar(whole_numbers(2, shape, HT_FLOAT64), 1.0 / 3);
            ht_tensor *few, *many;

            x = ht_resplit(
                ht_astype(dtypes[d] == HT_INT16 ? whole_numbers(2, shape, HT_INT16) : x, dtypes[d]),
                0);
            few = ht_narrow(x, 1, 3, 9);
            many = ht_sum(x, 0);
            expect_bits(ht_narrow(many, 0, 3, 9), ht_sum(few, 0), "sum");
            many = ht_cumsum(x, 0);
            expect_bits(ht_narrow(many, 1, 3, 9), ht_resplit(ht_cumsum(few, 0), HT_NONE), "cumsum");
            ht_scope_close(scope);
        }
    }
}

/* |sum - exact| <= n eps sum |x|, and what the one rounding at the end may add. */
static void expect_sum(ht_tensor *x, ht_tensor *sum)
{
    const int64_t n = ht_tensor_size(x);
    const double *values = ht_test_values(x);
    long double exact = 0, magnitude = 0;
    double found = ht_test_values(sum)[0], bound;

    for (int64_t i = 0; i < n; i++) {
        exact += values[i];
        magnitude += fabs(values[i]);
    }
    bound = (double)(n * 0x1p-53L * magnitude +
                     cpu_eps(ht_tensor_dtype(x)) * (1 + 0x1p-30L) * fabsl(exact));
    if (!(fabs((double)(found - exact)) <= bound))
        fail_msg("the sum of %lld numbers of %s is %.17g, %.17Lg expected", (long long)n,
                 ht_dtype_name(ht_tensor_dtype(x)), found, exact);
}

static void inexact_sums_are_within_a_bound_and_repeat(void **state)
{
    static const int64_t n[1] = {1003};

    (void)state;
    for (ht_dtype dtype = HT_FLOAT16; dtype < HT_DTYPE_COUNT; dtype++) {
        for (uint64_t seed = 0; seed < 10; seed++) {
            ht_scope *scope = ht_scope_open();
            ht_tensor *x = ht_astype(ht_test_randn(1, n, HT_FLOAT64, 0, seed), dtype), *first;
            char bits[16] = {0};

            first = ht_sum(x, 0);
            expect_sum(x, first);
            expect_bits(ht_sum(x, HT_NONE), first, "sum");
            expect_bits(ht_mean(x, 0), ht_mean(x, 0), "mean");
            memcpy(bits, ht_test_data(first), ht_dtype_size(dtype));
            MPI_Bcast(bits, sizeof bits, MPI_BYTE, 0, ht_comm_mpi(HT_COMM_WORLD));
            assert_memory_equal(bits, ht_test_data(first), ht_dtype_size(dtype));
            ht_scope_close(scope);
        }
    }
}

static double sum_of_ones(int64_t count, ht_dtype dtype, reduce_fn *f)
{
    return ht_item(f(ht_ones(1, &count, dtype, 0), HT_NONE));
}

static void sums_are_rounded_once(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    const double data[4] = {0x1p24, 1, 1, 1}, half[3] = {2048, 1, 0x1p-20};
    ht_tensor *x = ht_array(data, HT_SHAPE(4), HT_FLOAT64, 0);

    assert_true(sum_of_ones(3000, HT_BFLOAT16, ht_sum) == 3008); /* 3000 lies in the middle */
    assert_true(sum_of_ones(70000, HT_FLOAT16, ht_mean) == 1);
    assert_true(isinf(sum_of_ones(70000, HT_FLOAT16, ht_sum)));
    assert_true(sum_of_ones(70000, HT_FLOAT16, ht_var) == 0);
    assert_true(ht_item(ht_sum(ht_astype(x, HT_FLOAT32), 0)) == 0x1p24 + 4);
    x = ht_astype(ht_array(half, HT_SHAPE(3), HT_FLOAT64, 0), HT_FLOAT16);
    assert_true(ht_item(ht_sum(x, 0)) == 2050); /* by way of float32 it would be 2048 */
    ht_scope_close(scope);
}

static void means_of_integers_are_exact(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    const int64_t large[2] = {(1 << 24) + 1, -(1 << 24)}, two[1] = {2};
    const int64_t largest[2] = {INT64_MAX, INT64_MAX};
    const double offset[4] = {1e8 + 1, 1e8 + 2, 1e8 + 3, 1e8 + 4};

    for (int split = HT_NONE;; split = 0) {
        ht_tensor *x = ht_array(large, 1, two, HT_INT64, split);

        assert_true(ht_item(ht_mean(x, 0)) == 0.5);
        assert_true(ht_item(ht_mean(ht_astype(x, HT_INT32), HT_NONE)) == 0.5);
        assert_true(ht_item(ht_mean(ht_array(largest, 1, two, HT_INT64, split), 0)) == 0x1p63);
        x = ht_array(offset, HT_SHAPE(4), HT_FLOAT64, split);
        assert_true(ht_item(ht_var(ht_astype(x, HT_INT32), 0)) == 1.25);
        assert_int_equal(ht_tensor_dtype(ht_var(ht_astype(x, HT_INT32), 0)), HT_FLOAT32);
        assert_int_equal(ht_tensor_dtype(ht_mean(ht_astype(x, HT_BOOL), 0)), HT_FLOAT32);
        if (split == 0)
            break;
    }
    assert_true(isnan(ht_item(ht_mean(ht_zeros(HT_SHAPE(0), HT_FLOAT32, 0), 0))));
    ht_scope_close(scope);
}

/* Numbers for which a single pass over the elements gives a wrong result: element i of n. */
static double hard_number(int kind, int64_t i, int64_t n)
{
    const double noise = sin((double)(i * i % 9973));

    switch (kind) {
    case 0:
        return 1e8 + noise; /* far from 0 */
    case 1:
        return (i == 0 ? 1e12 : 0) + noise; /* the first lies far from all others */
    case 2:
        return (double)i * 1e6 + noise; /* goes away */
    case 3:
        return i < n / 2 ? 1e10 + noise : noise; /* jumps */
    case 4:
        return 0.1; /* the mean of which may not be 0.1 */
    default:
        return 1e300 * noise / 0x1p500;
    }
}

static void deviations_are_those_of_two_passes(void **state)
{
    enum { N = 3001 };
    double *data = test_malloc(2 * N * sizeof *data);

    (void)state;
    for (int job = 0; job < 6 * 4; job++) {
        const int kind = job % 6, split = job / 6 % 2 - 1, columns = job < 12 ? 1 : 2;
        ht_scope *scope = ht_scope_open();
        long double mean = 0, squares = 0;
        ht_tensor *x;

        for (int64_t i = 0; i < N * columns; i++)
            data[i] = hard_number(kind, i / columns, N);
        for (int64_t i = 0; i < N; i++)
            mean += data[i * columns] / (long double)N;
        for (int64_t i = 0; i < N; i++)
            squares += (data[i * columns] - mean) * (data[i * columns] - mean) / N;
        x = ht_array(data, 2, (int64_t[]){N, columns}, HT_FLOAT64, split < 0 ? HT_NONE : 0);
        x = ht_var(x, 0);
        for (int c = 0; c < columns; c++) {
            const double found = ht_test_values(x)[c];

            if (!(fabs(found - (double)squares) <= 1e-12 * (double)squares + 1e-30))
                fail_msg("kind %d, split %d: %.17g, expected %.17Lg", kind, split, found, squares);
        }
        ht_scope_close(scope);
    }
    test_free(data);
}

static void deviations_of_infinities_are_nan(void **state)
{
    static const double places[] = {INFINITY, -INFINITY, NAN};

    (void)state;
    for (int job = 0; job < 9; job++) {
        ht_scope *scope = ht_scope_open();
        double data[300] = {1, 2};

        data[(int[]){0, 150, 299}[job / 3]] = places[job % 3];
        assert_true(isnan(ht_item(ht_var(ht_array(data, 1, (int64_t[]){300}, HT_FLOAT64, 0), 0))));
        data[(int[]){0, 150, 299}[job / 3]] = 1e200; /* whose square is too large */
        assert_true(isinf(ht_item(ht_var(ht_array(data, 1, (int64_t[]){300}, HT_FLOAT64, 0), 0))));
        ht_scope_close(scope);
    }
}

/* The mean of |x - mean|^2, which is real. */
static void deviation_of_complex_numbers_is_real(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    const double complex data[3] = {complex_of(0, 3), complex_of(3, 0), complex_of(0, -3)};
    ht_tensor *x = ht_array(data, HT_SHAPE(3), HT_COMPLEX128, 0);

    assert_int_equal(ht_tensor_dtype(ht_var(x, 0)), HT_FLOAT64);
    assert_int_equal(ht_tensor_dtype(ht_std(ht_astype(x, HT_COMPLEX64), 0)), HT_FLOAT32);
    ht_test_expect(ht_var(x, 0), (double[]){8}, 1e-15);
    ht_test_expect(ht_std(x, HT_NONE), (double[]){sqrt(8)}, 1e-15);
    ht_scope_close(scope);
}

static void extremes_of_few_rows_are_exact(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    const int64_t largest[2] = {INT64_MAX, INT64_MAX - 1}, least[2] = {INT64_MIN, INT64_MIN + 1};
    const float zeros[4] = {0.0f, -0.0f, 0.0f, -0.0f};
    const int64_t two[1] = {2}, four[1] = {4};
    ht_tensor *x = ht_array(largest, 1, two, HT_INT64, 0), *y;

    y = ht_min(ht_narrow(x, 0, 0, 1), 0);
    assert_true(*(const int64_t *)ht_test_data(y) == INT64_MAX);
    y = ht_min(x, 0);
    assert_true(*(const int64_t *)ht_test_data(y) == INT64_MAX - 1);
    assert_true(ht_item(ht_argmin(x, 0)) == 1);
    assert_true(ht_item(ht_argmin(ht_narrow(x, 0, 0, 1), HT_NONE)) == 0);
    x = ht_array(least, 1, two, HT_INT64, 0);
    y = ht_max(x, 0);
    assert_true(*(const int64_t *)ht_test_data(y) == INT64_MIN + 1);
    assert_true(ht_item(ht_argmax(ht_narrow(x, 0, 0, 1), 0)) == 0);
    for (ht_dtype dtype = HT_FLOAT16; dtype <= HT_FLOAT64; dtype++) {
        ht_tensor *z = ht_astype(ht_array(zeros, 1, four, HT_FLOAT32, 0), dtype);

        assert_false(signbit(ht_test_values(ht_max(z, 0))[0]));
        assert_true(signbit(ht_test_values(ht_min(z, 0))[0]));
        assert_true(ht_item(ht_argmin(z, 0)) == 0);
    }
    ht_scope_close(scope);
}

static ht_tensor *gradient_of(ht_tensor *y, ht_tensor *x, ht_tensor *seed)
{
    assert_int_equal(ht_backward_ext(y, seed, false), HT_SUCCESS);
    return ht_tensor_grad(x);
}

static ht_tensor *leaf(const double *data, int64_t count, ht_dtype dtype, int split)
{
    ht_tensor *x = ht_astype(ht_array(data, 1, &count, HT_FLOAT64, split), dtype);

    ht_tensor_set_requires_grad(x, true);
    return x;
}

static void gradients_of_cumulative_sums_do_not_cancel(void **state)
{
    (void)state;
    const double seeds[2][5] = {{1, 1, 1e8, -1e8, 1}, {INFINITY, 1, 2, 3, 4}};
    const double gradients[2][5] = {{3, 2, 1, -1e8, 1}, {INFINITY, 10, 9, 7, 4}}; /* rounded */

    for (int split = HT_NONE;; split = 0) {
        for (int s = 0; s < 2; s++) {
            ht_scope *scope = ht_scope_open();
            ht_tensor *x = leaf(seeds[0], 5, HT_FLOAT32, split);
            ht_tensor *seed = leaf(seeds[s], 5, HT_FLOAT32, split);

            ht_test_expect(gradient_of(ht_cumsum(x, 0), x, seed), gradients[s], 0);
            ht_scope_close(scope);
        }
        if (split == 0)
            break;
    }
}

static void products_are_rounded_once(void **state)
{
    const double data[4] = {1e30, 1e30, 1e-30, 1e-29};

    (void)state;
    for (int split = HT_NONE;; split = 0) {
        ht_tensor *x = leaf(data, 4, HT_FLOAT32, split);

        assert_true(fabs(ht_item(ht_prod(x, 0)) - 10) <= 1e-5);
        x = ht_full(HT_SHAPE(63), 2, HT_INT8, split);
        assert_int_equal(ht_tensor_dtype(ht_prod(x, 0)), HT_INT64);
        assert_true(ht_item_ext(ht_prod(x, HT_NONE)).integer == INT64_MIN); /* wraps around */
        assert_true(ht_item(ht_prod(ht_narrow(x, 0, 3, 3), 0)) == 1);
        if (split == 0)
            break;
    }
}

/* The last row is not for 16 bits. */
static void gradients_of_products_with_zeros_are_right(void **state)
{
    const double data[][4] = {{2, 5, 3, 4},         {2, 0, 3, 4},        {2, 0, 3, -0.0},
                              {2, 0, NAN, 4},       {2, 0, 3, INFINITY}, {INFINITY, 0, 3, 0.5},
                              {0, 1e200, 1e200, -1}};
    const double gradients[][4] = {
        {60, 24, 40, 30},        {0, 24, 0, 0},           {0, 0, 0, 0},        {NAN, NAN, 0, NAN},
        {NAN, INFINITY, NAN, 0}, {0, INFINITY, NAN, NAN}, {-INFINITY, 0, 0, 0}};

    (void)state;
    for (int job = 0; job < 7 * 2 * 2; job++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = leaf(data[job / 4], 4, job % 2 && job / 4 < 6 ? HT_FLOAT16 : HT_FLOAT64,
                            job / 2 % 2 ? 0 : HT_NONE);

        ht_test_expect(gradient_of(ht_prod(x, 0), x, NULL), gradients[job / 4], 0);
        ht_scope_close(scope);
    }
}

/* g / n, where neither n nor the ties fit into 16 bits. */
static void gradients_of_many_elements_in_16_bits(void **state)
{
    (void)state;
    for (int split = HT_NONE;; split = 0) {
        ht_scope *scope = ht_scope_open();
        const int64_t many[1] = {70000};
        const double share = ht_test_values(
            ht_full(HT_SHAPE(1), 1.0 / 70000, HT_FLOAT16, HT_NONE))[0];
        ht_tensor *gradients[2], *x = ht_ones(1, many, HT_FLOAT16, split);
        ht_tensor *y = ht_copy(x);

        ht_tensor_set_requires_grad(x, true);
        ht_tensor_set_requires_grad(y, true);
        assert_int_equal(ht_backward(ht_max(x, HT_NONE)), HT_SUCCESS);
        assert_int_equal(ht_backward(ht_mean(y, HT_NONE)), HT_SUCCESS);
        gradients[0] = ht_tensor_grad(x);
        gradients[1] = ht_tensor_grad(y);
        for (int g = 0; g < 2; g++) {
            assert_true(ht_item(ht_max(gradients[g], 0)) == share);
            assert_true(ht_item(ht_min(gradients[g], 0)) == share);
        }
        ht_scope_close(scope);
        if (split == 0)
            break;
    }
}

/* Numbers of ones, and their sum in bfloat16, which cannot represent the parts of two or three
 * ranks. */
static const struct {
    int64_t count;
    double sum;
} ones[] = {{515, 516}, {771, 772}, {3000, 3008}};

static void gradients_of_broadcast_operands_are_rounded_once(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = ht_ones(HT_SHAPE(ones[i].count, 2), HT_BFLOAT16, 0);
        ht_tensor *row = ht_ones(HT_SHAPE(2), HT_BFLOAT16, HT_NONE);
        ht_tensor *number = ht_full(0, NULL, 0.5, HT_BFLOAT16, HT_NONE);

        ht_tensor_set_requires_grad(row, true);
        ht_tensor_set_requires_grad(number, true);
        assert_int_equal(ht_backward_ext(ht_mul(x, row), x, false), HT_SUCCESS);
        assert_int_equal(ht_backward_ext(ht_mul(ht_mul_scalar(x, 0.5), number), x, false),
                         HT_SUCCESS);
        ht_test_expect(ht_tensor_grad(row), (double[]){ones[i].sum, ones[i].sum}, 0);
        ht_test_expect(ht_tensor_grad(number), (double[]){ones[i].sum}, 0);
        ht_scope_close(scope);
    }
}

/* Products of every pair of splits. */
static void products_of_16_bits_are_rounded_once(void **state)
{
    (void)state;
    for (int job = 0; job < 27; job++) {
        ht_scope *scope = ht_scope_open();
        const int i = job / 9, a = job / 3 % 3 - 1, b = job % 3 - 1;
        ht_tensor *x = ht_ones(HT_SHAPE(2, ones[i].count), HT_BFLOAT16, a < 0 ? HT_NONE : a);
        ht_tensor *y = ht_ones(HT_SHAPE(ones[i].count, 2), HT_BFLOAT16, b < 0 ? HT_NONE : b);
        ht_tensor *z = ht_matmul(x, y);

        assert_int_equal(ht_tensor_dtype(z), HT_BFLOAT16);
        ht_test_expect(z, (double[]){ones[i].sum, ones[i].sum, ones[i].sum, ones[i].sum}, 0);
        ht_scope_close(scope);
    }
}

HT_TEST_SUITE(test_sums, cmocka_unit_test(exact_sums_have_the_bits_of_one_process),
              cmocka_unit_test(many_sums_have_the_bits_of_few),
              cmocka_unit_test(inexact_sums_are_within_a_bound_and_repeat),
              cmocka_unit_test(sums_are_rounded_once),
              cmocka_unit_test(means_of_integers_are_exact),
              cmocka_unit_test(deviations_are_those_of_two_passes),
              cmocka_unit_test(deviations_of_infinities_are_nan),
              cmocka_unit_test(deviation_of_complex_numbers_is_real),
              cmocka_unit_test(extremes_of_few_rows_are_exact),
              cmocka_unit_test(gradients_of_cumulative_sums_do_not_cancel),
              cmocka_unit_test(products_are_rounded_once),
              cmocka_unit_test(gradients_of_products_with_zeros_are_right),
              cmocka_unit_test(gradients_of_many_elements_in_16_bits),
              cmocka_unit_test(gradients_of_broadcast_operands_are_rounded_once),
              cmocka_unit_test(products_of_16_bits_are_rounded_once));
