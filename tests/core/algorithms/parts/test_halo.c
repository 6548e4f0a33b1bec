/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include "ht_test.h"
#include "tensor_check.h"

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* This rank's first index along the split axis, from the lengths of all. */
static int64_t start_of(ht_tensor *x)
{
    const int64_t length = ht_tensor_lshape(x)[ht_tensor_split(x)];
    int64_t start = 0, mine;
    ht_tensor *lengths = ht_array_from_local(&length, HT_SHAPE(1), HT_INT64, 0);
    const double *all = ht_test_values(lengths);

    for (int rank = 0; rank < ht_test_rank; rank++) {
        mine = (int64_t)all[rank];
        start += mine;
    }
    return start;
}

static void check(ht_tensor *x, int64_t before, int64_t after)
{
    const int split = ht_tensor_split(x);
    const int64_t n = ht_tensor_shape(x)[split], length = ht_tensor_lshape(x)[split];
    const int64_t start = start_of(x), stop = start + length;
    const int64_t low = length > 0 ? most(0, start - before) : start;
    const int64_t high = length > 0 ? least(n, stop + after) : start;
    ht_tensor *whole = ht_tensor_local(ht_resplit(x, HT_NONE)), *prev, *next;
    ht_request *request;

    ht_test_expect_same(ht_array_with_halos(x, before, after), ht_narrow(whole, split, low, high),
                        0);
    assert_int_equal(ht_get_halo(x, before, after, &prev, &next), HT_SUCCESS);
    ht_test_expect_same(prev, ht_narrow(whole, split, low, start), 0);
    ht_test_expect_same(next, ht_narrow(whole, split, stop, most(stop, high)), 0);
    request = ht_iget_halo(x, before, after, &prev, NULL);
    assert_int_equal(ht_wait(&request), HT_SUCCESS);
    ht_test_expect_same(prev, ht_narrow(whole, split, low, start), 0);
    assert_int_equal(ht_get_halo(x, before, after, NULL, NULL), HT_SUCCESS);
}

static void halos_reach_over_parts_of_any_length(void **state)
{
    static const int64_t widths[][2] = {{0, 0}, {1, 1}, {2, 0}, {0, 3}, {5, 4}, {100, 100}};
    ht_tensor *x = ht_reshape(ht_arange(0, 60, 1, HT_FLOAT32, HT_NONE), HT_SHAPE(10, 6));

    (void)state;
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        for (int split = 0; split < 2; split++) {
            ht_scope *scope = ht_scope_open();
            ht_tensor *part = ht_resplit(x, split);

            check(part, widths[i][0], widths[i][1]);
            check(ht_transpose(part, 0, 1), widths[i][0], widths[i][1]);
            check(ht_narrow(part, 0, 3, 9), widths[i][0], widths[i][1]); /* empty parts */
            check(ht_flip(part, 1, (const int[]){1 - split}), widths[i][0], widths[i][1]);
            check(ht_astype(part, HT_COMPLEX128), widths[i][0], widths[i][1]);
            check(ht_narrow(part, split, 0, 0), widths[i][0], widths[i][1]);
            ht_scope_close(scope);
        }
    }
}

static void a_replicated_tensor_has_no_halos(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(3, 2), HT_INT16, HT_NONE), *prev, *next;

    (void)state;
    assert_int_equal(ht_get_halo(x, 2, 2, &prev, &next), HT_SUCCESS);
    assert_int_equal(ht_tensor_size(prev) + ht_tensor_size(next), 0);
    assert_int_equal(ht_tensor_shape(prev)[1], 2);
    ht_test_expect_same(ht_array_with_halos(x, 2, 2), ht_tensor_local(x), 0);
}

static void misuse_is_named(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(3, 2), HT_FLOAT32, 0);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_array_with_halos(x, -1, 2), HT_ERR_ARGUMENT,
                         "ht_array_with_halos: the halos are -1 and 2 rows for x of shape (3, 2), "
                         "expected at least 0 rows");
    HT_TEST_EXPECT_ERROR(ht_get_halo(ht_sum(x, HT_NONE), 1, 2, NULL, NULL), HT_ERR_ARGUMENT,
                         "ht_get_halo: the halos are 1 and 2 rows for x of shape ()");
    HT_TEST_EXPECT_ERROR(ht_iget_halo(x, 0, -3, NULL, NULL), HT_ERR_ARGUMENT, "ht_iget_halo");
}

HT_TEST_SUITE(test_halo, cmocka_unit_test(halos_reach_over_parts_of_any_length),
              cmocka_unit_test(a_replicated_tensor_has_no_halos),
              cmocka_unit_test(misuse_is_named));
