/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ht_test.h"
#include "tensor_check.h"

/* The lines after the header. */
static void expect_text(ht_tensor *x, const char *expected)
{
    char *text = ht_tensor_str(x);
    const char *body;

    assert_non_null(text);
    body = strchr(text, '\n');
    assert_non_null(body);
    assert_string_equal(body + 1, expected);
    free(text);
}

static void printed_values_are_aligned_in_columns(void **state)
{
    (void)state;
    const double values[4] = {1, -2.5, 100, 0};
    const int64_t shape[2] = {2, 2};

    for (int split = 0; split < 2; split++)
        expect_text(ht_array(values, 2, shape, HT_FLOAT64, split), "[[  1.0000,  -2.5000],\n"
                                                                   " [100.0000,   0.0000]]");
}

/* C prints the sign of some NaNs. */
static void nan_has_no_sign(void **state)
{
    const double values[2] = {-NAN, 1};
    const int64_t shape[1] = {2};

    (void)state;
    expect_text(ht_array(values, 1, shape, HT_FLOAT64, HT_NONE), "[   nan, 1.0000]");
}

/* A process-local tensor says whose it is. */
static void local_tensors_name_their_rank(void **state)
{
    const double one = 1;
    char text[256] = "", expected[64] = "ht_tensor(";
    FILE *stream = tmpfile();

    (void)state;
    if (ht_test_size > 1)
        snprintf(expected, sizeof expected, "[%d/%d] ht_tensor(", ht_test_rank, ht_test_size);
    assert_int_equal(ht_print(ht_array(&one, 0, NULL, HT_FLOAT64, HT_LOCAL), stream), HT_SUCCESS);
    rewind(stream);
    assert_true(fread(text, 1, sizeof text - 1, stream) > 0);
    assert_memory_equal(text, expected, strlen(expected));
    fclose(stream);
}

static void long_tensors_show_their_edges(void **state)
{
    (void)state;
    ht_set_printoptions(4, 10, 2);
    expect_text(ht_arange(0, 1000, 1, HT_INT32, 0), "[  0,   1, ..., 998, 999]");
    ht_set_printoptions(4, 1000, 3);
}

static void precision_can_be_set(void **state)
{
    (void)state;
    ht_set_printoptions(2, 1000, 3);
    expect_text(ht_full(HT_SHAPE(2), 1.0 / 3, HT_FLOAT32, 0), "[0.33, 0.33]");
    ht_set_printoptions(100, 1000, 3);
    expect_text(ht_full(HT_SHAPE(1), 1e300, HT_FLOAT64, 0),
                "[1.0000000000000000525047602552044202487044685811081591549158"
                "541155118024579889081957863713750804478640e+300]");
    HT_TEST_EXPECT_ERROR(ht_set_printoptions(101, 1000, 3), HT_ERR_ARGUMENT, "precision is 101");
    ht_set_printoptions(4, 1000, 3);
}

static void an_imaginary_part_chooses_the_form(void **state)
{
    (void)state;
    expect_text(ht_full_ext(1, (int64_t[]){1}, ht_number_complex(1, -1e100), HT_COMPLEX128, 0,
                            ht_get_device(), HT_COMM_WORLD),
                "[1.0000e+00-1.0000e+100j]");
}

static void the_header_says_what_it_is(void **state)
{
    ht_use_device(ht_device_get("cpu"));

    (void)state;
    char *text = ht_tensor_str(ht_zeros(HT_SHAPE(3, 1), HT_BOOL, 0));

    assert_non_null(strstr(text, "shape=(3, 1), dtype=bool, device=cpu:0, split=0"));
    free(text);
}

static void rank_0_alone_writes(void **state)
{
    (void)state;
    FILE *stream = tmpfile();
    ht_tensor *x = ht_ones(HT_SHAPE(9), HT_UINT8, 0);

    assert_int_equal(ht_print(x, stream), HT_SUCCESS);
    assert_int_equal(ftell(stream) > 0, ht_test_rank == 0);
    fclose(stream);
}

HT_TEST_SUITE(test_printing, cmocka_unit_test(printed_values_are_aligned_in_columns),
              cmocka_unit_test(nan_has_no_sign), cmocka_unit_test(local_tensors_name_their_rank),
              cmocka_unit_test(long_tensors_show_their_edges),
              cmocka_unit_test(precision_can_be_set),
              cmocka_unit_test(an_imaginary_part_chooses_the_form),
              cmocka_unit_test(the_header_says_what_it_is), cmocka_unit_test(rank_0_alone_writes));
