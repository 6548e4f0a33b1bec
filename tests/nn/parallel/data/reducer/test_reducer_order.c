/* ranks 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* The order in which ranks start exchanges: two wrappers of one communicator, averages of
 * parameters on it, and ranks that wait for something else. Ranks meet each other in the order that
 * would go wrong, by messages. */
#include "nn/parallel/data/data_parallel_test.h"
#include "nn/parallel/daso/average_parameters.h"
#include "nn/parallel/data/data_parallel.h"

#include <stdlib.h>

/* The second step meets anyway, to agree on the order of buckets. */
enum { TAG = 91, STEPS = 5, FIRST = 2 };

struct model {
    ht_module *net, *dp;
    ht_optimizer *optimizer;
};

static struct model open_averaging(uint64_t seed, ht_comm *comm, bool blocking,
                                   ht_averaging averaging)
{
    ht_data_parallel_options options = ht_data_parallel_options_default();
    struct model m = {.net = new_net(seed)};

    options.blocking = blocking;
    options.averaging = averaging;
    m.optimizer = new_optimizer(m.net, SGD);
    m.dp = ht_nn_data_parallel_ext(m.net, comm, m.optimizer, &options);
    assert_non_null(m.dp);
    return m;
}

static struct model open_model(uint64_t seed, ht_comm *comm, bool blocking)
{
    return open_averaging(seed, comm, blocking, HT_AVERAGE_WEIGHTED);
}

static const ht_reducer *reducer_of(const struct model *m)
{
    return ((ht_data_parallel *)ht_module_data(m->dp))->reducer;
}

static void close_model(struct model *m)
{
    ht_release(m->dp);
    ht_release(m->net);
    ht_release(m->optimizer);
}

static void backward_share(struct model *m, int step)
{
    int64_t first, count;

    ht_comm_chunk(HT_COMM_WORLD, 12, ht_test_rank, &first, &count);
    ht_optimizer_zero_grad(m->optimizer);
    assert_int_equal(backward_rows(m->dp, 100 * step + first, count), HT_SUCCESS);
}

static void wait_for(int rank, MPI_Comm comm, int step)
{
    MPI_Recv(NULL, 0, MPI_BYTE, rank, TAG + step, comm, MPI_STATUS_IGNORE);
}

/* The sum of the weights has come, while the others wait for what comes after it. */
static void wait_for_head(struct model *m)
{
    ht_reducer *reducer = ((ht_data_parallel *)ht_module_data(m->dp))->reducer;

    while (reducer->head_due || reducer->head_op != NULL)
        ht__reducer_progress(reducer);
}

static void expect(struct model *m, uint64_t seed)
{
    ht_module *one = new_net(seed);
    ht_optimizer *alone = new_optimizer(one, SGD);
    double values[VALUES], expected[VALUES];

    for (int step = 0; step < STEPS; step++) {
        ht_optimizer_zero_grad(alone);
        backward_rows(one, 100 * step, 12);
        ht_optimizer_step(alone);
    }
    read_parameters(m->net, values);
    read_parameters(one, expected);
    assert_true(distance(values, expected) <= 1e-12);
    ht_release(one);
    ht_release(alone);
}

/* The last rank begins when all others have begun both passes: there the sum of the weights of the
 * first pass comes before the second begins, on the others after. By messages, as between nodes: in
 * shared memory a sum is known by its place. */
static void two_wrappers_start_in_one_order(void **state)
{
    int last = ht_test_size - 1;
    ht_comm *messages = ht_comm_split(HT_COMM_WORLD, 0, ht_test_rank);
    MPI_Comm comm;

    (void)state;
    setenv("HT_EXCHANGE", "messages", 1);
    MPI_Comm_dup(ht_comm_mpi(HT_COMM_WORLD), &comm);
    for (int blocking = 0; blocking < 2; blocking++) {
        struct model a = open_model(3, messages, blocking);
        struct model b = open_model(4, messages, blocking);

        for (int step = 0; step < STEPS; step++) {
            for (int r = 0; r < last && step >= FIRST && ht_test_rank == last; r++)
                wait_for(r, comm, step);
            backward_share(&a, step);
            if (step >= FIRST && ht_test_rank == last)
                wait_for_head(&a);
            backward_share(&b, step);
            if (step >= FIRST && ht_test_rank != last)
                MPI_Send(NULL, 0, MPI_BYTE, last, TAG + step, comm);
            assert_int_equal(ht_optimizer_step(a.optimizer), HT_SUCCESS);
            assert_int_equal(ht_optimizer_step(b.optimizer), HT_SUCCESS);
            assert_int_equal(ht_data_parallel_drain(a.dp), HT_SUCCESS);
            assert_int_equal(ht_data_parallel_drain(b.dp), HT_SUCCESS);
        }
        expect(&a, 3);
        expect(&b, 4);
        close_model(&a);
        close_model(&b);
    }
    unsetenv("HT_EXCHANGE");
    MPI_Comm_free(&comm);
    ht_release(messages);
}

/* Rank 0 reads a parameter, which needs buckets that the others can post only while they wait in
 * the barrier: they entered it before rank 0 began its pass. */
static void ranks_in_a_barrier_serve_those_that_are_not(void **state)
{
    struct model m = open_model(3, HT_COMM_WORLD, false);
    MPI_Comm comm;

    (void)state;
    MPI_Comm_dup(ht_comm_mpi(HT_COMM_WORLD), &comm);
    for (int step = 0; step < STEPS; step++) {
        if (step >= FIRST && ht_test_rank == 0)
            wait_for(1, comm, step);
        backward_share(&m, step);
        assert_int_equal(ht_optimizer_step(m.optimizer), HT_SUCCESS);
        if (ht_test_rank == 0)
            assert_int_equal(ht_data_parallel_drain(m.dp), HT_SUCCESS);
        if (step >= FIRST && ht_test_rank == 1)
            MPI_Send(NULL, 0, MPI_BYTE, 0, TAG + step, comm);
        assert_int_equal(ht_barrier(HT_COMM_WORLD), HT_SUCCESS);
    }
    expect(&m, 3);
    close_model(&m);
    MPI_Comm_free(&comm);
}

/* The order of many small parameters takes longer than their gradients. */
static struct model open_deep_model(bool blocking)
{
    enum { DEPTH = 600 };
    ht_module *layers[DEPTH];
    struct model m;

    for (int i = 0; i < DEPTH; i++)
        layers[i] = ht_nn_linear(3, 3);
    m.net = ht_nn_sequential(DEPTH, layers);
    m.optimizer = new_optimizer(m.net, SGD);
    m.dp = ht_nn_data_parallel(m.net, HT_COMM_WORLD, m.optimizer, blocking);
    assert_non_null(m.dp);
    return m;
}

/* `waiter` keeps its wrapper until all others have released theirs. */
static void release_before(struct model *m, int waiter, MPI_Comm comm)
{
    for (int r = 0; r < ht_test_size && ht_test_rank == waiter; r++) {
        if (r != waiter)
            wait_for(r, comm, 0);
    }
    close_model(m);
    if (ht_test_rank != waiter)
        MPI_Send(NULL, 0, MPI_BYTE, waiter, TAG, comm);
}

/* After the first pass, behind which the order of its gradients is sent. */
static void the_end_of_a_drained_wrapper_waits_for_no_rank(void **state)
{
    MPI_Comm comm;

    (void)state;
    MPI_Comm_dup(ht_comm_mpi(HT_COMM_WORLD), &comm);
    for (int i = 0; i < 2 * ht_test_size; i++) {
        struct model m = open_deep_model(i & 1);
        ht_scope *scope = ht_scope_open();

        assert_int_equal(
            ht_backward(
                ht_mean(ht_forward(m.dp, ht_ones(HT_SHAPE(2, 3), HT_FLOAT32, HT_LOCAL)), HT_NONE)),
            HT_SUCCESS);
        assert_int_equal(ht_optimizer_step(m.optimizer), HT_SUCCESS);
        assert_int_equal(ht_data_parallel_drain(m.dp), HT_SUCCESS);
        assert_true(ht__reducer_has_order(((ht_data_parallel *)ht_module_data(m.dp))->reducer));
        ht_scope_close(scope);
        release_before(&m, i / 2, comm);
    }
    MPI_Comm_free(&comm);
}

static void step_once(struct model *m, int step)
{
    backward_share(m, step);
    assert_int_equal(ht_optimizer_step(m->optimizer), HT_SUCCESS);
    assert_int_equal(ht_data_parallel_drain(m->dp), HT_SUCCESS);
}

/* The last rank keeps the second wrapper for one pass of the first one more. */
static void check_last_one(bool blocking, ht_averaging averaging)
{
    struct model a = open_averaging(3, HT_COMM_WORLD, blocking, averaging);
    struct model b = open_averaging(4, HT_COMM_WORLD, blocking, averaging);
    const bool last = ht_test_rank == ht_test_size - 1;
    const bool weighs = averaging == HT_AVERAGE_WEIGHTED;

    step_once(&a, 0);
    step_once(&b, 0);
    if (!last)
        close_model(&b);
    step_once(&a, 1);
    assert_true(reducer_of(&a)->shares);
    if (last)
        close_model(&b);
    step_once(&a, 2);
    assert_false(reducer_of(&a)->shares);
    backward_share(&a, 3);
    assert_int_equal(reducer_of(&a)->head_length, 2 + PARAMETERS);
    assert_true(weighs || (reducer_of(&a)->head_op == NULL && !reducer_of(&a)->head_due));
    b = open_averaging(4, HT_COMM_WORLD, blocking, averaging);
    assert_true(reducer_of(&a)->shares);
    assert_int_equal(ht_optimizer_step(a.optimizer), HT_SUCCESS);
    step_once(&b, 3);
    step_once(&a, 4);
    assert_true(reducer_of(&a)->shares);
    if (weighs)
        expect(&a, 3);
    close_model(&a);
    close_model(&b);
}

static void the_last_of_several_wrappers_sends_no_number(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++)
        check_last_one(i & 1, i & 2 ? HT_AVERAGE_MEAN : HT_AVERAGE_WEIGHTED);
}

/* Another model, and the ways to average its parameters. */
struct averaged {
    ht_module *net;
    ht_comm *comm;
    ht_daso *daso;
    ht_flat_tensors *flat;
    ht_hierarchical_averager *averager;
};

static ht_status reset_daso(struct averaged *b)
{
    return ht_daso_reset(b->daso);
}

static ht_status average_flat(struct averaged *b)
{
    return ht__average("a test", b->flat, b->comm);
}

static ht_status average_list(struct averaged *b)
{
    return ht_average_parameters(ht_module_parameters(b->net), b->comm);
}

static ht_status average_groups(struct averaged *b)
{
    return ht_hierarchical_averager_average_parameters(b->averager, ht_module_parameters(b->net));
}

static void check_average(ht_status (*average)(struct averaged *), struct averaged *b)
{
    ht_tensor *x = ht_value_as_tensor(ht_value_at(ht_module_parameters(b->net), 0));
    const bool was = ht_set_grad_enabled(false);

    ht_fill_(x, ht_test_rank);
    assert_int_equal(average(b), HT_SUCCESS);
    assert_true(fabs(ht_item(ht_max(x, HT_NONE)) - (ht_test_size - 1) / 2.0) < 1e-6);
    ht_set_grad_enabled(was);
}

static void average_during_passes(ht_status (*average)(struct averaged *), struct averaged *b,
                                  MPI_Comm comm)
{
    struct model a = open_model(3, b->comm, false);
    const int last = ht_test_size - 1;

    for (int step = 0; step < STEPS; step++) {
        ht_scope *scope = ht_scope_open();

        for (int r = 0; r < last && step >= FIRST && ht_test_rank == last; r++)
            wait_for(r, comm, step);
        backward_share(&a, step);
        if (step >= FIRST && ht_test_rank == last)
            wait_for_head(&a);
        if (step >= FIRST && ht_test_rank != last)
            MPI_Send(NULL, 0, MPI_BYTE, last, TAG + step, comm);
        assert_int_equal(ht_optimizer_step(a.optimizer), HT_SUCCESS);
        check_average(average, b);
        assert_int_equal(ht_data_parallel_drain(a.dp), HT_SUCCESS);
        ht_scope_close(scope);
    }
    expect(&a, 3);
    close_model(&a);
}

/* The last rank has started the buckets of its pass before an average of other parameters. The
 * others start theirs while they wait for that average. */
static void averages_of_parameters_do_not_wait_for_passes(void **state)
{
    ht_status (*const ways[])(struct averaged *) = {reset_daso, average_flat, average_list,
                                                    average_groups};
    struct averaged b = {.net = new_net(4), .comm = ht_comm_split(HT_COMM_WORLD, 0, ht_test_rank)};
    ht_optimizer *optimizer = new_optimizer(b.net, SGD);
    MPI_Comm comm;

    (void)state;
    setenv("HT_EXCHANGE", "messages", 1);
    MPI_Comm_dup(ht_comm_mpi(HT_COMM_WORLD), &comm);
    b.daso = ht_optim_daso(optimizer, 10, b.comm, NULL);
    assert_int_equal(ht_daso_set_model(b.daso, b.net), HT_SUCCESS);
    b.flat = ht__average_memory("a test", b.comm, ht_module_parameters(b.net), NULL);
    b.averager = ht_hierarchical_averager_new(b.comm, 1, &(int64_t){1}, &ht_test_size, 0);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        average_during_passes(ways[i], &b, comm);
    unsetenv("HT_EXCHANGE");
    MPI_Comm_free(&comm);
    ht__flat_free(b.flat);
    ht_release(b.averager);
    ht_release(b.daso);
    ht_release(optimizer);
    ht_release(b.net);
    ht_release(b.comm);
}

HT_TEST_SUITE(test_reducer_order, cmocka_unit_test(two_wrappers_start_in_one_order),
              cmocka_unit_test(averages_of_parameters_do_not_wait_for_passes),
              cmocka_unit_test(ranks_in_a_barrier_serve_those_that_are_not),
              cmocka_unit_test(the_end_of_a_drained_wrapper_waits_for_no_rank),
              cmocka_unit_test(the_last_of_several_wrappers_sends_no_number));
