/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* join: ranks with different numbers of batches against one process that sees the rows of those
 * that have some; then all ranks train on as one. */
#include "agrees.h"
#include "data_parallel_test.h"
#include "nn/parallel/data/data_parallel.h"

struct join_run {
    enum optimizer_kind kind;
    bool mean, by_active, blocking;
    int base;       /* batches of the rank that has fewest */
    bool falling;   /* rank 0 has most, else fewest */
    int micro;      /* backward passes for each step; 0: 1 */
    bool counted;   /* by accumulation_steps, else each pass is synchronised */
    bool zero_last; /* zero_grad after each step, else before the next */
    bool own_gradients, find_unused, hook;
    double end[VALUES]; /* result: all parameters */
};

static int micro_of(const struct join_run *run)
{
    return run->micro > 0 ? run->micro : 1;
}

static int passes_of(const struct join_run *run, int rank)
{
    return run->base + (run->falling ? ht_test_size - 1 - rank : rank);
}

static int most_passes(const struct join_run *run)
{
    return run->base + ht_test_size - 1;
}

static int rows_of(int rank)
{
    return 2 + rank;
}

/* The gradient of one rank's batch, times `scale`. */
static void backward_batch(ht_module *model, int rank, int pass, double scale)
{
    int64_t first = 500 * pass + 40 * rank, count = rows_of(rank);
    ht_tensor *y = ht_forward(model, batch_rows(first, count));
    ht_tensor *loss = ht_nll_loss(y, batch_classes(first, count), HT_MEAN);

    assert_int_equal(ht_backward(scale == 1 ? loss : ht_mul_scalar(loss, scale)), HT_SUCCESS);
}

/* The share of one batch in its step, of the passes first ... first + micro - 1. */
static double share_of(const struct join_run *run, int rank, int first)
{
    double rows = 0, ranks = 0;

    for (int r = 0; r < ht_test_size; r++) {
        ranks += first < passes_of(run, r);
        for (int pass = first; pass < first + micro_of(run) && pass < passes_of(run, r); pass++)
            rows += rows_of(r);
    }
    if (!run->mean)
        return rows_of(rank) / rows;
    return 1 / (run->by_active ? ranks : ht_test_size);
}

static void train_one(const struct join_run *run, ht_module *net, ht_optimizer *optimizer)
{
    int micro = micro_of(run), most = most_passes(run);

    for (int first = 0; first < most; first += micro) {
        ht_optimizer_zero_grad(optimizer);
        for (int pass = first; pass < first + micro; pass++) {
            for (int r = 0; r < ht_test_size; r++) {
                if (pass < passes_of(run, r))
                    backward_batch(net, r, pass, share_of(run, r, first));
            }
        }
        if (run->counted || first + micro <= most) /* by hand, an unfinished group has no step */
            ht_optimizer_step(optimizer);
    }
}

static void train_joined(const struct join_run *run, ht_module *dp, ht_optimizer *optimizer)
{
    int micro = micro_of(run);
    ht_join_options options = ht_join_options_default();

    options.divide_by_initial_world_size = !run->by_active;
    assert_int_equal(ht_data_parallel_join_begin(dp, &options), HT_SUCCESS);
    for (int pass = 0; pass < passes_of(run, ht_test_rank); pass++) {
        ht_scope *scope = ht_scope_open();

        if (pass % micro == 0 && !run->zero_last)
            ht_optimizer_zero_grad(optimizer);
        backward_batch(dp, ht_test_rank, pass, 1);
        if (run->counted || pass % micro == micro - 1)
            assert_int_equal(ht_optimizer_step(optimizer), HT_SUCCESS);
        if (run->zero_last)
            ht_optimizer_zero_grad(optimizer);
        ht_scope_close(scope);
    }
    assert_int_equal(ht_data_parallel_join_end(dp), HT_SUCCESS);
}

static ht_module *wrap_for(const struct join_run *run, ht_module *net, ht_optimizer *optimizer)
{
    ht_data_parallel_options options = ht_data_parallel_options_default();
    ht_module *dp;

    options.averaging = run->mean ? HT_AVERAGE_MEAN : HT_AVERAGE_WEIGHTED;
    options.blocking = run->blocking;
    options.gradient_as_bucket_view = !run->own_gradients;
    options.find_unused_parameters = run->find_unused;
    options.accumulation_steps = run->counted ? run->micro : 1;
    options.first_bucket_mb = options.bucket_cap_mb = 1e-4;
    dp = ht_nn_data_parallel_ext(net, HT_COMM_WORLD, optimizer, &options);
    if (run->hook)
        ht_data_parallel_register_comm_hook(dp, ht_comm_hook_allreduce, NULL);
    return dp;
}

/* Steps of all ranks after the join: state of optimizers and gradients are those of one process. */
static void train_on(const struct join_run *run, ht_module *model, ht_optimizer *optimizer,
                     bool alone)
{
    for (int step = 0; step < 2; step++) {
        int pass = most_passes(run) + 1 + step;

        if (step > 0 || alone || !run->zero_last)
            ht_optimizer_zero_grad(optimizer);
        for (int r = 0; r < ht_test_size; r++) {
            struct join_run even = {.mean = run->mean, .base = pass + 1};

            if (alone)
                backward_batch(model, r, pass, share_of(&even, r, pass));
            else if (r == ht_test_rank)
                backward_batch(model, r, pass, 1);
        }
        ht_optimizer_step(optimizer);
    }
}

static void assert_same_on_all_ranks(const double values[VALUES])
{
    double first[VALUES];

    memcpy(first, values, sizeof first);
    MPI_Bcast(first, VALUES, MPI_DOUBLE, 0, ht_comm_mpi(HT_COMM_WORLD));
    assert_memory_equal(first, values, sizeof first);
}

static void check(struct join_run *run)
{
    ht_module *net = new_net(3), *one = new_net(3), *dp;
    ht_optimizer *optimizer = new_optimizer(net, run->kind), *alone = new_optimizer(one, run->kind);
    double values[VALUES], expected[VALUES];

    dp = wrap_for(run, net, optimizer);
    train_joined(run, dp, optimizer);
    train_one(run, one, alone);
    read_parameters(net, values);
    read_parameters(one, expected);
    assert_same_on_all_ranks(values);
    assert_true(distance(values, expected) <= 1e-12);
    assert_int_equal(ht_optimizer_steps(optimizer), ht_optimizer_steps(alone));
    if (!run->counted) {
        train_on(run, dp, optimizer, false);
        train_on(run, one, alone, true);
        read_parameters(net, values);
        read_parameters(one, expected);
        assert_same_on_all_ranks(values);
        assert_true(distance(values, expected) <= 1e-12);
    }
    memcpy(run->end, values, sizeof values);
    ht_release(dp);
    ht_release(net);
    ht_release(one);
    ht_release(optimizer);
    ht_release(alone);
}

/* Blocking and not, with the same bits. */
static void check_modes(struct join_run run)
{
    for (int falling = 0; falling < 2; falling++) {
        struct join_run blocking = run, deferred = run;

        blocking.falling = deferred.falling = falling;
        blocking.blocking = true;
        check(&blocking);
        check(&deferred);
        assert_memory_equal(blocking.end, deferred.end, sizeof blocking.end);
    }
}

static void join_weighted_equals_one_rank(void **state)
{
    (void)state;
    for (enum optimizer_kind kind = SGD; kind < KINDS; kind++)
        check_modes((struct join_run){.kind = kind, .base = 3});
    check_modes((struct join_run){.kind = ADAM, .base = 3, .own_gradients = true});
}

static void join_divides_by_all_ranks_or_by_the_active(void **state)
{
    (void)state;
    check_modes((struct join_run){.kind = ADAM, .base = 2, .mean = true});
    check_modes((struct join_run){.kind = ADAM, .base = 2, .mean = true, .by_active = true});
    check_modes((struct join_run){.kind = ADAM, .base = 2, .mean = true, .zero_last = true});
}

/* One rank has nothing at all: it orders the buckets without having seen a pass. */
static void join_of_a_rank_without_data(void **state)
{
    (void)state;
    check_modes((struct join_run){.kind = SGD, .base = 0});
}

/* The data of a rank end in the middle of a group. */
static void join_with_accumulation(void **state)
{
    (void)state;
    check_modes((struct join_run){.kind = ADAM, .base = 3, .micro = 2, .counted = true});
    check_modes((struct join_run){.kind = ADAM, .base = 3, .micro = 2});
}

static void join_with_a_hook_and_with_unused_parameters(void **state)
{
    (void)state;
    check_modes((struct join_run){.kind = ADAM, .base = 2, .find_unused = true});
    check_modes((struct join_run){.kind = ADAM, .base = 2, .hook = true});
}

static ht_status begin_without_options(bool odd)
{
    ht_module *net = new_net(3), *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, true);
    ht_join_options options = ht_join_options_default();
    ht_status status;

    if (odd)
        options.size = 0;
    status = ht_data_parallel_join_begin(dp, &options);
    ht_release(dp);
    ht_release(net);
    return status;
}

static void options_of_one_rank_are_the_error_of_all(void **state)
{
    static const ht_test_agreed row = HT_AGREES(ht_data_parallel_join_begin, "",
                                                begin_without_options);

    (void)state;
    ht_test_agrees(&row, "start from ht_join_options_default()");
}

HT_TEST_SUITE(test_data_parallel_join, cmocka_unit_test(options_of_one_rank_are_the_error_of_all),
              cmocka_unit_test(join_weighted_equals_one_rank),
              cmocka_unit_test(join_divides_by_all_ranks_or_by_the_active),
              cmocka_unit_test(join_of_a_rank_without_data),
              cmocka_unit_test(join_with_accumulation),
              cmocka_unit_test(join_with_a_hook_and_with_unused_parameters));
