/* ranks 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* join: gradients that are clipped and not zeroed, so that the next pass adds to them. Ranks that
 * are out of data do not clip. The result is that of one rank with all rows. */
#include "data_parallel_test.h"

enum { STEPS = 5, ROWS = 4 };

struct way {
    ht_averaging averaging;
    bool blocking, halves; /* every second pass is not synchronised */
    int batches[4];        /* of each rank */
};

static ht_tensor *loss_of(const struct way *way, ht_module *dp, int64_t first, int64_t count)
{
    const bool weighted = way->averaging == HT_AVERAGE_WEIGHTED;

    return ht_nll_loss(ht_forward(dp, batch_rows(first, count)), batch_classes(first, count),
                       weighted ? HT_MEAN : HT_SUM);
}

static int64_t first_row(int step, int rank)
{
    return ROWS * (ht_test_size * step + rank);
}

static bool has_data(const struct way *way, int step, int rank)
{
    return step < way->batches[rank];
}

/* The rows of all ranks that have data; their sum of losses stands for a mean over ranks. */
static void backward_all(const struct way *way, ht_module *dp, int step)
{
    ht_tensor *x[4], *loss;
    ht_tensor *classes[4];
    int count = 0;

    for (int r = 0; r < ht_test_size; r++) {
        if (!has_data(way, step, r))
            continue;
        x[count] = batch_rows(first_row(step, r), ROWS);
        classes[count++] = batch_classes(first_row(step, r), ROWS);
    }
    loss = ht_nll_loss(ht_forward(dp, ht_concatenate(count, x, 0)),
                       ht_concatenate(count, classes, 0),
                       way->averaging == HT_AVERAGE_WEIGHTED ? HT_MEAN : HT_SUM);
    if (way->averaging == HT_AVERAGE_MEAN)
        loss = ht_mul_scalar(loss, 1.0 / ht_test_size);
    assert_int_equal(ht_backward(loss), HT_SUCCESS);
}

static ht_module *wrap_for(const struct way *way, ht_module *net, ht_comm *comm,
                           ht_optimizer *optimizer)
{
    ht_data_parallel_options options = ht_data_parallel_options_default();

    options.blocking = way->blocking;
    options.averaging = way->averaging;
    return ht_nn_data_parallel_ext(net, comm, optimizer, &options);
}

static void train_kept(const struct way *way, bool alone, double values[VALUES])
{
    ht_module *net = new_net(3), *dp;
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_value *parameters = ht_module_parameters(net);

    dp = wrap_for(way, net, alone ? HT_COMM_SELF : HT_COMM_WORLD, optimizer);
    assert_int_equal(ht_data_parallel_join_begin(dp, NULL), HT_SUCCESS);
    for (int step = 0; step < STEPS && (alone || has_data(way, step, ht_test_rank)); step++) {
        ht_scope *scope = ht_scope_open();
        const bool local = way->halves && step % 2 == 1;

        ht_data_parallel_set_sync(dp, !local);
        if (alone)
            backward_all(way, dp, step);
        else
            assert_int_equal(ht_backward(loss_of(way, dp, first_row(step, ht_test_rank), ROWS)),
                             HT_SUCCESS);
        if (!local) {
            ht_clip_grad_norm_(parameters, 0.05, 2, false);
            assert_int_equal(ht_optimizer_step(optimizer), HT_SUCCESS);
        }
        ht_scope_close(scope);
    }
    ht_data_parallel_set_sync(dp, true);
    assert_int_equal(ht_data_parallel_join_end(dp), HT_SUCCESS);
    read_parameters(net, values);
    ht_release(dp);
    ht_release(optimizer);
    ht_release(net);
}

static void check_kept(const struct way *way)
{
    double values[VALUES], expected[VALUES];

    train_kept(way, false, values);
    train_kept(way, true, expected);
    assert_true(distance(values, expected) <= 1e-12);
}

static void a_kept_average_is_that_of_ranks_with_data(void **state)
{
    static const int batches[][4] = {{1, STEPS, STEPS, STEPS}, {1, STEPS, 3, 2}, {STEPS, 1, 1, 3}};

    (void)state;
    for (int averaging = HT_AVERAGE_MEAN; averaging <= HT_AVERAGE_WEIGHTED; averaging++) {
        for (int i = 0; i < 12; i++) {
            struct way way = {.averaging = averaging, .blocking = i & 1, .halves = i & 2};

            memcpy(way.batches, batches[i / 4], sizeof way.batches);
            check_kept(&way);
        }
    }
}

HT_TEST_SUITE(test_data_parallel_join_kept,
              cmocka_unit_test(a_kept_average_is_that_of_ranks_with_data));
