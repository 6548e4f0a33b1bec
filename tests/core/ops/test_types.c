/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
#include <float.h>

#include "ht_test.h"
#include "tensor_check.h"

/* The dtypes that NumPy has, too. */
static const ht_dtype dtypes[] = {HT_BOOL,    HT_UINT8,     HT_INT8,      HT_INT16,
                                  HT_INT32,   HT_INT64,     HT_FLOAT16,   HT_FLOAT32,
                                  HT_FLOAT64, HT_COMPLEX64, HT_COMPLEX128};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

/* numpy.can_cast: a row for each dtype that is converted, in the order of dtypes. */
static const char *const safe[DTYPES] = {"11111111111", "01011111111", "00111111111", "00011101111",
                                         "00001100101", "00000100101", "00000011111", "00000001111",
                                         "00000000101", "00000000011", "00000000001"};
static const char *const same_kind[DTYPES] = {
    "11111111111", "01111111111", "00111111111", "00111111111", "00111111111", "00111111111",
    "00000011111", "00000011111", "00000011111", "00000000011", "00000000011"};

static void conversions_are_numpys(void **state)
{
    (void)state;
    for (int from = 0; from < DTYPES; from++) {
        for (int to = 0; to < DTYPES; to++) {
            const ht_dtype a = dtypes[from], b = dtypes[to];
            const bool between = a == HT_INT32 && (b == HT_FLOAT32 || b == HT_COMPLEX64);

            assert_int_equal(ht_can_cast(a, b, HT_CAST_NO), a == b);
            assert_int_equal(ht_can_cast(a, b, HT_CAST_SAFE), safe[from][to] == '1');
            assert_int_equal(ht_can_cast(a, b, HT_CAST_INTUITIVE),
                             safe[from][to] == '1' || between);
            assert_int_equal(ht_can_cast(a, b, HT_CAST_SAME_KIND), same_kind[from][to] == '1');
            assert_true(ht_can_cast(a, b, HT_CAST_UNSAFE));
        }
    }
    assert_true(ht_can_cast(HT_UINT8, HT_BFLOAT16, HT_CAST_SAFE));
    assert_true(ht_can_cast(HT_BFLOAT16, HT_FLOAT32, HT_CAST_SAFE));
    assert_false(ht_can_cast(HT_INT16, HT_BFLOAT16, HT_CAST_SAFE));
    assert_false(ht_can_cast(HT_BFLOAT16, HT_FLOAT16, HT_CAST_SAFE));
    assert_false(ht_can_cast(HT_FLOAT16, HT_BFLOAT16, HT_CAST_SAFE));
    assert_false(ht_can_cast(HT_DTYPE_COUNT, HT_FLOAT16, HT_CAST_UNSAFE));
    assert_false(ht_can_cast(HT_FLOAT16, HT_FLOAT16, (ht_casting)99));
}

static void kinds_are_those_of_the_standard(void **state)
{
    static const struct {
        ht_dtype_kind kind;
        ht_dtype first, last;
    } rows[] = {{HT_DTYPE_KIND_BOOL, HT_BOOL, HT_BOOL},
                {HT_DTYPE_KIND_SIGNED_INTEGER, HT_INT8, HT_INT64},
                {HT_DTYPE_KIND_UNSIGNED_INTEGER, HT_UINT8, HT_UINT8},
                {HT_DTYPE_KIND_INTEGRAL, HT_UINT8, HT_INT64},
                {HT_DTYPE_KIND_REAL_FLOATING, HT_FLOAT16, HT_FLOAT64},
                {HT_DTYPE_KIND_COMPLEX_FLOATING, HT_COMPLEX64, HT_COMPLEX128},
                {HT_DTYPE_KIND_NUMERIC, HT_UINT8, HT_COMPLEX128}};

    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        for (int dtype = -1; dtype <= HT_DTYPE_COUNT; dtype++)
            assert_int_equal(ht_isdtype((ht_dtype)dtype, rows[r].kind),
                             dtype >= (int)rows[r].first && dtype <= (int)rows[r].last);
    }
    assert_false(ht_isdtype(HT_BOOL, (ht_dtype_kind)99));
}

static void finfo_and_iinfo_of_each_dtype(void **state)
{
    const ht_finfo half = ht_dtype_finfo(HT_FLOAT16), brain = ht_dtype_finfo(HT_BFLOAT16);
    const ht_finfo single = ht_dtype_finfo(HT_COMPLEX64), wide = ht_dtype_finfo(HT_FLOAT64);
    const ht_iinfo byte = ht_dtype_iinfo(HT_UINT8), all = ht_dtype_iinfo(HT_INT64);

    (void)state;
    assert_true(half.bits == 16 && half.eps == 0x1p-10 && half.max == 65504 && half.min == -65504 &&
                half.tiny == 0x1p-14);
    assert_true(brain.bits == 16 && brain.eps == 0x1p-7 && brain.max == 0x1.fep127);
    assert_true(single.bits == 32 && single.eps == FLT_EPSILON && single.max == FLT_MAX &&
                single.tiny == FLT_MIN);
    assert_true(wide.bits == 64 && wide.eps == DBL_EPSILON && wide.max == DBL_MAX);
    assert_true(byte.bits == 8 && byte.min == 0 && byte.max == 255);
    assert_true(all.bits == 64 && all.min == INT64_MIN && all.max == INT64_MAX);
    assert_true(ht_dtype_iinfo(HT_BOOL).bits == 0 && ht_dtype_finfo(HT_INT8).bits == 0);
}

static void result_type_of_several_operands(void **state)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *small = ht_zeros(HT_SHAPE(2), HT_INT8, 0);
    ht_tensor *point = ht_zeros(0, NULL, HT_FLOAT64, HT_NONE);

    (void)state;
#define RESULT(...) ht_result_type(HT_LIST(ht_tensor *, __VA_ARGS__))
    assert_int_equal(RESULT(small), HT_INT8);
    assert_int_equal(RESULT(small, ht_scalar(300)), HT_INT8);
    assert_int_equal(RESULT(small, ht_scalar(0.5)), HT_FLOAT32);
    assert_int_equal(RESULT(small, point), HT_FLOAT64);
    assert_int_equal(RESULT(ht_astype(small, HT_FLOAT32), point), HT_FLOAT32);
    assert_int_equal(RESULT(ht_scalar(1), ht_scalar(2)), HT_INT64);
    assert_int_equal(RESULT(small, ht_astype(small, HT_UINT8), ht_scalar(1)), HT_INT16);
    HT_TEST_EXPECT_ERROR(RESULT(small, NULL), HT_ERR_ARGUMENT, "ht_result_type: xs[1] is NULL");
    ht_scope_close(scope);
}

static void isreal_and_iscomplex_test_the_imaginary_part(void **state)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *z = ht_array((double[]){1, 0, 0, 2, 0, 0}, HT_SHAPE(3), HT_COMPLEX128, 0);
    ht_tensor *x = ht_zeros(HT_SHAPE(2), HT_INT16, 0);

    (void)state;
    ht_test_expect(ht_iscomplex(z), (double[]){0, 1, 0}, 0);
    ht_test_expect(ht_isreal(z), (double[]){1, 0, 1}, 0);
    ht_test_expect(ht_iscomplex(x), (double[]){0, 0}, 0);
    ht_test_expect(ht_isreal(x), (double[]){1, 1}, 0);
    assert_int_equal(ht_tensor_dtype(ht_isreal(z)), HT_BOOL);
    assert_int_equal(ht_tensor_dtype(ht_iscomplex(x)), HT_BOOL);
    HT_TEST_EXPECT_ERROR(ht_isreal(NULL), HT_ERR_ARGUMENT, "ht_isreal: x is NULL");
    HT_TEST_EXPECT_ERROR(ht_iscomplex(NULL), HT_ERR_ARGUMENT, "ht_iscomplex: x is NULL");
    ht_scope_close(scope);
}

static void powers_in_even_steps(void **state)
{
    ht_scope *scope = ht_scope_open();

    (void)state;
    ht_test_expect(ht_logspace(0, 3, 4, 10, HT_FLOAT64, 0), (double[]){1, 10, 100, 1000}, 1e-15);
    ht_test_expect(ht_logspace(0, 3, 4, 2, HT_INT32, HT_NONE), (double[]){1, 2, 4, 8}, 0);
    ht_test_expect(
        ht_logspace_ext(-1, 1, 3, 4, HT_FLOAT32, HT_NONE, ht_get_device(), ht_comm_self()),
        (double[]){0.25, 1, 4}, 0);
    HT_TEST_EXPECT_ERROR(ht_logspace(0, 1, -1, 10, HT_FLOAT32, 0), HT_ERR_SHAPE, "ht_logspace");
    ht_scope_close(scope);
}

HT_TEST_SUITE(test_types, cmocka_unit_test(conversions_are_numpys),
              cmocka_unit_test(kinds_are_those_of_the_standard),
              cmocka_unit_test(finfo_and_iinfo_of_each_dtype),
              cmocka_unit_test(result_type_of_several_operands),
              cmocka_unit_test(isreal_and_iscomplex_test_the_imaginary_part),
              cmocka_unit_test(powers_in_even_steps));
