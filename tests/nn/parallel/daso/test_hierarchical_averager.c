/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Averaging of parameters over growing groups, against means worked out by hand. */
#include "core/tensor/tensor.h"
#include "ht_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ht.h"
#include "tensor_check.h"

enum { STEPS = 5 };

/* Two levels where the number of ranks has a divisor. */
static ht_hierarchical_averager *new_averager(int64_t warmup_steps)
{
    if (ht_test_size == 4)
        return ht_hierarchical_averager_new(HT_COMM_WORLD, 2, (int64_t[]){2, 4}, (int[]){2, 4},
                                            warmup_steps);
    return ht_hierarchical_averager_new(HT_COMM_WORLD, 1, &(int64_t){2}, &ht_test_size,
                                        warmup_steps);
}

static ht_tensor *parameter(int ndim, const int64_t shape[], double value, ht_dtype dtype)
{
    ht_tensor *x = ht_full(ndim, shape, value, dtype, HT_LOCAL);

    ht_tensor_set_requires_grad(x, true);
    return x;
}

static void add(ht_tensor *x, double value)
{
    bool grad = ht_set_grad_enabled(false);

    ht_add_(x, parameter(0, NULL, value, x->body->dtype), 1);
    ht_set_grad_enabled(grad);
}

static void expect_all(ht_tensor *x, double value)
{
    int64_t n = ht_tensor_size(x);
    double *expected = malloc((size_t)n * sizeof *expected);

    for (int64_t i = 0; i < n; i++)
        expected[i] = value;
    ht_test_expect(x, expected, 1e-6);
    free(expected);
}

/* All start from 0; in each step rank r adds r + 1. Averages in steps 0, 2 and 4: with 4 ranks over
 * all, pairs, all; otherwise over all. Per rank count and rank: the value after each step. */
static const double by_hand[5][4][STEPS] = {
    [1] = {{1, 2, 3, 4, 5}},
    [2] = {{1.5, 2.5, 4.5, 5.5, 7.5}, {1.5, 3.5, 4.5, 6.5, 7.5}},
    [3] = {{2, 3, 6, 7, 10}, {2, 4, 6, 8, 10}, {2, 5, 6, 9, 10}},
    [4] = {{2.5, 3.5, 5.5, 6.5, 12.5},
           {2.5, 4.5, 5.5, 7.5, 12.5},
           {2.5, 5.5, 9.5, 12.5, 12.5},
           {2.5, 6.5, 9.5, 13.5, 12.5}},
};
static const int groups_of_4[STEPS] = {4, 0, 2, 0, 4};

/* Parameters of three shapes, one of them transposed, of two dtypes; a frozen one stays. */
static void test_means_by_hand(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_hierarchical_averager *averager = new_averager(0);
    ht_tensor *wide = ht_transpose(parameter(HT_SHAPE(3, 2), 0, HT_FLOAT32), 0, 1);
    ht_tensor *list[] = {parameter(HT_SHAPE(7), 0, HT_FLOAT32), parameter(0, NULL, 0, HT_FLOAT64),
                         ht_detach(wide), parameter(HT_SHAPE(2), ht_test_rank, HT_FLOAT32)};
    ht_value *parameters = ht_value_tensors(4, list);

    ht_tensor_set_requires_grad(list[2], true);
    ht_tensor_set_requires_grad(list[3], false);
    for (int k = 0; k < STEPS; k++) {
        for (int i = 0; i < 3; i++)
            add(list[i], ht_test_rank + 1);
        assert_int_equal(ht_hierarchical_averager_average_parameters(averager, parameters),
                         HT_SUCCESS);
        for (int i = 0; i < 3; i++)
            expect_all(list[i], by_hand[ht_test_size][ht_test_rank][k]);
        expect_all(list[3], ht_test_rank);
        assert_int_equal(ht_hierarchical_averager_last_group_size(averager), k % 2 != 0 ? 0
                                                                             : ht_test_size == 4
                                                                                 ? groups_of_4[k]
                                                                                 : ht_test_size);
    }
    ht_release(averager);
    ht_scope_close(scope);
}

/* Steps 0 ... 2 average nothing, step 3 is not due, step 4 averages 5 (r + 1). */
static void test_warm_up_averages_nothing(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_hierarchical_averager *averager = new_averager(3);
    ht_tensor *x = parameter(HT_SHAPE(3), 0, HT_FLOAT32);

    for (int k = 0; k < STEPS; k++) {
        add(x, ht_test_rank + 1);
        ht_hierarchical_averager_average_parameters(averager, ht_value_tensors(1, &x));
        expect_all(x, k < 4 ? (k + 1) * (ht_test_rank + 1) : 2.5 * (ht_test_size + 1));
    }
    ht_release(averager);
    ht_scope_close(scope);
}

static uint64_t bits_of(const ht_tensor *x)
{
    const unsigned char *data = ht_test_data(x);
    uint64_t hash = 14695981039346656037u;

    for (int64_t i = 0; i < x->body->lsize * (int64_t)sizeof(float); i++)
        hash = (hash ^ data[i]) * 1099511628211u;
    return hash;
}

static void test_all_ranks_get_the_same_bits(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    int64_t mine, all[4];
    ht_tensor *x;

    ht_use_comm(HT_COMM_SELF);
    x = ht_test_randn(HT_SHAPE(10007), HT_FLOAT32, HT_NONE, 1 + (uint64_t)ht_test_rank);
    ht_use_comm(HT_COMM_WORLD);
    assert_int_equal(ht_average_parameters(ht_value_tensors(1, &x), HT_COMM_WORLD), HT_SUCCESS);
    mine = (int64_t)bits_of(x);
    ht__comm_allgather_i64(HT_COMM_WORLD, &mine, 1, all, "test");
    for (int r = 0; r < ht_test_size; r++)
        assert_true(all[r] == mine);
    ht_scope_close(scope);
}

/* The step is the only state: a new averager continues from the old one's. */
static void test_goes_on_from_a_state(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_hierarchical_averager *first = new_averager(0), *second = new_averager(0);
    ht_tensor *x = parameter(HT_SHAPE(3), 0, HT_FLOAT32);

    for (int k = 0; k < STEPS; k++) {
        add(x, ht_test_rank + 1);
        ht_hierarchical_averager_average_parameters(k < 3 ? first : second,
                                                    ht_value_tensors(1, &x));
        if (k == 2)
            ht_hierarchical_averager_load_state_dict(second,
                                                     ht_hierarchical_averager_state_dict(first));
        expect_all(x, by_hand[ht_test_size][ht_test_rank][k]);
    }
    ht_release(first);
    ht_release(second);
    ht_scope_close(scope);
}

/* A rank's own updates between averages, and equal models after one over all: what training is. */
static void test_a_model_is_trained(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_hierarchical_averager *averager = new_averager(0);

    ht_nn_seed(1);
    ht_module *net = ht_nn_linear(3, 1);
    ht_optimizer *optimizer = ht_optim_sgd(ht_module_parameters(net), 0.1, NULL);
    ht_tensor *x = parameter(HT_SHAPE(2, 3), ht_test_rank + 1, HT_FLOAT32);
    int64_t mine, all[4];
    double different = 0;

    ht_tensor_set_requires_grad(x, false);
    for (int k = 0; k < STEPS; k++) {
        ht_optimizer_zero_grad(optimizer);
        ht_backward(ht_sum(ht_forward(net, x), HT_NONE));
        ht_optimizer_step(optimizer);
        ht_hierarchical_averager_average_parameters(averager, ht_module_parameters(net));
        mine = (int64_t)bits_of(ht_value_as_tensor(ht_value_at(ht_module_parameters(net), 0)));
        ht__comm_allgather_i64(HT_COMM_WORLD, &mine, 1, all, "test");
        for (int r = 1; r < ht_test_size; r++) {
            different += all[r] != all[0];
            if (ht_hierarchical_averager_last_group_size(averager) == ht_test_size)
                assert_true(all[r] == all[0]);
        }
    }
    assert_true(ht_test_size == 1 || different > 0);
    ht_release(averager);
    ht_release(optimizer);
    ht_release(net);
    ht_scope_close(scope);
}

static ht_hierarchical_averager *make(int count, const int64_t periods[], const int sizes[],
                                      int64_t warmup_steps)
{
    return ht_hierarchical_averager_new(HT_COMM_WORLD, count, periods, sizes, warmup_steps);
}

static void test_levels_that_do_not_fit_are_refused(void **state)
{
    int n = ht_test_size, two[] = {n, 2 * n}, equal[] = {n, n}, odd[] = {2, 3}, late = 2 * n;
    char last[96];

    (void)state;
    HT_TEST_EXPECT_ERROR(make(0, NULL, NULL, 0), HT_ERR_ARGUMENT,
                         "count is 0, expected at least one period with its group size");
    HT_TEST_EXPECT_ERROR(make(1, &(int64_t){0}, &n, 0), HT_ERR_ARGUMENT,
                         "level 0 has the period 0 and the group size");
    HT_TEST_EXPECT_ERROR(make(1, &(int64_t){4}, &n, -1), HT_ERR_ARGUMENT,
                         "warmup_steps is -1, expected at least 0");
    HT_TEST_EXPECT_ERROR(make(2, ((int64_t[]){4, 4}), two, 0), HT_ERR_ARGUMENT,
                         "expected more than those of the level before");
    HT_TEST_EXPECT_ERROR(make(2, ((int64_t[]){2, 4}), equal, 0), HT_ERR_ARGUMENT,
                         "expected more than those of the level before");
    HT_TEST_EXPECT_ERROR(make(2, ((int64_t[]){2, 4}), odd, 0), HT_ERR_ARGUMENT,
                         "the group size 2 of level 0 does not divide the next one, 3");
    snprintf(last, sizeof last, "the last group size is %d, expected that of the communicator, %d",
             late, n);
    HT_TEST_EXPECT_ERROR(make(1, &(int64_t){4}, &late, 0), HT_ERR_ARGUMENT, last);
}

/* An argument that is wrong, or differs, on rank 1 alone is an error on all ranks. */
static void test_ranks_that_differ_are_refused(void **state)
{
    int n = ht_test_size, half[2] = {1, n};
    int64_t wrong = ht_test_rank != 1, later = 4 + (ht_test_rank == 1), both[2] = {later, 8};

    (void)state;
    if (n == 1)
        return;
    HT_TEST_EXPECT_ERROR(make(1, &wrong, &n, 0), HT_ERR_ARGUMENT, "level 0 has the period 0");
    HT_TEST_EXPECT_ERROR(make(2, both, half, 0), HT_ERR_ARGUMENT,
                         "periods[0] is 4 on rank 0 and 5 on rank 1, expected the same");
    HT_TEST_EXPECT_ERROR(make(1, &(int64_t){4}, &n, later), HT_ERR_ARGUMENT,
                         "warmup_steps is 4 on rank 0 and 5 on rank 1, expected the same");
}

/* The memory of the first list is not that of the second. */
static void test_another_list_of_parameters(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_hierarchical_averager *averager = new_averager(0);
    ht_tensor *first = parameter(HT_SHAPE(2), ht_test_rank, HT_FLOAT32);
    ht_tensor *second = parameter(HT_SHAPE(2), 10 * ht_test_rank, HT_FLOAT32);

    ht_hierarchical_averager_average_parameters(averager, ht_value_tensors(1, &first));
    for (int step = 1; step < STEPS; step++)
        ht_hierarchical_averager_average_parameters(averager, ht_value_tensors(1, &second));
    expect_all(first, (ht_test_size - 1) / 2.0);
    expect_all(second, 5.0 * (ht_test_size - 1));
    ht_release(averager);
    ht_scope_close(scope);
}

static void test_parameters_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_hierarchical_averager *averager = new_averager(0);
    ht_tensor *counts = parameter(HT_SHAPE(2), 0, HT_FLOAT32), *frozen = ht_detach(counts);
    ht_tensor *uneven = parameter(HT_SHAPE(2 + ht_test_rank), 0, HT_FLOAT32);
    ht_tensor *made = ht_mul_scalar(counts, 2 + ht_test_rank);
    ht_tensor *shared = ht_broadcast_to(frozen, HT_SHAPE(3, 2));
    ht_value *damaged = ht_value_map();

    counts = ht_astype(frozen, HT_INT64);
    HT_TEST_EXPECT_ERROR(ht_average_parameters(ht_value_tensors(1, &counts), HT_COMM_WORLD),
                         HT_ERR_DTYPE,
                         "ht_average_parameters: parameter 0 is int64, expected a floating dtype");
    HT_TEST_EXPECT_ERROR(
        ht_hierarchical_averager_average_parameters(averager, ht_value_tensors(1, &frozen)),
        HT_ERR_ARGUMENT,
        "ht_hierarchical_averager_average_parameters: expected at least one trainable parameter");
    HT_TEST_EXPECT_ERROR(ht_average_parameters(ht_value_tensors(1, &made), HT_COMM_WORLD),
                         HT_ERR_STATE, "parameter 0 is the result of a recorded operation");
    HT_TEST_EXPECT_ERROR(ht_average_parameters(ht_value_tensors(1, &shared), HT_COMM_WORLD),
                         HT_ERR_ARGUMENT, "parameter 0 is a read-only view");
    if (ht_test_size > 1)
        HT_TEST_EXPECT_ERROR(ht_average_parameters(ht_value_tensors(1, &uneven), HT_COMM_WORLD),
                             HT_ERR_SHAPE,
                             "ht_average_parameters: the parameters have 2 elements (float32) on "
                             "rank 0, 3 (float32) on rank 1");
    HT_TEST_EXPECT_ERROR(ht_hierarchical_averager_load_state_dict(averager, ht_value_map()),
                         HT_ERR_FORMAT, "the state has no integer \"step\" of at least 0");
    ht_value_set(damaged, "step", ht_value_number(NAN));
    HT_TEST_EXPECT_ERROR(ht_hierarchical_averager_load_state_dict(averager, damaged), HT_ERR_FORMAT,
                         "the state has no integer \"step\" of at least 0");
    ht_value_set(damaged, "step", ht_value_number(0.5));
    HT_TEST_EXPECT_ERROR(ht_hierarchical_averager_load_state_dict(averager, damaged), HT_ERR_FORMAT,
                         "the state has no integer \"step\" of at least 0");
    ht_release(averager);
    ht_scope_close(scope);
}

/* Means are made on the CPU. */
static void test_parameters_on_another_device(void **state)
{
    ht_tensor *x = ht_to_device(parameter(HT_SHAPE(2), 0, HT_FLOAT64), ht_device_get("cpu:1"));
    bool was = ht_set_grad_enabled(false);

    (void)state;
    ht_fill_(x, 3 * ht_test_rank);
    assert_int_equal(ht_average_parameters(ht_value_tensors(1, &x), HT_COMM_WORLD), HT_SUCCESS);
    assert_true(ht_item(ht_narrow(x, 0, 1, 2)) == 1.5 * (ht_test_size - 1));
    assert_ptr_equal(ht_tensor_device(x), ht_device_get("cpu:1"));
    ht_set_grad_enabled(was);
}

HT_TEST_SUITE(test_hierarchical_averager, cmocka_unit_test(test_means_by_hand),
              cmocka_unit_test(test_warm_up_averages_nothing),
              cmocka_unit_test(test_all_ranks_get_the_same_bits),
              cmocka_unit_test(test_goes_on_from_a_state),
              cmocka_unit_test(test_a_model_is_trained),
              cmocka_unit_test(test_levels_that_do_not_fit_are_refused),
              cmocka_unit_test(test_ranks_that_differ_are_refused),
              cmocka_unit_test(test_another_list_of_parameters),
              cmocka_unit_test(test_parameters_that_do_not_fit_are_refused),
              cmocka_unit_test(test_parameters_on_another_device));
