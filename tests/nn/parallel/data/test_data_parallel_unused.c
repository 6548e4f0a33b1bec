/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Parameters without a gradient: an error that names them, or found, or known from the first pass.
 */
#include "data_parallel_test.h"
#include "nn/parallel/data/data_parallel.h"

struct fixture {
    ht_module *net, *dp;
    struct net *n;
    ht_optimizer *optimizer;
};

static struct fixture open_fixture(struct run run)
{
    struct fixture f = {.net = new_net(3)};

    f.n = ht_module_data(f.net);
    f.optimizer = new_optimizer(f.net, run.kind);
    f.dp = wrap(f.net, HT_COMM_WORLD, f.optimizer, &run);
    assert_non_null(f.dp);
    return f;
}

static void close_fixture(struct fixture *f)
{
    ht_release(f->dp);
    ht_release(f->net);
    ht_release(f->optimizer);
}

static ht_status one_step(struct fixture *f, int step)
{
    ht_scope *scope = ht_scope_open();
    int64_t first, count;
    ht_status status;

    ht_comm_chunk(HT_COMM_WORLD, 12, ht_test_rank, &first, &count);
    ht_optimizer_zero_grad(f->optimizer);
    status = backward_rows(f->dp, 100 * step + first, count);
    if (status == HT_SUCCESS)
        status = ht_optimizer_step(f->optimizer);
    if (status == HT_SUCCESS)
        status = ht_data_parallel_drain(f->dp);
    ht_scope_close(scope);
    return status;
}

/* A graph changes in the third step; rank 0 skips one layer, all others do not. */
static void lesson_the_first_message_names_parameters_and_ranks(void **state)
{
    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        struct fixture f = open_fixture((struct run){.blocking = mode, .bucket_mb = 1e-9});

        ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
        assert_int_equal(one_step(&f, 0), HT_SUCCESS);
        assert_int_equal(one_step(&f, 1), HT_SUCCESS);
        f.n->skip_fc1 = ht_test_rank == 0;
        assert_int_equal(one_step(&f, 2), HT_ERR_STATE);
        assert_message("pass 3: no gradient for fc1.weight, fc1.bias on rank 0;");
        close_fixture(&f);
        ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    }
}

static void lesson_ranks_that_miss_one_parameter_are_listed_as_a_range(void **state)
{
    struct fixture f = open_fixture((struct run){0});

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    f.n->skip_fc1 = ht_test_rank > 0 || ht_test_size == 1;
    assert_int_equal(one_step(&f, 0), HT_ERR_STATE);
    assert_message(ht_test_size == 1   ? "fc1.bias on rank 0;"
                   : ht_test_size == 2 ? "fc1.bias on rank 1;"
                   : ht_test_size == 3 ? "fc1.bias on ranks 1-2;"
                                       : "fc1.bias on ranks 1-3;");
    close_fixture(&f);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
}

/* A rank without rows misses nothing. */
static void test_an_idle_rank_misses_nothing(void **state)
{
    struct fixture f = open_fixture((struct run){0});
    ht_scope *scope = ht_scope_open();

    (void)state;
    if (ht_test_rank == ht_test_size - 1 && ht_test_size > 1)
        ht_data_parallel_backward(f.dp, NULL);
    else
        backward_rows(f.dp, 0, 4);
    assert_int_equal(ht_optimizer_step(f.optimizer), HT_SUCCESS);
    assert_int_equal(ht_data_parallel_drain(f.dp), HT_SUCCESS);
    ht_scope_close(scope);
    close_fixture(&f);
}

/* Unused on all ranks: no gradient, no update, no step counted, though momentum would move it. */
static void find_unused_skips_parameters_unused_on_all_ranks(void **state)
{
    struct fixture f = open_fixture((struct run){.kind = ADAM, .find_unused = true});
    ht_tensor *weight = ht_module_find_parameter(f.net, "fc1.weight");
    double before[IN * IN];

    (void)state;
    assert_int_equal(one_step(&f, 0), HT_SUCCESS);
    memcpy(before, ht_test_data(weight), sizeof before);
    f.n->skip_fc1 = true;
    assert_int_equal(one_step(&f, 1), HT_SUCCESS);
    assert_memory_equal(before, ht_test_data(weight), sizeof before);
    assert_null(ht_tensor_grad(weight));
    f.n->skip_fc1 = false;
    assert_int_equal(one_step(&f, 2), HT_SUCCESS);
    assert_memory_not_equal(before, ht_test_data(weight), sizeof before);
    close_fixture(&f);
}

/* Parameters that the walk does not reach are in flight before backward computes a gradient. */
static void find_unused_makes_ready_at_once(void **state)
{
    struct fixture f = open_fixture((struct run){.find_unused = true, .bucket_mb = 1e-9});
    ht_reducer *reducer = ((ht_data_parallel *)ht_module_data(f.dp))->reducer;
    ht_tensor *y, *weight = ht_module_find_parameter(f.net, "fc1.weight");

    (void)state;
    assert_int_equal(one_step(&f, 0), HT_SUCCESS);
    f.n->skip_fc1 = true;
    y = ht_forward(f.dp, batch_rows(0, 4));
    assert_int_equal(ht__reducer_begin(reducer, 4, true, false), HT_SUCCESS);
    assert_true(ht__reducer_find(reducer, weight)->presence != HT_GRAD_AWAITED);
    assert_int_equal(ht__reducer_find(reducer, f.n->shift)->presence, HT_GRAD_AWAITED);
    assert_non_null(y);
    assert_int_equal(ht_data_parallel_drain(f.dp), HT_SUCCESS);
    close_fixture(&f);
}

/* A regulariser that no output depends on: the gradient would be lost. */
static void find_unused_names_a_gradient_from_elsewhere(void **state)
{
    struct fixture f = open_fixture((struct run){.find_unused = true});
    ht_tensor *weight = ht_module_find_parameter(f.net, "fc1.weight"), *loss;

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    f.n->skip_fc1 = true;
    loss = ht_nll_loss(ht_forward(f.dp, batch_rows(0, 4)), batch_classes(0, 4), HT_MEAN);
    ht_backward(ht_add(loss, ht_sum(ht_mul(weight, weight), HT_NONE)));
    assert_int_equal(ht_optimizer_step(f.optimizer), HT_ERR_STATE);
    close_fixture(&f);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
}

static void static_graph_remembers_the_first_pass(void **state)
{
    struct fixture f = open_fixture((struct run){.static_graph = true});
    ht_tensor *weight = ht_module_find_parameter(f.net, "fc1.weight");

    (void)state;
    f.n->skip_fc1 = true;
    for (int step = 0; step < 4; step++)
        assert_int_equal(one_step(&f, step), HT_SUCCESS);
    assert_null(ht_tensor_grad(weight));
    close_fixture(&f);
}

static void static_graph_names_parameters_missing_later(void **state)
{
    struct fixture f = open_fixture((struct run){.static_graph = true});

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_int_equal(one_step(&f, 0), HT_SUCCESS);
    f.n->skip_fc1 = true;
    assert_int_equal(one_step(&f, 1), HT_ERR_STATE);
    assert_message("pass 2: no gradient for fc1.weight, fc1.bias on rank");
    close_fixture(&f);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
}

static void static_graph_names_parameters_new_later(void **state)
{
    struct fixture f = open_fixture((struct run){.static_graph = true});

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    f.n->skip_fc1 = true;
    assert_int_equal(one_step(&f, 0), HT_SUCCESS);
    f.n->skip_fc1 = false;
    one_step(&f, 1);
    assert_message("static_graph, but fc1.");
    close_fixture(&f);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
}

/* One gradient for each pass: a second would be added to an average. */
static void test_backward_without_forward_is_refused(void **state)
{
    struct fixture f = open_fixture((struct run){0});

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    backward_rows(f.dp, 0, 4);
    backward_rows(f.net, 4, 4);
    assert_message(
        "got a second gradient after forward pass 1; each backward pass needs a forward");
    close_fixture(&f);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
}

/* The wrapper was bypassed: every rank would train a separate model. */
static void test_forward_of_the_module_inside_is_refused(void **state)
{
    struct fixture f = open_fixture((struct run){0});

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    backward_rows(f.net, 0, 4);
    assert_message("got a gradient before any forward pass of the wrapper");
    close_fixture(&f);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
}

HT_TEST_SUITE(test_data_parallel_unused,
              cmocka_unit_test(lesson_the_first_message_names_parameters_and_ranks),
              cmocka_unit_test(lesson_ranks_that_miss_one_parameter_are_listed_as_a_range),
              cmocka_unit_test(test_an_idle_rank_misses_nothing),
              cmocka_unit_test(find_unused_skips_parameters_unused_on_all_ranks),
              cmocka_unit_test(find_unused_makes_ready_at_once),
              cmocka_unit_test(find_unused_names_a_gradient_from_elsewhere),
              cmocka_unit_test(static_graph_remembers_the_first_pass),
              cmocka_unit_test(static_graph_names_parameters_missing_later),
              cmocka_unit_test(static_graph_names_parameters_new_later),
              cmocka_unit_test(test_backward_without_forward_is_refused),
              cmocka_unit_test(test_forward_of_the_module_inside_is_refused));
