/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* Metrics of a test set dealt out to the ranks, evenly or not, against a count by one rank of all
 * rows. Also: ties and NaN, a small variance with a large mean, and wrong shapes on one rank alone.
 */
#include "ht_test.h"

#include <math.h>
#include <string.h>

#include "../data/files.h"
#include "ht.h"
#include "tensor_check.h"

enum { ROWS = 101, CLASSES = 5 };

static double score(int64_t row, int64_t j)
{
    return floor(4 * sin(12.9898 * (double)(row * CLASSES + j + 1))); /* with ties */
}

static int64_t label(int64_t row)
{
    return (row * 7 + row / 3) % CLASSES;
}

static ht_tensor *scores(int64_t first, int64_t count)
{
    double values[ROWS * CLASSES];
    int64_t shape[] = {count, CLASSES};

    for (int64_t i = 0; i < count * CLASSES; i++)
        values[i] = score(first + i / CLASSES, i % CLASSES);
    return ht_array(values, 2, shape, HT_FLOAT64, HT_LOCAL);
}

static ht_tensor *labels(int64_t first, int64_t count)
{
    int64_t values[ROWS];

    for (int64_t i = 0; i < count; i++)
        values[i] = label(first + i);
    return ht_array(values, 1, &count, HT_INT64, HT_LOCAL);
}

/* Deals the rows out: evenly, or all to the last rank but one row to rank 0. Batches of 8 rows, and
 * an empty one. */
static void deal(ht_metric *metric, bool evenly)
{
    int64_t first = 0, count = ROWS;

    if (evenly)
        ht_comm_chunk(HT_COMM_WORLD, ROWS, ht_test_rank, &first, &count);
    else if (ht_test_size > 1) {
        first = ht_test_rank == 0 ? 0 : 1;
        count = ht_test_rank == 0 ? 1 : ht_test_rank == ht_test_size - 1 ? ROWS - 1 : 0;
    }
    for (int64_t at = 0; at < count; at += 8) {
        int64_t rows = count - at < 8 ? count - at : 8;

        assert_int_equal(
            ht_metric_update(metric, scores(first + at, rows), labels(first + at, rows)),
            HT_SUCCESS);
    }
    ht_metric_update(metric, scores(0, 0), labels(0, 0));
}

static double get(const ht_value *result, const char *name)
{
    assert_int_equal(ht_value_get_kind(ht_value_get(result, name)), HT_VALUE_NUMBER);
    return ht_value_as_number(ht_value_get(result, name));
}

/* A sort by score that keeps the order of equals: the place of the label in it. */
static int place(int64_t row)
{
    int before = 0;

    for (int j = 0; j < CLASSES; j++)
        before += score(row, j) > score(row, label(row)) ||
                  (score(row, j) == score(row, label(row)) && j < label(row));
    return before;
}

static void test_accuracy_counts_every_row_once(void **state)
{
    (void)state;
    for (int k = 1; k <= CLASSES; k += 2) {
        ht_metric *metric = ht_metric_accuracy(k, HT_COMM_WORLD);
        int correct = 0;

        for (int64_t row = 0; row < ROWS; row++)
            correct += place(row) < k;
        for (int evenly = 0; evenly < 2; evenly++) {
            ht_value *result;

            ht_metric_reset(metric);
            deal(metric, evenly);
            result = ht_metric_compute(metric);
            assert_true(get(result, "correct") == correct);
            assert_true(get(result, "count") == ROWS);
            assert_true(ht_metric_result(metric) == (double)correct / ROWS);
        }
        ht_release(metric);
    }
}

static void test_confusion_matrix(void **state)
{
    ht_metric *metric = ht_metric_confusion_matrix(CLASSES, HT_COMM_WORLD);
    int64_t expected[CLASSES][CLASSES] = {{0}};
    ht_value *result;

    (void)state;
    for (int64_t row = 0; row < ROWS; row++) {
        int64_t best = 0;

        for (int64_t j = 1; j < CLASSES; j++)
            best = score(row, j) > score(row, best) ? j : best;
        expected[label(row)][best]++;
    }
    deal(metric, false);
    result = ht_metric_compute(metric);
    assert_memory_equal(ht_test_data(ht_value_as_tensor(ht_value_get(result, "confusion_matrix"))),
                        expected, sizeof expected);

    /* Classes in the place of scores: every row is right. */
    ht_metric_reset(metric);
    ht_metric_update(metric, labels(0, 10), labels(0, 10));
    result = ht_metric_compute(metric);
    assert_true(get(result, "accuracy") == 1 && get(result, "count") == 10 * ht_test_size);
    ht_release(metric);
}

static void test_nan_is_the_largest_score(void **state)
{
    ht_metric *metric = ht_metric_accuracy(1, HT_COMM_WORLD);
    double values[] = {1, NAN, 3, NAN, 2, NAN};
    int64_t shape[] = {2, 3}, two = 2, classes[] = {1, 2};

    (void)state;
    ht_metric_update(metric, ht_array(values, 2, shape, HT_FLOAT64, HT_LOCAL),
                     ht_array(classes, 1, &two, HT_INT64, HT_LOCAL));
    assert_true(ht_metric_result(metric) == 0.5); /* row 1: the NaN before it is as large */
    ht_release(metric);
}

static ht_tensor *stream(int64_t first, int64_t count)
{
    double values[ROWS];

    for (int64_t i = 0; i < count; i++)
        values[i] = 1e9 + (double)((first + i) * 37 % 11);
    return ht_array(values, 1, &count, HT_FLOAT64, HT_LOCAL);
}

/* Sums of squares would have lost the variance next to 1e18. */
static void test_moments_of_a_stream(void **state)
{
    ht_metric *metric = ht_metric_moments(HT_COMM_WORLD);
    double mean = 0, variance = 0, mine[2], *all = NULL;
    int64_t first, count;
    ht_value *result;

    (void)state;
    for (int64_t i = 0; i < ROWS; i++)
        mean += (double)(i * 37 % 11) / ROWS;
    for (int64_t i = 0; i < ROWS; i++)
        variance += ((double)(i * 37 % 11) - mean) * ((double)(i * 37 % 11) - mean) / ROWS;
    ht_comm_chunk(HT_COMM_WORLD, ROWS, ht_test_rank, &first, &count);
    for (int64_t at = 0; at < count; at += 7)
        ht_metric_update(metric, stream(first + at, count - at < 7 ? count - at : 7), NULL);
    result = ht_metric_compute(metric);
    mine[0] = get(result, "mean");
    mine[1] = get(result, "variance");
    assert_true(fabs(mine[0] - 1e9 - mean) <= 1e-6);
    assert_true(fabs(mine[1] - variance) <= 1e-6 * variance);
    assert_true(get(result, "count") == ROWS);

    /* Bit for bit the same on all ranks. */
    all = test_calloc((size_t)ht_test_size, sizeof mine);
    MPI_Allgather(mine, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, ht_comm_mpi(HT_COMM_WORLD));
    for (int i = 0; i < ht_test_size; i++)
        assert_memory_equal(all + 2 * (size_t)i, mine, sizeof mine);
    test_free(all);
    ht_release(metric);
}

/* Means of batches of different size: the mean over rows, not the mean of the means. */
static void test_mean_of_losses_by_rows(void **state)
{
    ht_metric *metric = ht_metric_mean(HT_COMM_WORLD);
    double rows = 0, sum = 0;
    ht_value *result;

    (void)state;
    assert_true(isnan(ht_metric_result(metric)));
    for (int i = 0; i < ht_test_size; i++) {
        rows += 2 * i;
        sum += 2 * i * (i + 1.5);
    }
    ht_metric_add(metric, ht_test_rank + 1.5, 2 * ht_test_rank);
    result = ht_metric_compute(metric);
    assert_true(get(result, "count") == rows);
    if (rows > 0)
        assert_true(fabs(get(result, "mean") - sum / rows) <= 1e-14 * sum);
    ht_release(metric);
}

static bool is_number(double x, double expected)
{
    return isnan(expected) ? isnan(x) : x == expected;
}

/* Their distance is infinite or NaN; they meet within a rank and between ranks. */
static void test_mean_of_numbers_that_differ_much(void **state)
{
    static const struct {
        double first, second, mean;
    } cases[] = {{INFINITY, 3, INFINITY},        {3, -INFINITY, -INFINITY},
                 {INFINITY, INFINITY, INFINITY}, {1e308, -1e308, 0},
                 {INFINITY, -INFINITY, NAN},     {NAN, 1, NAN},
                 {1.5e308, 1.5e308, 1.5e308}};
    ht_metric *metric = ht_metric_mean(HT_COMM_WORLD), *moments = ht_metric_moments(HT_COMM_WORLD);
    const int64_t one = 1;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double first = cases[i].first, second = cases[i].second, mean = cases[i].mean;
        const bool last = ht_test_rank == ht_test_size - 1;

        ht_metric_reset(metric); /* both on each rank */
        ht_metric_add(metric, first, 2);
        ht_metric_add(metric, second, 2);
        assert_true(is_number(ht_metric_result(metric), mean));

        ht_metric_reset(metric); /* one on the first, one on the last */
        ht_metric_reset(moments);
        if (ht_test_rank == 0) {
            ht_metric_add(metric, first, 1);
            ht_metric_update(moments, ht_array(&first, 1, &one, HT_FLOAT64, HT_LOCAL), NULL);
        }
        if (last) {
            ht_metric_add(metric, second, 1);
            ht_metric_update(moments, ht_array(&second, 1, &one, HT_FLOAT64, HT_LOCAL), NULL);
        }
        assert_true(is_number(ht_metric_result(metric), mean));
        assert_true(is_number(ht_metric_result(moments), mean));
    }
    ht_release(moments);
    ht_release(metric);
}

/* The last rank alone: the others get its error when they compute, with its text. */
static void test_wrong_shapes_are_one_error_on_all_ranks(void **state)
{
    static const char text[] = "ht_metric_update: x is (3, 5), target is (4,), expected (N, "
                               "classes) and (N,)";
    ht_metric *metric = ht_metric_accuracy(1, HT_COMM_WORLD);

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    deal(metric, true);
    if (ht_test_rank == ht_test_size - 1) {
        assert_int_equal(ht_metric_update(metric, scores(0, 3), labels(0, 4)), HT_ERR_SHAPE);
        assert_message(text);
    }
    assert_null(ht_metric_compute(metric));
    assert_message(text);
    assert_true(isnan(ht_metric_result(metric)));
    assert_message(text);
    ht_metric_reset(metric);
    deal(metric, true);
    assert_false(isnan(ht_metric_result(metric)));
    ht_release(metric);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
}

/* Their imaginary parts would be lost. */
static void test_complex_numbers(ht_metric *accuracy, ht_metric *matrix)
{
    const int64_t shape[] = {3, 3};
    ht_tensor *x = ht_full(2, shape, 1, HT_COMPLEX64, HT_NONE);
    ht_tensor *target = ht_zeros(1, shape, HT_INT64, HT_NONE);
    ht_metric *moments = ht_metric_moments(HT_COMM_WORLD);

    x = ht_tensor_local(x);
    target = ht_tensor_local(target);
    assert_int_equal(ht_metric_update(moments, x, NULL), HT_ERR_DTYPE);
    assert_message("ht_metric_update: x is complex64, expected real numbers");
    assert_int_equal(ht_metric_update(accuracy, x, target), HT_ERR_DTYPE);
    assert_message("ht_metric_update: x is complex64, expected real numbers");
    assert_int_equal(ht_metric_update(matrix, x, target), HT_ERR_DTYPE);
    assert_message("ht_metric_update: x is complex64, expected real numbers");
    ht_release(moments);
}

static void test_misuse(void **state)
{
    ht_metric *accuracy = ht_metric_accuracy(1, HT_COMM_WORLD), *mean, *matrix;
    int64_t two = 2, wrong[] = {1, CLASSES};

    (void)state;
    mean = ht_metric_mean(HT_COMM_WORLD);
    matrix = ht_metric_confusion_matrix(3, HT_COMM_WORLD);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_metric_add(accuracy, 1, 1);
    assert_message("ht_metric_add: metric is an accuracy; use ht_metric_update");
    ht_metric_update(mean, scores(0, 1), labels(0, 1));
    assert_message("ht_metric_update: metric is a mean; use ht_metric_add");
    ht_metric_update(matrix, scores(0, 2), labels(0, 2));
    assert_message("ht_metric_update: x is (2, 5), expected (N, 3)");
    ht_metric_update(accuracy, scores(0, 2), ht_array(wrong, 1, &two, HT_INT64, HT_LOCAL));
    assert_message("target of row 1 is 5, expected 0 to 4");
    ht_metric_update(accuracy, scores(0, 2), NULL);
    assert_message("ht_metric_update: target is NULL");
    ht_metric_add(mean, 1, -1);
    assert_message("weight is -1, expected a finite value of at least 0");
    assert_null(ht_metric_accuracy(0, HT_COMM_WORLD));
    assert_message("k is 0, expected at least 1");
    test_complex_numbers(accuracy, matrix);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_release(accuracy);
    ht_release(matrix);
    ht_release(mean);
}

/* Half of the stream, a checkpoint, and the other half by another metric: as if nothing was. */
static void test_goes_on_from_a_state(void **state)
{
    ht_checkpoint_options options = ht_checkpoint_options_default();
    ht_metric *whole = ht_metric_mean(HT_COMM_WORLD), *parts = ht_metric_mean(HT_COMM_WORLD);
    ht_metric *matrix = ht_metric_confusion_matrix(3, HT_COMM_WORLD), *again;
    ht_metric *moments = ht_metric_moments(HT_COMM_WORLD);
    const int64_t labels[3] = {0, 1, 2}, taken[3] = {0, 2, 2}, three = 3;
    ht_tensor *x = ht_array(taken, 1, &three, HT_INT64, HT_LOCAL);
    ht_tensor *target = ht_array(labels, 1, &three, HT_INT64, HT_LOCAL);
    ht_value *map;

    (void)state;
    files_open();
    for (int i = 0; i < 20; i++) {
        ht_metric_add(whole, sin(i + ht_test_rank), i + 1);
        ht_metric_add(parts, sin(i + ht_test_rank), i + 1);
        if (i != 9)
            continue;
        ht_checkpoint_save(ht_metric_state_dict(parts), files_path("m.h5"), HT_COMM_WORLD,
                           &options);
        ht_release(parts);
        parts = ht_metric_mean(HT_COMM_WORLD);
        ht_metric_add(parts, 1e9, 1); /* added values are not merged */
        map = ht_checkpoint_load(files_path("m.h5"), HT_COMM_WORLD, &options);
        assert_int_equal(ht_metric_load_state_dict(parts, map), HT_SUCCESS);
    }
    assert_true(ht_metric_result(parts) == ht_metric_result(whole));

    ht_metric_update(matrix, x, target);
    map = ht_metric_state_dict(matrix);
    again = ht_metric_confusion_matrix(3, HT_COMM_WORLD);
    assert_int_equal(ht_metric_load_state_dict(again, map), HT_SUCCESS);
    ht_metric_update(again, x, target);
    assert_true(ht_value_as_number(ht_value_get(ht_metric_compute(again), "correct")) ==
                4 * ht_test_size);
    ht_value_set(map, "counts",
                 ht_value_tensor(ht_neg(ht_value_as_tensor(ht_value_get(map, "counts")))));
    HT_TEST_EXPECT_ERROR(ht_metric_load_state_dict(again, map), HT_ERR_FORMAT,
                         "the state has counts that are NaN or below 0");
    HT_TEST_EXPECT_ERROR(ht_metric_load_state_dict(parts, map), HT_ERR_FORMAT,
                         "the state is of ht_metric_confusion_matrix (k 0), the metric is "
                         "ht_metric");
    map = ht_metric_state_dict(moments);
    ht_value_set(map, "moments",
                 ht_value_tensor(ht_full(HT_SHAPE(1, 3), 0.5, HT_FLOAT64, HT_NONE)));
    HT_TEST_EXPECT_ERROR(ht_metric_load_state_dict(moments, map), HT_ERR_FORMAT,
                         "the state has counts that are not integers");
    ht_release(moments);
    ht_release(again);
    ht_release(matrix);
    ht_release(parts);
    ht_release(whole);
    files_remove();
}

HT_TEST_SUITE(test_metrics, cmocka_unit_test(test_goes_on_from_a_state),
              cmocka_unit_test(test_accuracy_counts_every_row_once),
              cmocka_unit_test(test_confusion_matrix),
              cmocka_unit_test(test_nan_is_the_largest_score),
              cmocka_unit_test(test_moments_of_a_stream),
              cmocka_unit_test(test_mean_of_losses_by_rows),
              cmocka_unit_test(test_mean_of_numbers_that_differ_much),
              cmocka_unit_test(test_wrong_shapes_are_one_error_on_all_ranks),
              cmocka_unit_test(test_misuse));
