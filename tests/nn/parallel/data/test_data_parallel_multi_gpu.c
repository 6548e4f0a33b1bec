/* ranks 1 2 3 4 6 */
/* SPDX-License-Identifier: MIT */
/* Gradients are averaged inside nodes and not beyond; all ranks begin with the same parameters;
 * mixed precision. */
#include "nn/parallel/daso/daso_test.h"

/* A node's ranks, of `ranks` each but perhaps the last. */
static int node_size(int ranks)
{
    int first = ht_test_rank / ranks * ranks;

    return first + ranks <= ht_test_size ? ranks : ht_test_size - first;
}

static ht_status backward(ht_module *model, double x)
{
    int64_t three = 3;

    return ht_backward(ht_forward(model, ht_full(1, &three, x, HT_FLOAT64, HT_LOCAL)));
}

static double gradient(const struct setting *s)
{
    return value_of(ht_tensor_grad(points_of(s)->first));
}

/* The gradient of first is x: the mean of those of the node. */
static void test_averages_inside_nodes(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 4; ranks++) {
        ht_daso_options o = options_of(0, 0, HT_FLOAT32);
        struct setting s = set_points(ranks, HT_FLOAT64, 1, 100, &o);
        int first = ht_test_rank / ranks * ranks;

        ht_set_grad_enabled(true);
        assert_int_equal(backward(s.model, ht_test_rank), HT_SUCCESS);
        assert_true(fabs(gradient(&s) - (first + (node_size(ranks) - 1) / 2.0)) < 1e-12);
        end(&s);
    }
}

/* With a local skip of 2 every other batch is a rank's own. */
static void test_local_skips(void **state)
{
    ht_daso_options o = options_of(0, 0, HT_FLOAT32);
    struct setting s = set_points(2, HT_FLOAT64, 1, 100, &o);

    (void)state;
    s.daso->schedule.global_skip = 8;
    s.daso->schedule.local_skip = 2;
    s.daso->schedule.wait = 2;
    ht_set_grad_enabled(true);
    for (int batch = 0; batch < 8; batch++) {
        bool apart = batch == 3 || batch == 5 || batch == 7;
        double mean = ht_test_rank / 2 * 2 + (node_size(2) - 1) / 2.0;

        ht_daso_zero_grad(s.daso);
        assert_int_equal(backward(s.model, ht_test_rank), HT_SUCCESS);
        assert_true(fabs(gradient(&s) - (apart ? ht_test_rank : mean)) < 1e-12);
        ht_daso_step(s.daso);
        assert_int_equal(ht_daso_get_report(s.daso).local_sync, !apart);
    }
    end(&s);
}

static ht_tensor *loss_of(const struct setting *s, double x)
{
    int64_t three = 3;

    return ht_forward(s->model, ht_full(1, &three, x, HT_FLOAT64, HT_LOCAL));
}

static ht_status weighted_backward(const struct setting *s, double weight, double x)
{
    ht_data_parallel_set_weight(s->model, weight);
    return ht_backward(loss_of(s, x));
}

/* The ways of a program to make one gradient, and the gradient; the first begins from an average
 * that was not zeroed, in which this rank's share is 3 rows. */
static double add_kept(const struct setting *s)
{
    assert_int_equal(ht_backward(loss_of(s, 4)), HT_SUCCESS);
    return (ht_test_rank / 2 * 2 + (node_size(2) - 1) / 2.0 + 4) / 2;
}

static double weigh(const struct setting *s)
{
    assert_int_equal(weighted_backward(s, 8, ht_test_rank), HT_SUCCESS);
    return ht_test_rank;
}

static double add_two_passes(const struct setting *s)
{
    assert_int_equal(weighted_backward(s, 1, ht_test_rank), HT_SUCCESS);
    assert_int_equal(weighted_backward(s, 3, 2), HT_SUCCESS);
    return (ht_test_rank + 6) / 4.0;
}

static double add_two_outputs(const struct setting *s)
{
    assert_int_equal(ht_backward(ht_add(loss_of(s, ht_test_rank), loss_of(s, 5))), HT_SUCCESS);
    return ht_test_rank + 5;
}

static double add_nothing(const struct setting *s)
{
    assert_int_equal(ht_backward(loss_of(s, ht_test_rank)), HT_SUCCESS);
    assert_int_equal(ht_data_parallel_backward(s->model, NULL), HT_SUCCESS);
    return ht_test_rank;
}

/* One gradient is zeroed between two passes, and the others are not: the step takes its mean. */
static double zero_one(const struct setting *s)
{
    assert_int_equal(weighted_backward(s, 2, 1), HT_SUCCESS);
    ht_tensor_set_grad(points_of(s)->first, NULL);
    assert_int_equal(weighted_backward(s, 2, 7), HT_SUCCESS);
    return 7;
}

/* A gradient that stays on its rank is the mean over the rows of that rank, before the step too. */
static void test_own_gradients_are_means(void **state)
{
    double (*const ways[])(const struct setting *s) = {add_kept,        weigh,       add_two_passes,
                                                       add_two_outputs, add_nothing, zero_one};
    ht_daso_options o = options_of(0, 0, HT_FLOAT32);
    struct setting s = set_points(2, HT_FLOAT64, 1, 100, &o);
    int way = 0;

    (void)state;
    s.daso->schedule.global_skip = 8;
    s.daso->schedule.local_skip = 2;
    s.daso->schedule.wait = 2;
    ht_set_grad_enabled(true);
    for (int batch = 0; batch < 16; batch++) {
        const bool apart = batch % 2 == 1 && batch % 8 > 2;
        const double before = value_of(ht_detach(points_of(&s)->first));

        if (batch != 3)
            ht_daso_zero_grad(s.daso);
        if (!apart)
            assert_int_equal(backward(s.model, ht_test_rank), HT_SUCCESS);
        else {
            const double expected = ways[way](&s);

            assert_true(ways[way++] == zero_one || fabs(gradient(&s) - expected) < 1e-12);
            assert_int_equal(ht_daso_step(s.daso), HT_SUCCESS);
            assert_true(fabs(before - value_of(ht_detach(points_of(&s)->first)) - expected) <
                        1e-12);
            continue;
        }
        assert_int_equal(ht_daso_step(s.daso), HT_SUCCESS);
    }
    assert_int_equal(way, sizeof ways / sizeof *ways);
    end(&s);
}

/* Rows and gradient of a rank in a batch. */
static double rows_in(int batch, int rank)
{
    return batch == 2 ? rank % 2 : 1 + 2 * (rank % 2) + batch;
}

static double gradient_in(int batch, int rank)
{
    return 10 * batch + 3 * rank;
}

/* The mean over batches 2 to `last` of all ranks of the node. */
static double mean_of_node(int last)
{
    const int first = ht_test_rank / 2 * 2;
    double sum = 0, rows = 0;

    for (int batch = 2; batch <= last; batch++) {
        for (int rank = first; rank < first + node_size(2); rank++) {
            sum += rows_in(batch, rank) * gradient_in(batch, rank);
            rows += rows_in(batch, rank);
        }
    }
    return sum / rows;
}

/* Batch 3 stays on its ranks, batch 4 is averaged. */
static void a_gradient_kept_over_own_batches_is_the_mean_of_all_rows(void **state)
{
    ht_daso_options o = options_of(0, 0, HT_FLOAT32);
    struct setting s = set_points(2, HT_FLOAT64, 1, 100, &o);

    (void)state;
    s.daso->schedule.global_skip = 8;
    s.daso->schedule.local_skip = 2;
    s.daso->schedule.wait = 2;
    ht_set_grad_enabled(true);
    for (int batch = 0; batch < 8; batch++) {
        const bool apart = batch % 2 == 1 && batch > 2;

        if (batch <= 2)
            ht_daso_zero_grad(s.daso);
        assert_int_equal(
            weighted_backward(&s, rows_in(batch, ht_test_rank), gradient_in(batch, ht_test_rank)),
            HT_SUCCESS);
        if (batch > 2 && !apart)
            assert_true(fabs(gradient(&s) - mean_of_node(batch)) < 1e-12 * mean_of_node(batch));
        assert_int_equal(ht_daso_step(s.daso), HT_SUCCESS);
        assert_int_equal(ht_daso_get_report(s.daso).local_sync, !apart);
    }
    end(&s);
}

/* Without DASO the wrapper is one like others: it averages in each batch again. */
static void test_wrapper_outlives_daso(void **state)
{
    ht_daso_options o = options_of(0, 0, HT_FLOAT32);
    struct setting s = set_points(2, HT_FLOAT64, 1, 100, &o);

    (void)state;
    s.daso->schedule.global_skip = 8;
    s.daso->schedule.local_skip = 2;
    for (int batch = 0; batch < 3; batch++)
        ht_daso_step(s.daso);
    ht_release(s.daso); /* before a batch whose gradients would stay separate */
    s.daso = NULL;
    ht_set_grad_enabled(true);
    assert_int_equal(backward(s.model, ht_test_rank), HT_SUCCESS);
    assert_true(fabs(gradient(&s) - (ht_test_rank / 2 * 2 + (node_size(2) - 1) / 2.0)) < 1e-12);
    end(&s);
}

/* All start from rank 0 of the communicator over all nodes. */
static void test_all_ranks_begin_with_rank_0s_values(void **state)
{
    ht_daso_options o = options_of(0, 0, HT_FLOAT32);
    struct setting s = set_points(1, HT_FLOAT64, 1 + ht_test_rank, 100, &o);

    (void)state;
    assert_true(value_of(points_of(&s)->first) == 1);
    assert_true(value_of(points_of(&s)->second) == 1);
    assert_true(value_of(points_of(&s)->buffer) == 1);
    end(&s);
}

/* A gradient that is infinite on one rank: its node skips the update, even in a batch that is not
 * averaged, and has one scale afterwards. The exchange counts all batches. */
static void test_loss_scaling(void **state)
{
    ht_daso_options o = options_of(0, 0, HT_FLOAT32);
    ht_optim_wrapper_options amp = ht_optim_wrapper_options_default();
    struct setting s = set_points(2, HT_FLOAT64, 1, 100, &o);
    ht_optim_wrapper *scaler;
    int64_t three = 3;

    (void)state;
    amp.loss_scaling = HT_LOSS_SCALING_DYNAMIC;
    amp.scale = 4;
    scaler = ht_optim_wrapper_new(s.optimizer, &amp);
    assert_int_equal(ht_daso_add_scaler(s.daso, scaler), HT_SUCCESS);
    s.daso->schedule.global_skip = 8;
    s.daso->schedule.local_skip = 2;
    ht_set_grad_enabled(true);
    for (int batch = 0; batch < 6; batch++) {
        bool apart = batch == 3, overflows = apart && ht_test_rank == 1;
        ht_tensor *x = ht_full(1, &three, overflows ? INFINITY : 1, HT_FLOAT64, HT_LOCAL);

        ht_optim_wrapper_begin(scaler, s.model);
        assert_int_equal(ht_optim_wrapper_update_params(scaler, ht_forward(s.model, x)),
                         HT_SUCCESS);
        assert_int_equal(ht_optim_wrapper_last(scaler).skipped,
                         apart && ht_test_size > 1 && ht_test_rank < 2);
        assert_int_equal(ht_daso_step(s.daso), HT_SUCCESS);
        assert_int_equal(ht_daso_get_report(s.daso).local_sync, !apart && batch != 5);
        assert_int_equal(ht_daso_get_report(s.daso).batch, batch + 1);
    }
    ht_release(scaler);
    end(&s);
}

static void test_misuse(void **state)
{
    ht_module *net = new_points(HT_FLOAT64, 1), *other = new_points(HT_FLOAT64, 1);
    ht_optimizer *optimizer = ht_optim_sgd(trainable(net), 1, NULL);
    ht_daso *daso = ht_optim_daso(optimizer, 10, HT_COMM_WORLD, NULL);
    ht_comm *copy = ht_comm_split(HT_COMM_WORLD, 0, 0);
    bool odd = ht_test_rank == ht_test_size - 1;
    const char *message;

    (void)state;
    ht_comm_set_errhandler(copy, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    assert_null(ht_nn_data_parallel_multi_gpu(net, daso, copy));
    assert_int_equal(ht_error_get(&message), HT_ERR_COMM);
    assert_non_null(strstr(message, "expected that of DASO"));
    assert_null(ht_nn_data_parallel_multi_gpu(other, daso, HT_COMM_WORLD));
    assert_int_equal(ht_error_get(&message), HT_ERR_ARGUMENT);
    assert_non_null(strstr(message, "2 are not the module's"));
    assert_null(ht_nn_data_parallel_multi_gpu(net, NULL, HT_COMM_WORLD));
    assert_int_equal(ht_error_get(&message), HT_ERR_ARGUMENT);
    ht_error_clear();
    /* A fault of one rank alone is an error on all. */
    assert_null(ht_nn_data_parallel_multi_gpu(odd ? NULL : net, daso, HT_COMM_WORLD));
    assert_int_equal(ht_error_get(&message), HT_ERR_ARGUMENT);
    assert_string_equal(message, "ht_nn_data_parallel_multi_gpu: module is NULL");
    ht_error_clear();
    assert_null(ht_nn_data_parallel_multi_gpu(net, odd ? NULL : daso, HT_COMM_WORLD));
    assert_int_equal(ht_error_get(NULL), HT_ERR_ARGUMENT);
    ht_error_clear();
    assert_null(ht_nn_data_parallel_multi_gpu(net, daso, odd ? copy : HT_COMM_WORLD));
    assert_int_equal(ht_error_get(NULL), HT_ERR_COMM);
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(copy);
    ht_release(daso);
    ht_release(optimizer);
    ht_release(net);
    ht_release(other);
}

HT_TEST_SUITE(test_data_parallel_multi_gpu, cmocka_unit_test(test_averages_inside_nodes),
              cmocka_unit_test(test_local_skips), cmocka_unit_test(test_own_gradients_are_means),
              cmocka_unit_test(a_gradient_kept_over_own_batches_is_the_mean_of_all_rows),
              cmocka_unit_test(test_wrapper_outlives_daso),
              cmocka_unit_test(test_all_ranks_begin_with_rank_0s_values),
              cmocka_unit_test(test_loss_scaling), cmocka_unit_test(test_misuse));
