/* ranks 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Buffers of several wrappers. A rank without a batch renews them in the order in which the
 * wrappers were made, the others in the order of their forward passes. */
#include <stdlib.h>

#include "data_parallel_errors.h"

enum { MADE_LIKE_FORWARD, MADE_OTHERWISE };
enum { FRONT = 5, BACK = 7, STEPS = 5 };
enum {
    ALL = FRONT * IN + FRONT + 2 * FRONT + BACK * FRONT + BACK + 2 * BACK + OUT * BACK + OUT,
    STATISTICS = 2 * FRONT + 1 + 2 * BACK + 1
};

/* The front's outputs are the back's inputs. Their buffers have different sizes. */
struct pair {
    ht_module *front, *back, *front_dp, *back_dp;
    ht_optimizer *front_optimizer, *back_optimizer;
    bool made; /* MADE_OTHERWISE: the back's wrapper came first */
};

static ht_module *wrap_part(ht_module *part, ht_optimizer **optimizer, bool blocking)
{
    ht_module_to_dtype(part, HT_FLOAT64);
    *optimizer = new_optimizer(part, SGD);
    return ht_nn_data_parallel(part, HT_COMM_WORLD, *optimizer, blocking);
}

static struct pair open_pair(bool blocking, bool made)
{
    struct pair p = {.made = made};

    ht_nn_seed(7);
    p.front = ht_nn_sequential(
        HT_LIST(ht_module *, ht_nn_linear(IN, FRONT), ht_nn_batch_norm1d(FRONT, NULL)));
    p.back = ht_nn_sequential(HT_LIST(ht_module *, ht_nn_linear(FRONT, BACK),
                                      ht_nn_batch_norm1d(BACK, NULL), ht_nn_linear(BACK, OUT)));
    if (made == MADE_OTHERWISE)
        p.back_dp = wrap_part(p.back, &p.back_optimizer, blocking);
    p.front_dp = wrap_part(p.front, &p.front_optimizer, blocking);
    if (made == MADE_LIKE_FORWARD)
        p.back_dp = wrap_part(p.back, &p.back_optimizer, blocking);
    return p;
}

static void close_pair(struct pair *p)
{
    ht_release(p->front_dp);
    ht_release(p->back_dp);
    ht_release(p->front_optimizer);
    ht_release(p->back_optimizer);
    ht_release(p->front);
    ht_release(p->back);
}

static ht_status step_both(const struct pair *p)
{
    const ht_status front = ht_optimizer_step(p->front_optimizer);
    const ht_status back = ht_optimizer_step(p->back_optimizer);

    return front != HT_SUCCESS ? front : back;
}

static void zero_both(const struct pair *p)
{
    ht_optimizer_zero_grad(p->front_optimizer);
    ht_optimizer_zero_grad(p->back_optimizer);
}

static ht_tensor *loss_of(const struct pair *p, ht_tensor *between)
{
    return ht_nll_loss(ht_log_softmax(ht_forward(p->back_dp, between), 1),
                       batch_classes(4 * ht_test_rank, 4), HT_MEAN);
}

static ht_status backward_through_both(const struct pair *p, int step)
{
    ht_tensor *x = batch_rows(100 * step + 4 * ht_test_rank, 4);

    return ht_backward(loss_of(p, ht_forward(p->front_dp, x)));
}

/* In the order of making. */
static ht_status backward_without_loss(const struct pair *p)
{
    ht_module *first = p->made == MADE_OTHERWISE ? p->back_dp : p->front_dp;
    ht_module *second = p->made == MADE_OTHERWISE ? p->front_dp : p->back_dp;
    const ht_status status = ht_data_parallel_backward(first, NULL);
    const ht_status next = ht_data_parallel_backward(second, NULL);

    return status != HT_SUCCESS ? status : next;
}

/* A loss that reaches the back alone. */
static void step_back(const struct pair *p, int step, bool none)
{
    bool was = ht_set_grad_enabled(false);
    ht_tensor *between = ht_forward(p->front_dp, batch_rows(50 * step + 4 * ht_test_rank, 4));

    ht_set_grad_enabled(was);
    zero_both(p);
    assert_int_equal(none ? ht_data_parallel_backward(p->back_dp, NULL)
                          : ht_backward(loss_of(p, between)),
                     HT_SUCCESS);
    assert_int_equal(ht_optimizer_step(p->back_optimizer), HT_SUCCESS);
}

static void collect_buffer(const char *name, ht_tensor *x, void *user)
{
    double **at = user;

    (void)name;
    assert_int_equal(ht_tensor_to_array(x, *at, ht_tensor_size(x), HT_FLOAT64), HT_SUCCESS);
    *at += ht_tensor_size(x);
}

static void read_buffers(const struct pair *p, double values[STATISTICS])
{
    double *at = values;

    ht_module_named_buffers(p->front, collect_buffer, &at);
    ht_module_named_buffers(p->back, collect_buffer, &at);
}

static void expect_rank_0s(double *mine, int count)
{
    double *theirs = malloc((size_t)count * sizeof *theirs);

    memcpy(theirs, mine, (size_t)count * sizeof *theirs);
    MPI_Bcast(theirs, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    assert_memory_equal(mine, theirs, (size_t)count * sizeof *theirs);
    free(theirs);
}

/* `rank` has no rows in step `without`; alone: each step is preceded by one of the back. */
struct case_of {
    bool blocking, alone;
    int rank, without;
};

static void train_pair(const struct case_of *c, bool made, double values[ALL])
{
    struct pair p = open_pair(c->blocking, made);
    double buffers[STATISTICS] = {0}, *at = values;

    for (int step = 0; step < STEPS; step++) {
        const bool none = step == c->without && ht_test_rank == c->rank;
        ht_scope *scope = ht_scope_open();

        if (c->alone)
            step_back(&p, step, none);
        zero_both(&p);
        assert_int_equal(none ? backward_without_loss(&p) : backward_through_both(&p, step),
                         HT_SUCCESS);
        assert_int_equal(step_both(&p), HT_SUCCESS);
        ht_scope_close(scope);
    }
    ht_module_eval(p.front_dp);
    ht_module_eval(p.back_dp);
    read_buffers(&p, buffers);
    expect_rank_0s(buffers, STATISTICS);
    ht_module_named_parameters(p.front, collect_values, &at);
    ht_module_named_parameters(p.back, collect_values, &at);
    expect_rank_0s(values, ALL);
    close_pair(&p);
}

/* The rank without rows has the buffers that rank 0 had in its forward pass, in both models. */
static void check_renewed_buffers(bool blocking, int rank)
{
    struct pair p = open_pair(blocking, MADE_OTHERWISE);
    double buffers[STATISTICS] = {0}, first[STATISTICS] = {0};

    for (int step = 0; step < 2; step++) {
        ht_scope *scope = ht_scope_open();

        zero_both(&p);
        if (step == 1 && ht_test_rank == 0) /* before the forward pass of step 1 */
            read_buffers(&p, first);
        assert_int_equal(step == 1 && ht_test_rank == rank ? backward_without_loss(&p)
                                                           : backward_through_both(&p, step),
                         HT_SUCCESS);
        assert_int_equal(step_both(&p), HT_SUCCESS);
        ht_scope_close(scope);
    }
    MPI_Bcast(first, STATISTICS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    read_buffers(&p, buffers);
    if (ht_test_rank == rank)
        assert_memory_equal(buffers, first, sizeof buffers);
    close_pair(&p);
}

static void a_rank_without_rows_gets_the_buffers_of_both(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        check_renewed_buffers(i, ht_test_size - 1);
}

static void buffers_do_not_depend_on_the_order_of_making(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        const struct case_of c = {i & 1, i & 2, i & 4 ? 0 : ht_test_size - 1, 1 + i % 3};
        double values[ALL] = {0}, expected[ALL] = {0};

        train_pair(&c, MADE_OTHERWISE, values);
        train_pair(&c, MADE_LIKE_FORWARD, expected);
        assert_memory_equal(values, expected, sizeof values);
    }
}

/* An error before the forward passes, which that rank leaves out. */
static void check_lost_batch(bool blocking, bool made, int rank)
{
    struct pair p = open_pair(blocking, made);
    ht_status status = HT_SUCCESS;

    set_handlers(HT_ERRORS_RETURN);
    for (int step = 0; step < 3 && status == HT_SUCCESS; step++) {
        const bool lost = step == 1 && ht_test_rank == rank;

        zero_both(&p);
        if (lost)
            ht_error_raise(HT_COMM_SELF, HT_ERR_IO, "the batch of one rank");
        status = lost ? backward_without_loss(&p) : backward_through_both(&p, step);
        if (status == HT_SUCCESS)
            status = step_both(&p);
    }
    assert_int_equal(status, HT_ERR_IO);
    expect_message("the batch of one rank");
    ht_data_parallel_drain(p.front_dp);
    ht_error_clear();
    ht_data_parallel_drain(p.back_dp);
    close_pair(&p);
    set_handlers(HT_ERRORS_ABORT);
}

static void a_batch_lost_before_forward_is_an_error_on_all_ranks(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++)
        check_lost_batch(i & 1, i & 2, i & 4 ? 0 : ht_test_size - 1);
}

/* One wrapper has no other to wait for. */
static void check_lost_batch_of_one(bool blocking, int rank)
{
    ht_module *net = ht_nn_sequential(HT_LIST(ht_module *, ht_nn_linear(IN, OUT),
                                              ht_nn_batch_norm1d(OUT, NULL), ht_nn_log_softmax(1)));
    ht_optimizer *optimizer;
    ht_module *dp = wrap_part(net, &optimizer, blocking);
    ht_status status = HT_SUCCESS;

    set_handlers(HT_ERRORS_RETURN);
    for (int step = 0; step < 3 && status == HT_SUCCESS; step++) {
        if (step == 1 && ht_test_rank == rank) {
            ht_error_raise(HT_COMM_SELF, HT_ERR_IO, "the batch of one rank");
            status = ht_data_parallel_backward(dp, NULL);
        } else {
            status = one_step(dp, optimizer);
        }
    }
    assert_int_equal(status, HT_ERR_IO);
    expect_message("the batch of one rank");
    ht_data_parallel_drain(dp);
    ht_release(dp);
    ht_release(optimizer);
    ht_release(net);
    set_handlers(HT_ERRORS_ABORT);
}

static void a_batch_of_one_wrapper_lost_before_forward(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++)
        check_lost_batch_of_one(i & 1, i & 2 ? 0 : ht_test_size - 1);
}

HT_TEST_SUITE(test_data_parallel_several_buffers,
              cmocka_unit_test(a_rank_without_rows_gets_the_buffers_of_both),
              cmocka_unit_test(buffers_do_not_depend_on_the_order_of_making),
              cmocka_unit_test(a_batch_lost_before_forward_is_an_error_on_all_ranks),
              cmocka_unit_test(a_batch_of_one_wrapper_lost_before_forward));
