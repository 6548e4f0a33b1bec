/* ranks 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* The order of several wrappers' passes: all ranks have one, the order in which the wrappers were
 * made. A rank that begins them in another order is an error on all ranks, and of both wrappers. On
 * one node, and with each rank on a node of its own. */
#include <stdlib.h>

#include "data_parallel_errors.h"
#include "nn/parallel/data/data_parallel.h"

enum {
    WIDTH = 5,
    FIRST = IN * IN + IN + IN * WIDTH + WIDTH,
    SECOND = WIDTH * OUT + OUT,
    NORM = 2 * WIDTH
};

enum { ALL = FIRST + SECOND + 2 * NORM };

/* The wrappers have different numbers of parameters. */
struct pair {
    ht_comm *comm;
    ht_module *nets[2], *dp[2];
    ht_optimizer *optimizers[2];
};

struct way {
    bool blocking, apart; /* on nodes of their own */
    ht_averaging averaging;
    bool norm; /* with buffers */
};

static ht_comm *comm_of(const struct way *way)
{
    ht_comm *comm;

    if (way->apart)
        setenv("HT_RANKS_PER_NODE", "1", true);
    comm = ht_comm_split(HT_COMM_WORLD, 0, ht_test_rank);
    unsetenv("HT_RANKS_PER_NODE");
    return comm;
}

static void add_norms(ht_module *nets[2])
{
    nets[0] = ht_nn_sequential(HT_LIST(ht_module *, nets[0], ht_nn_batch_norm1d(WIDTH, NULL)));
    nets[1] = ht_nn_sequential(HT_LIST(ht_module *, ht_nn_batch_norm1d(WIDTH, NULL), nets[1]));
}

static struct pair open_pair(const struct way *way)
{
    ht_data_parallel_options options = ht_data_parallel_options_default();
    struct pair pair = {.comm = comm_of(way)};

    options.blocking = way->blocking;
    options.averaging = way->averaging;
    ht_nn_seed(7);
    pair.nets[0] = ht_nn_sequential(
        HT_LIST(ht_module *, ht_nn_linear(IN, IN), ht_nn_tanh(), ht_nn_linear(IN, WIDTH)));
    pair.nets[1] = ht_nn_linear(WIDTH, OUT);
    if (way->norm)
        add_norms(pair.nets);
    for (int i = 0; i < 2; i++) {
        ht_module_to_dtype(pair.nets[i], HT_FLOAT64);
        pair.optimizers[i] = new_optimizer(pair.nets[i], SGD);
        pair.dp[i] = ht_nn_data_parallel_ext(pair.nets[i], pair.comm, pair.optimizers[i], &options);
    }
    return pair;
}

static struct pair open_pair_that_returns_errors(const struct way *way)
{
    struct pair pair = open_pair(way);

    set_handlers(HT_ERRORS_RETURN);
    ht_comm_set_errhandler(pair.comm, HT_ERRORS_RETURN);
    return pair;
}

static void close_pair(struct pair *pair)
{
    for (int i = 0; i < 2; i++) {
        ht_release(pair->dp[i]);
        ht_release(pair->optimizers[i]);
        ht_release(pair->nets[i]);
    }
    set_handlers(HT_ERRORS_ABORT);
    ht_release(pair->comm);
}

static ht_status step_both(const struct pair *pair)
{
    const ht_status first = ht_optimizer_step(pair->optimizers[0]);
    const ht_status second = ht_optimizer_step(pair->optimizers[1]);

    return first != HT_SUCCESS ? first : second;
}

static void zero_both(const struct pair *pair)
{
    ht_optimizer_zero_grad(pair->optimizers[0]);
    ht_optimizer_zero_grad(pair->optimizers[1]);
}

static ht_tensor *joint_loss(const struct pair *pair, int64_t row)
{
    ht_tensor *y = ht_forward(pair->dp[1], ht_forward(pair->dp[0], batch_rows(row, 3)));

    return ht_nll_loss(ht_log_softmax(y, 1), batch_classes(row, 3), HT_MEAN);
}

static void backward_without_rows(const struct pair *pair)
{
    for (int i = 0; i < 2; i++)
        assert_int_equal(ht_data_parallel_backward(pair->dp[i], NULL), HT_SUCCESS);
}

/* One of its own for each wrapper. A rank without rows for the first one runs the second first. */
static void step_apart(const struct pair *pair, bool without_rows)
{
    ht_tensor *x = batch_rows(3 * ht_test_rank, 3);

    zero_both(pair);
    assert_int_equal(
        ht_data_parallel_backward(
            pair->dp[0], without_rows ? NULL : ht_mean(ht_forward(pair->dp[0], x), HT_NONE)),
        HT_SUCCESS);
    x = ht_narrow(x, 1, 0, WIDTH);
    assert_int_equal(ht_backward(ht_mean(ht_square(ht_forward(pair->dp[1], x)), HT_NONE)),
                     HT_SUCCESS);
    assert_int_equal(step_both(pair), HT_SUCCESS);
}

static void read_both(const struct pair *pair, double values[ALL])
{
    double *at = values;

    for (int i = 0; i < 2; i++)
        ht_module_named_parameters(pair->nets[i], collect_values, &at);
}

static void expect_equal_models(const struct pair *pair)
{
    double mine[ALL] = {0}, theirs[ALL];

    read_both(pair, mine);
    memcpy(theirs, mine, sizeof theirs);
    MPI_Bcast(theirs, ALL, MPI_DOUBLE, 0, ht_comm_mpi(pair->comm));
    assert_memory_equal(mine, theirs, sizeof mine);
}

typedef void check_fn(const struct way *way);

static void check_all_ways(check_fn *check)
{
    for (int i = 0; i < 4; i++) {
        check(&(struct way){i & 1, i & 2, HT_AVERAGE_WEIGHTED, false});
        check(&(struct way){i & 1, i & 2, HT_AVERAGE_MEAN, false});
    }
}

/* And then one loss that comes to both. */
static void check_order_of_first_passes(const struct way *way)
{
    const bool last = ht_test_rank == ht_test_size - 1;
    struct pair pair = open_pair(way);

    for (int step = 0; step < 4; step++) {
        ht_scope *scope = ht_scope_open();

        if (step < 2) {
            step_apart(&pair, last && step == 0);
        } else {
            zero_both(&pair);
            assert_int_equal(ht_backward(joint_loss(&pair, 3 * ht_test_rank)), HT_SUCCESS);
            assert_int_equal(step_both(&pair), HT_SUCCESS);
        }
        ht_scope_close(scope);
    }
    expect_equal_models(&pair);
    close_pair(&pair);
}

static void passes_begin_in_the_order_of_making(void **state)
{
    (void)state;
    check_all_ways(check_order_of_first_passes);
}

/* The last rank has no rows in one step. The result is that of a batch of no rows. */
static void train_without_rows(const struct way *way, int without, bool empty, double values[ALL])
{
    struct pair pair = open_pair(way);

    for (int step = 0; step < 4; step++) {
        ht_scope *scope = ht_scope_open();
        const bool none = step == without && ht_test_rank == ht_test_size - 1;

        zero_both(&pair);
        if (none && !empty) {
            backward_without_rows(&pair);
        } else {
            for (int i = 0; i < 2 && none; i++)
                ht_data_parallel_set_weight(pair.dp[i], 0);
            assert_int_equal(ht_backward(joint_loss(&pair, 3 * ht_test_rank)), HT_SUCCESS);
        }
        assert_int_equal(step_both(&pair), HT_SUCCESS);
        ht_scope_close(scope);
    }
    expect_equal_models(&pair);
    read_both(&pair, values);
    close_pair(&pair);
}

static void check_without_rows(const struct way *way)
{
    double values[ALL] = {0}, expected[ALL] = {0};

    for (int without = 0; without < 3; without++) {
        train_without_rows(way, without, false, values);
        train_without_rows(way, without, true, expected);
        assert_memory_equal(values, expected, sizeof values);
    }
}

static void no_rows_for_two_wrappers_in_the_order_of_making(void **state)
{
    (void)state;
    check_all_ways(check_without_rows);
}

/* Ranks with rows renew the buffers of both before they begin a pass. */
static void check_without_rows_with_buffers(const struct way *way)
{
    const struct way with_buffers = {way->blocking, way->apart, way->averaging, true};

    for (int step = 0; step < 6; step++) {
        const int rank = step % 2 == 0 ? 0 : ht_test_size - 1;
        struct pair pair = open_pair(&with_buffers);

        for (int i = 0; i < 4; i++) {
            zero_both(&pair);
            if (i == step / 2 && ht_test_rank == rank)
                backward_without_rows(&pair);
            else
                assert_int_equal(ht_backward(joint_loss(&pair, 3 * ht_test_rank)), HT_SUCCESS);
            assert_int_equal(step_both(&pair), HT_SUCCESS);
        }
        expect_equal_models(&pair);
        close_pair(&pair);
    }
}

static void no_rows_for_two_wrappers_with_buffers(void **state)
{
    (void)state;
    check_all_ways(check_without_rows_with_buffers);
}

static void expect_both_names(const struct pair *pair, int i)
{
    const char *message;

    assert_int_equal(ht_data_parallel_drain(pair->dp[i]), HT_ERR_STATE);
    ht_error_get(&message);
    assert_true(strstr(message, "(Sequential)") != NULL && strstr(message, "(Linear)") != NULL);
    expect_message("ht_nn_data_parallel: rank 0 began a pass of wrapper "); /* in no layer */
}

/* lost: by an error; else there are no rows. */
static void check_wrong_order_at(const struct way *way, int at, int rank, bool lost)
{
    struct pair pair = open_pair_that_returns_errors(way);
    const bool wrong = ht_test_rank == rank;

    for (int step = 0; step <= at; step++) {
        zero_both(&pair);
        if (step == at && wrong) {
            if (lost)
                ht_error_raise(HT_COMM_SELF, HT_ERR_IO, "the loss of one rank");
            for (int i = 1; i >= 0; i--)
                ht_data_parallel_backward(pair.dp[i], NULL);
        } else {
            ht_backward(joint_loss(&pair, 3 * ht_test_rank));
        }
        if (step < at)
            assert_int_equal(step_both(&pair), HT_SUCCESS);
        for (int i = 0; i < 2 && step < at; i++) /* a lost loss ends passes that have not left */
            assert_int_equal(ht_data_parallel_drain(pair.dp[i]), HT_SUCCESS);
    }
    for (int i = 0; i < 2; i++) {
        ht_error_clear();
        expect_both_names(&pair, i);
    }
    close_pair(&pair);
}

static void check_wrong_order(const struct way *way)
{
    for (int at = 0; at < 3; at++) {
        check_wrong_order_at(way, at, 0, at & 1);
        check_wrong_order_at(way, at, ht_test_size - 1, false);
        check_wrong_order_at(way, at, ht_test_size - 1, true);
    }
}

static void another_order_is_an_error_that_names_both_wrappers(void **state)
{
    (void)state;
    check_all_ways(check_wrong_order);
}

/* Each call is checked, and the first error ends it. */
static ht_status backward_once(const struct pair *pair, bool wrong)
{
    if (!wrong)
        return ht_backward(joint_loss(pair, 3 * ht_test_rank));
    const ht_status status = ht_data_parallel_backward(pair->dp[1], NULL);

    return status != HT_SUCCESS ? status : ht_data_parallel_backward(pair->dp[0], NULL);
}

static void check_leaving_at(const struct way *way, int at, int rank)
{
    struct pair pair = open_pair_that_returns_errors(way);
    ht_status status = HT_SUCCESS;

    for (int step = 0; step < at + 3 && status == HT_SUCCESS; step++) {
        zero_both(&pair);
        status = backward_once(&pair, step == at && ht_test_rank == rank);
        if (status == HT_SUCCESS)
            status = step_both(&pair);
    }
    assert_int_equal(status, HT_ERR_STATE);
    expect_message("can no longer be used");
    close_pair(&pair);
}

static void check_leaving(const struct way *way)
{
    for (int at = 0; at < 3; at++) {
        check_leaving_at(way, at, 0);
        check_leaving_at(way, at, ht_test_size - 1);
    }
}

static void a_rank_may_leave_at_the_first_error_of_another_order(void **state)
{
    (void)state;
    check_all_ways(check_leaving);
}

static ht_status backward_through(const struct pair *pair, int i)
{
    ht_tensor *x = batch_rows(3 * ht_test_rank, 3);

    if (i == 1)
        x = ht_narrow(x, 1, 0, WIDTH);
    return ht_backward(ht_mean(ht_forward(pair->dp[i], x), HT_NONE));
}

/* Rank 0 begins a pass of the first wrapper, the others begin one of the second. A non-blocking rank
 * 0 finds that in the next forward pass, in a layer. */
static void check_different_wrappers(const struct way *way)
{
    for (int at = 0; at < 3; at++) {
        struct pair pair = open_pair_that_returns_errors(way);

        for (int step = 0; step < at; step++) {
            zero_both(&pair);
            assert_int_equal(ht_backward(joint_loss(&pair, 3 * ht_test_rank)), HT_SUCCESS);
            assert_int_equal(step_both(&pair), HT_SUCCESS);
        }
        zero_both(&pair);
        backward_through(&pair, ht_test_rank == 0 ? 0 : 1);
        ht_error_clear();
        step_both(&pair);
        ht_error_clear();
        backward_through(&pair, 0);
        for (int i = 0; i < 2; i++) {
            ht_error_clear();
            expect_both_names(&pair, i);
        }
        close_pair(&pair);
    }
}

static void different_wrappers_are_an_error_of_both_on_all_ranks(void **state)
{
    (void)state;
    check_all_ways(check_different_wrappers);
}

/* Rank 0 finds the error. The others send what it needs for that, and do not look at the pass; nor
 * do they in what waits next. */
static void find_on_rank_0(const struct pair *pair)
{
    MPI_Request found;
    int done = 0;

    if (ht_test_rank == 0)
        assert_int_equal(ht_data_parallel_drain(pair->dp[0]), HT_ERR_STATE);
    ht_error_clear();
    MPI_Ibarrier(ht_comm_mpi(HT_COMM_WORLD), &found);
    while (!done) {
        ht__exchange_progress_all();
        MPI_Test(&found, &done, MPI_STATUS_IGNORE);
    }
    ht__wait_set_serve(NULL);
}

/* Rank 0 knows the error before it makes the third wrapper, the others find it later. */
static void check_new_wrapper(const struct way *way)
{
    struct pair pair = open_pair_that_returns_errors(way), next;

    backward_through(&pair, ht_test_rank == 0 ? 0 : 1);
    find_on_rank_0(&pair);
    next.nets[0] = ht_nn_linear(IN, WIDTH);
    ht_module_to_dtype(next.nets[0], HT_FLOAT64);
    next.optimizers[0] = new_optimizer(next.nets[0], SGD);
    next.dp[0] = ht_nn_data_parallel(next.nets[0], pair.comm, next.optimizers[0], way->blocking);
    assert_non_null(next.dp[0]);
    for (int step = 0; step < 3; step++) {
        ht_optimizer_zero_grad(next.optimizers[0]);
        assert_int_equal(backward_through(&next, 0), HT_SUCCESS);
        assert_int_equal(ht_optimizer_step(next.optimizers[0]), HT_SUCCESS);
    }
    assert_int_equal(ht_data_parallel_drain(next.dp[0]), HT_SUCCESS);
    for (int i = 0; i < 2; i++) {
        ht_error_clear();
        expect_both_names(&pair, i);
    }
    ht_release(next.dp[0]);
    ht_release(next.optimizers[0]);
    ht_release(next.nets[0]);
    close_pair(&pair);
}

static void a_wrapper_made_after_another_order_can_be_used(void **state)
{
    (void)state;
    check_all_ways(check_new_wrapper);
}

HT_TEST_SUITE(test_data_parallel_several, cmocka_unit_test(passes_begin_in_the_order_of_making),
              cmocka_unit_test(no_rows_for_two_wrappers_in_the_order_of_making),
              cmocka_unit_test(no_rows_for_two_wrappers_with_buffers),
              cmocka_unit_test(another_order_is_an_error_that_names_both_wrappers),
              cmocka_unit_test(a_rank_may_leave_at_the_first_error_of_another_order),
              cmocka_unit_test(different_wrappers_are_an_error_of_both_on_all_ranks),
              cmocka_unit_test(a_wrapper_made_after_another_order_can_be_used));
