/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* Slabs that a program chooses: what each rank holds, that nothing else is needed, and gradients.
 */
#include <string.h>

#include "gradcheck.h"
#include "ht_test.h"
#include "tensor_check.h"

enum { MOST_RANKS = 7, ROWS = 10, COLUMNS = 6 };

/* Uneven, with ranks that have nothing. */
static void uneven(int64_t counts[], int64_t length, int way)
{
    int64_t left = length;

    for (int rank = 0; rank < ht_test_size; rank++) {
        const int64_t mine = (rank + way) % 3 == 0 ? 0 : (rank + way) % 4 + way % 3;

        counts[rank] = mine < left ? mine : left;
        left -= counts[rank];
    }
    counts[way % ht_test_size] += left;
}

static void expect_slabs(ht_tensor *y, ht_tensor *x, const int64_t counts[])
{
    int64_t found[MOST_RANKS], begins[MOST_RANKS], map[2 * MOST_RANKS], at = 0;
    const int split = ht_tensor_split(x);

    ht_test_expect_same(y, x, 0);
    assert_int_equal(ht_tensor_split(y), split);
    assert_int_equal(ht_tensor_lshape(y)[split], counts[ht_test_rank]);
    assert_int_equal(ht_tensor_counts_displs(y, found, begins), HT_SUCCESS);
    assert_int_equal(ht_tensor_lshape_map(y, map), HT_SUCCESS);
    for (int rank = 0; rank < ht_test_size; rank++) {
        assert_int_equal(found[rank], counts[rank]);
        assert_int_equal(begins[rank], at);
        assert_int_equal(map[2 * rank + split], counts[rank]);
        assert_int_equal(map[2 * rank + 1 - split], ht_tensor_shape(x)[1 - split]);
        at += counts[rank];
    }
}

static void redistribute_gives_each_rank_its_slab(void **state)
{
    static const ht_dtype dtypes[] = {HT_FLOAT64, HT_BOOL, HT_COMPLEX64, HT_BFLOAT16};
    int64_t counts[MOST_RANKS], after[MOST_RANKS];

    (void)state;
    for (int way = 0; way < 16; way++) {
        ht_scope *scope = ht_scope_open();
        const int split = way % 2;
        ht_tensor *x = ht_test_randn(HT_SHAPE(ROWS, COLUMNS), HT_FLOAT64, split, 3), *y;

        x = ht_astype(x, dtypes[way / 4]);
        if (way % 4 > 1)
            x = ht_transpose(ht_flip(ht_transpose(x, 0, 1), HT_AXES(0)), 0, 1);
        uneven(counts, ht_tensor_shape(x)[split], way);
        y = ht_redistribute(x, counts);
        expect_slabs(y, x, counts);
        assert_ptr_equal(ht_redistribute(y, counts), y);
        uneven(after, ht_tensor_shape(x)[split], way + 1);
        assert_int_equal(ht_redistribute_(y, after), HT_SUCCESS);
        expect_slabs(y, x, after);
        assert_int_equal(ht_balance_(y), HT_SUCCESS);
        assert_true(ht_tensor_is_balanced(y));
        ht_test_expect_same(ht_redistribute(ht_redistribute(x, counts), NULL), x, 0);
        ht_scope_close(scope);
    }
}

static void collect_moves_all_rows_to_one_rank(void **state)
{
    int64_t counts[MOST_RANKS];

    (void)state;
    for (int way = 0; way < 2 * ht_test_size; way++) {
        const int target = way / 2, split = way % 2;
        ht_tensor *x = ht_test_randn(HT_SHAPE(ROWS, COLUMNS), HT_FLOAT64, split, 4);
        ht_tensor *y = ht_collect(x, target);

        for (int rank = 0; rank < ht_test_size; rank++)
            counts[rank] = rank == target ? ht_tensor_shape(x)[split] : 0;
        expect_slabs(y, x, counts);
        assert_int_equal(ht_collect_(y, 0), HT_SUCCESS);
        assert_int_equal(ht_tensor_lshape(y)[split],
                         ht_test_rank == 0 ? ht_tensor_shape(x)[split] : 0);
    }
}

static void the_result_is_all_the_memory_there_is(void **state)
{
    ht_tensor *x = ht_test_randn(HT_SHAPE(700, 80), HT_FLOAT64, 0, 5), *y;
    ht_device_memory before, after;

    (void)state;
    if (!ht_test_on_host())
        HT_TEST_SKIP("messages of other memory are packed");
    for (int way = 0; way < 2; way++) {
        ht_device_get_memory(ht_tensor_device(x), &before);
        y = way == 0 ? ht_resplit(x, 1) : ht_collect(x, 0);
        ht_device_get_memory(ht_tensor_device(x), &after);
        assert_true(after.in_use - before.in_use <= 2 * (size_t)ht_tensor_nbytes(y) + 4096);
        assert_true(after.allocated - before.allocated <= 1);
    }
}

static void a_replicated_tensor_is_not_redistributed(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(3, 2), HT_FLOAT32, HT_NONE);
    int64_t counts[MOST_RANKS] = {0}, map[2 * MOST_RANKS];

    (void)state;
    assert_ptr_equal(ht_collect(x, 0), x);
    assert_ptr_equal(ht_redistribute(x, counts), x);
    assert_int_equal(ht_tensor_gnbytes(x), 24);
    assert_int_equal(ht_tensor_lshape_map(x, map), HT_SUCCESS);
    assert_int_equal(map[2 * ht_test_size - 1], 2);
    HT_TEST_EXPECT_ERROR(ht_tensor_counts_displs(x, counts, counts), HT_ERR_ARGUMENT,
                         "ht_tensor_counts_displs: x has no split");
}

static void misuse_is_reported(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(5), HT_FLOAT32, 0);
    int64_t counts[MOST_RANKS] = {4};

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_redistribute(x, counts), HT_ERR_ARGUMENT,
                         "expected counts of at least 0 that add up to 5");
    counts[0] = 6;
    HT_TEST_EXPECT_ERROR(ht_redistribute_(x, counts), HT_ERR_ARGUMENT,
                         "ht_redistribute_: the count is 6 of axis 0 on rank 0, after 0 on the "
                         "ranks before it; expected counts");
    counts[0] = -1;
    HT_TEST_EXPECT_ERROR(ht_redistribute(x, counts), HT_ERR_ARGUMENT,
                         "ht_redistribute: the count is -1 of");
    HT_TEST_EXPECT_ERROR(ht_collect(x, ht_test_size), HT_ERR_ARGUMENT, "ht_collect: rank ");
    HT_TEST_EXPECT_ERROR(ht_collect_(x, -1), HT_ERR_ARGUMENT,
                         "ht_collect_: rank is -1, expected 0");
}

static ht_tensor *moved(ht_tensor *in[], void *user)
{
    return ht_mul(ht_redistribute(ht_exp(in[0]), user), ht_collect(in[0], 0));
}

static void gradients_of_redistribute_return_to_their_ranks(void **state)
{
    ht_tensor *x = ht_test_randn(HT_SHAPE(4, 3), HT_FLOAT64, 0, 6), *wide;
    int64_t counts[MOST_RANKS];

    (void)state;
    uneven(counts, 4, 1);
    ht_tensor_set_requires_grad(x, true);
    ht_test_gradcheck(moved, 1, &x, counts, 1e-6);

    wide = ht_test_randn(HT_SHAPE(4, 3), HT_FLOAT64, 0, 6);
    ht_tensor_set_requires_grad(wide, true);
    assert_int_equal(ht_backward(ht_sum(ht_mul(wide, wide), HT_NONE)), HT_SUCCESS);
    assert_int_equal(ht_redistribute_(wide, counts), HT_SUCCESS);
    assert_int_equal(ht_tensor_lshape(ht_tensor_grad(wide))[0], counts[ht_test_rank]);
    ht_test_expect_same(ht_tensor_grad(wide), ht_mul_scalar(ht_detach(wide), 2), 0);
}

static void diagonals_are_filled(void **state)
{
    double expected[ROWS * COLUMNS] = {0};

    (void)state;
    for (int i = 0; i < COLUMNS; i++)
        expected[i * COLUMNS + i] = 7;
    for (int split = 0; split < 3; split++) {
        ht_tensor *x = ht_zeros(HT_SHAPE(ROWS, COLUMNS), HT_INT16, split == 2 ? HT_NONE : split);

        assert_int_equal(ht_fill_diagonal_(x, 7), HT_SUCCESS);
        ht_test_expect(x, expected, 0);
    }
    HT_TEST_EXPECT_ERROR(ht_fill_diagonal_(ht_ones(HT_SHAPE(3), HT_FLOAT32, 0), 1), HT_ERR_SHAPE,
                         "ht_fill_diagonal_: x is (3,), expected a matrix");
}

static void print_options_are_set_and_read(void **state)
{
    int precision, threshold, edge_items;

    (void)state;
    ht_set_printoptions(6, 50, 2);
    ht_get_printoptions(&precision, &threshold, &edge_items);
    assert_true(precision == 6 && threshold == 50 && edge_items == 2);
    ht_set_printoptions(4, 1000, 3);
}

HT_TEST_SUITE(test_redistribute, cmocka_unit_test(redistribute_gives_each_rank_its_slab),
              cmocka_unit_test(collect_moves_all_rows_to_one_rank),
              cmocka_unit_test(the_result_is_all_the_memory_there_is),
              cmocka_unit_test(a_replicated_tensor_is_not_redistributed),
              cmocka_unit_test(misuse_is_reported),
              cmocka_unit_test(gradients_of_redistribute_return_to_their_ranks),
              cmocka_unit_test(diagonals_are_filled),
              cmocka_unit_test(print_options_are_set_and_read));
