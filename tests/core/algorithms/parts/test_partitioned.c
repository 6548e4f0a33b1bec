/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* Tensors described by their parts, and made of them again over the same memory. */
#include "ht_test.h"

#include "agrees.h"
#include "tensor_check.h"

#include "ht/partitioned.h"

enum { MOST = 8 };

static ht_tensor *numbers(ht_dtype dtype, int split)
{
    ht_tensor *x = ht_reshape(ht_arange(0, 60, 1, HT_FLOAT32, HT_NONE), HT_SHAPE(5, 4, 3));

    return ht_resplit(ht_astype(x, dtype), split);
}

/* For any x, the description has its metadata, and a tensor made from it equals x and shares its
 * memory. */
static void there_and_back(ht_tensor *x)
{
    ht_partitioned description;
    ht_partition parts[MOST];
    int64_t begin = 0;
    int split = ht_tensor_split(x);
    ht_tensor *y;

    assert_int_equal(ht_tensor_partitioned(x, &description, parts), HT_SUCCESS);
    assert_int_equal(description.ndim, ht_tensor_ndim(x));
    for (int r = 0; r < ht_test_size && split != HT_NONE; r++) {
        assert_int_equal(parts[r].location, r);
        assert_int_equal(parts[r].start[split], begin);
        begin += parts[r].shape[split];
    }
    if (split != HT_NONE) {
        assert_int_equal(description.tiling[split], ht_test_size);
        assert_int_equal(parts[ht_test_rank].start[split], ht_tensor_offset(x));
        assert_int_equal(begin, ht_tensor_shape(x)[split]);
    }
    y = ht_from_partitioned(&description);
    assert_non_null(y);
    assert_int_equal(ht_tensor_split(y), ht_test_size > 1 ? split : HT_NONE);
    assert_ptr_equal(ht_tensor_data(y), ht_tensor_data(x));
    ht_test_expect_same(y, x, 0);
    /* what must not be taken for a view that it is not */
    ht_test_expect_same(ht_reshape(y, HT_SHAPE(-1)), ht_reshape(x, HT_SHAPE(-1)), 0);
    ht_test_expect_same(ht_add(y, x), ht_add(x, x), 0);
}

static void test_there_and_back(void **state)
{
    static const int splits[] = {HT_NONE, 0, 1, 2};

    (void)state;
    for (int i = 0; i < 4 * HT_DTYPE_COUNT; i++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = numbers((ht_dtype)(i / 4), splits[i % 4]);

        there_and_back(x);
        there_and_back(ht_transpose(x, 0, 2));
        there_and_back(ht_narrow(x, 0, 1, 3)); /* unbalanced, or with empty parts */
        there_and_back(ht_narrow(x, 1, 2, 2));
        there_and_back(ht_getitem(x, HT_KEY(HT_ALL, ht_slice_step(HT_OPEN, HT_OPEN, 2), 1)));
        ht_scope_close(scope);
    }
}

/* A write through either is seen by the other; a part of another layout on one rank alone. */
static void test_memory_is_shared(void **state)
{
    ht_partition parts[MOST];
    ht_partitioned whole = {.ndim = 2,
                            .dtype = HT_INT32,
                            .shape = {2 * ht_test_size, 3},
                            .tiling = {ht_test_size, 1},
                            .parts = parts,
                            .comm = HT_COMM_WORLD};
    bool odd = ht_test_rank == ht_test_size - 1;
    ht_tensor *own = ht_full(HT_SHAPE(3, 2), ht_test_rank, HT_INT32, HT_LOCAL), *x;

    (void)state;
    for (int r = 0; r < ht_test_size; r++)
        parts[r] = (ht_partition){.start = {2 * r}, .shape = {2, 3}, .location = r};
    own = odd ? ht_transpose(own, 0, 1) : ht_reshape(own, HT_SHAPE(2, 3));
    whole.local = own;
    x = ht_from_partitioned(&whole);
    assert_false(ht_tensor_is_contiguous(x));
    for (int64_t i = 0; i < 2 * ht_test_size; i++)
        assert_true(ht_item(ht_getitem(x, HT_KEY(i, 1))) == (double)(i / 2));
    ht_fill_(x, 8);
    ht_test_expect(own, (double[]){8, 8, 8, 8, 8, 8}, 0);
    ht_fill_(own, 9);
    assert_true(ht_item(ht_sum(x, HT_NONE)) == 54 * ht_test_size);
}

static ht_status describe_wrongly(bool odd)
{
    ht_partition parts[MOST];
    ht_partitioned description;

    ht_tensor_partitioned(numbers(HT_FLOAT32, 0), &description, parts);
    description.local = odd ? NULL : description.local;
    return ht_from_partitioned(&description) != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

static void from_partitioned_agrees_on_errors(void **state)
{
    static const ht_test_agreed rows[] = {
        HT_AGREES(ht_from_partitioned, " of no tensor", describe_wrongly)};

    (void)state;
    ht_test_agree_all(1, rows);
}

static void test_misuse(void **state)
{
    ht_partition parts[MOST];
    ht_partitioned description;

    (void)state;
    ht_tensor_partitioned(numbers(HT_FLOAT32, 1), &description, parts);
    description.dtype = HT_INT64;
    HT_TEST_EXPECT_ERROR(ht_from_partitioned(&description), HT_ERR_DTYPE,
                         "ht_from_partitioned: partitioned.local is float32, expected int64 as in "
                         "the description");
    parts[0].start[0] = 1;
    HT_TEST_EXPECT_ERROR(ht_from_partitioned(&description), HT_ERR_SHAPE,
                         "ht_from_partitioned: part 0 is");
    description.tiling[0] = 9;
    HT_TEST_EXPECT_ERROR(ht_from_partitioned(&description), HT_ERR_SHAPE,
                         "ht_from_partitioned: partitioned.tiling is (9, ");
    HT_TEST_EXPECT_ERROR(ht_tensor_partitioned(NULL, &description, parts), HT_ERR_ARGUMENT,
                         "ht_tensor_partitioned: x is NULL");
}

HT_TEST_SUITE(test_partitioned, cmocka_unit_test(test_there_and_back),
              cmocka_unit_test(test_memory_is_shared),
              cmocka_unit_test(from_partitioned_agrees_on_errors), cmocka_unit_test(test_misuse));
