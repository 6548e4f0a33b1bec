/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* Grids of tiles: they cover the tensor, lie on one rank each, and show its elements. */
#include "ht_test.h"
#include "tensor_check.h"

#include "ht/manipulations.h"
#include "ht/tiling.h"

static ht_tensor *numbers(int64_t rows, int64_t columns, int split)
{
    ht_tensor *x = ht_arange(0, (double)(rows * columns), 1, HT_FLOAT64, HT_NONE);

    return ht_resplit(ht_reshape(x, HT_SHAPE(rows, columns)), split);
}

static void check_edges(const ht_tiles *tiles, int axis)
{
    const int64_t *edges = ht_tiles_edges(tiles, axis);
    int64_t count = ht_tiles_count(tiles, axis), of_ranks = 0;

    assert_int_equal(edges[0], 0);
    for (int64_t i = 0; i < count; i++)
        assert_true(edges[i] <= edges[i + 1]);
    assert_int_equal(edges[count], ht_tensor_shape(ht_tiles_tensor(tiles))[axis]);
    if (axis != ht_tensor_split(ht_tiles_tensor(tiles)))
        return;
    for (int r = 0; r < ht_test_size; r++)
        of_ranks += ht_tiles_count_of(tiles, axis, r);
    assert_int_equal(of_ranks, count);
}

/* One tile, of a matrix whose numbers count its elements. */
static void check_tile(ht_tiles *tiles, int64_t i, int64_t j)
{
    ht_tensor *x = ht_tiles_tensor(tiles), *tile;
    const int64_t index[2] = {i, j}, *rows = ht_tiles_edges(tiles, 0),
                  *columns = ht_tiles_edges(tiles, 1);
    int64_t shape[2], start[2], stop[2], split_start = ht_tensor_offset(x);
    int rank, split = ht_tensor_split(x);
    double expected[400];

    assert_int_equal(ht_tiles_location(tiles, index, &rank), HT_SUCCESS);
    assert_int_equal(ht_tiles_shape(tiles, index, shape), HT_SUCCESS);
    assert_int_equal(ht_tiles_bounds(tiles, index, start, stop), HT_SUCCESS);
    assert_int_equal(shape[0], rows[i + 1] - rows[i]);
    assert_int_equal(shape[1], columns[j + 1] - columns[j]);
    if (split == HT_NONE)
        assert_int_equal(rank, HT_NONE);
    if (rank != HT_NONE && rank != ht_test_rank)
        return;
    assert_int_equal(start[0], rows[i] - (split == 0 ? split_start : 0));
    assert_int_equal(stop[1], columns[j + 1] - (split == 1 ? split_start : 0));
    for (int64_t k = 0; k < shape[0] * shape[1]; k++)
        expected[k] = (double)((rows[i] + k / shape[1]) * ht_tensor_shape(x)[1] + columns[j] +
                               k % shape[1]);
    tile = ht_tiles_get(tiles, index);
    ht_test_expect(tile, expected, 0);
}

static void check_all(ht_tiles *tiles)
{
    check_edges(tiles, 0);
    check_edges(tiles, 1);
    for (int64_t i = 0; i < ht_tiles_count(tiles, 0); i++) {
        for (int64_t j = 0; j < ht_tiles_count(tiles, 1); j++)
            check_tile(tiles, i, j);
    }
}

/* All but the last tiles of the diagonal are square; the diagonal ends on the rank that the result
 * names. */
static void check_squares(const ht_tiles *tiles)
{
    const int64_t *rows = ht_tiles_edges(tiles, 0), *columns = ht_tiles_edges(tiles, 1);
    int64_t count = ht_tiles_count(tiles, ht_tiles_count(tiles, 0) > ht_tiles_count(tiles, 1));

    for (int64_t i = 0; i < count; i++)
        assert_int_equal(rows[i], columns[i]);
}

static const int64_t shapes[][2] = {{12, 10}, {10, 12}, {9, 9}, {20, 3}, {3, 20}, {1, 1}, {0, 4}};

static void test_every_shape(void **state)
{
    static const int splits[] = {HT_NONE, 0, 1};

    (void)state;
    for (size_t i = 0; i < 3 * sizeof shapes / sizeof *shapes; i++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = numbers(shapes[i / 3][0], shapes[i / 3][1], splits[i % 3]);
        ht_tiles *tiles = ht_tiles_split(x);

        assert_int_equal(ht_tiles_count(tiles, 0), ht_test_size);
        assert_int_equal(ht_tiles_last_diagonal_rank(tiles), -1);
        check_all(tiles);
        ht_release(tiles);
        for (int per_rank = 1; per_rank <= 3; per_rank++) {
            tiles = ht_tiles_square(x, per_rank);
            check_all(tiles);
            check_squares(tiles);
            ht_release(tiles);
        }
        ht_scope_close(scope);
    }
}

/* Heat's example: (12, 10) over two ranks. */
static void tiles_of_two_ranks_are_those_of_heat(void **state)
{
    static const int64_t rows[] = {0, 3, 6, 8, 12}, columns[] = {0, 3, 6, 8, 10};
    ht_tiles *tiles;
    int64_t index[2];

    (void)state;
    if (ht_test_size != 2)
        HT_TEST_SKIP("of two ranks");
    tiles = ht_tiles_square(numbers(12, 10, 0), 2);
    assert_int_equal(ht_tiles_count(tiles, 0), 4);
    assert_int_equal(ht_tiles_count(tiles, 1), 4);
    assert_memory_equal(ht_tiles_edges(tiles, 0), rows, sizeof rows);
    assert_memory_equal(ht_tiles_edges(tiles, 1), columns, sizeof columns);
    assert_int_equal(ht_tiles_last_diagonal_rank(tiles), 1);
    assert_int_equal(ht_tiles_count_of(tiles, 0, 1), 2);
    assert_int_equal(ht_tiles_count_of(tiles, 1, 1), 4);
    assert_int_equal(ht_tiles_to_global(tiles, 1, (int64_t[2]){0, 2}, index), HT_SUCCESS);
    assert_int_equal(index[0], 2);
    assert_int_equal(index[1], 2);
    ht_release(tiles);
}

/* A tile is written on its rank, and seen in the tensor. */
static void test_writing(void **state)
{
    ht_tensor *x = ht_zeros(HT_SHAPE(2 * ht_test_size, 3), HT_INT32, 0), *of_x;
    ht_tiles *tiles = ht_tiles_split(x);

    (void)state;
    for (int64_t i = 0; i < ht_test_size; i++)
        assert_int_equal(ht_tiles_set_(tiles, (int64_t[2]){i, 0}, ht_scalar((double)(i + 1))),
                         HT_SUCCESS);
    of_x = ht_resplit(x, HT_NONE);
    for (int64_t i = 0; i < 2 * ht_test_size; i++)
        assert_true(ht_item(ht_getitem(of_x, HT_KEY(i, 0))) == (double)(i / 2 + 1));
    ht_release(tiles);
}

static void test_misuse(void **state)
{
    ht_tensor *x = numbers(6, 4, 0);
    ht_tiles *tiles = ht_tiles_split(x);
    int64_t index[2] = {0, ht_test_size}, shape[2];

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_tiles_shape(tiles, index, shape), HT_ERR_ARGUMENT,
                         "ht_tiles_shape: index is (0, ");
    index[1] = 0;
    HT_TEST_EXPECT_ERROR(ht_tiles_shape(tiles, index, NULL), HT_ERR_ARGUMENT,
                         "ht_tiles_shape: shape is NULL");
    HT_TEST_EXPECT_ERROR(ht_tiles_location(tiles, index, NULL), HT_ERR_ARGUMENT,
                         "ht_tiles_location: rank is NULL");
    HT_TEST_EXPECT_ERROR(ht_tiles_bounds(tiles, index, shape, NULL), HT_ERR_ARGUMENT,
                         "ht_tiles_bounds: stop is NULL");
    HT_TEST_EXPECT_ERROR(ht_tiles_to_global(tiles, 0, index, NULL), HT_ERR_ARGUMENT,
                         "ht_tiles_to_global: index is NULL");
    HT_TEST_EXPECT_ERROR(ht_tiles_to_global(tiles, 0, NULL, index), HT_ERR_ARGUMENT,
                         "ht_tiles_to_global: local is NULL");
    index[1] = ht_test_size;
    HT_TEST_EXPECT_ERROR(ht_tiles_square(ht_reshape(x, HT_SHAPE(24)), 2), HT_ERR_SHAPE,
                         "ht_tiles_square: x is (24,) and per_rank is 2, expected a matrix");
    HT_TEST_EXPECT_ERROR(ht_tiles_to_global(tiles, -1, index, shape), HT_ERR_ARGUMENT,
                         "ht_tiles_to_global: rank is -1");
    ht_resplit_(x, 1);
    HT_TEST_EXPECT_ERROR(ht_tiles_get(tiles, (int64_t[2]){ht_test_rank, 0}), HT_ERR_STATE,
                         "ht_tiles_get: tiles has a tensor of another shape or slabs, expected "
                         "those at its making");
    ht_release(tiles);
}

HT_TEST_SUITE(test_tiling, cmocka_unit_test(test_every_shape),
              cmocka_unit_test(tiles_of_two_ranks_are_those_of_heat),
              cmocka_unit_test(test_writing), cmocka_unit_test(test_misuse));
