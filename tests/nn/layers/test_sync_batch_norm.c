/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "ht_test.h"
#include "tensor_check.h"

enum { CHANNELS = 3, PIXELS = 4, ROWS = 9 };

/* Rank 0 has no row, the others uneven numbers; one rank alone has them all. */
static void my_rows(int64_t *start, int64_t *stop)
{
    const int64_t busy = ht_test_size > 1 ? ht_test_size - 1 : 1;
    const int64_t at = ht_test_size > 1 ? ht_test_rank - 1 : 0;

    *start = at < 0 ? 0 : at == 0 ? 0 : ROWS - (busy - at);
    *stop = at < 0 ? 0 : ROWS - (busy - 1 - at);
}

static ht_tensor *local_copy(ht_tensor *x)
{
    return ht_array(ht_test_data(x), ht_tensor_ndim(x), ht_tensor_shape(x), HT_FLOAT64, HT_LOCAL);
}

struct result {
    ht_tensor *y, *dx, *dweight, *dbias, *mean, *var;
};

/* The layer on x, and the gradients of sum(w y). */
static struct result run(ht_module *layer, ht_tensor *x, ht_tensor *w)
{
    struct result r;

    ht_module_to_dtype(layer, HT_FLOAT64);
    ht_set_grad_enabled(false);
    ht_fill_(ht_module_find_parameter(layer, "weight"), 1.5);
    ht_fill_(ht_module_find_parameter(layer, "bias"), -0.25);
    ht_set_grad_enabled(true);
    ht_tensor_set_requires_grad(x, true);
    r.y = ht_forward(layer, x);
    assert_non_null(r.y);
    assert_int_equal(ht_backward(ht_sum(ht_mul(r.y, w), HT_NONE)), HT_SUCCESS);
    r.dx = ht_tensor_grad(x);
    r.dweight = ht_tensor_grad(ht_module_find_parameter(layer, "weight"));
    r.dbias = ht_tensor_grad(ht_module_find_parameter(layer, "bias"));
    return r;
}

static void buffer_named(const char *name, ht_tensor *x, void *user)
{
    struct result *r = user;

    if (strcmp(name, "running_mean") == 0)
        r->mean = x;
    if (strcmp(name, "running_var") == 0)
        r->var = x;
}

static void expect_close(ht_tensor *a, ht_tensor *b)
{
    ht_test_expect_same(a, b, 1e-12);
}

/* Gradients of weight and bias are this rank's share: they are added up first. */
static ht_tensor *over_ranks(ht_tensor *share)
{
    ht_tensor *sum = ht_copy(ht_detach(share));

    assert_int_equal(ht_allreduce(HT_COMM_WORLD, ht_detach(share), sum, HT_OP_SUM), HT_SUCCESS);
    return sum;
}

static void check(int ndim, const int64_t shape[], bool channels_last)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *all = local_copy(ht_test_randn(ndim, shape, HT_FLOAT64, HT_NONE, 1));
    ht_tensor *weights = local_copy(ht_test_randn(ndim, shape, HT_FLOAT64, HT_NONE, 2)), *x;
    ht_module *plain = ndim == 4 ? ht_nn_batch_norm2d(CHANNELS, NULL)
                                 : ht_nn_batch_norm1d(CHANNELS, NULL);
    ht_module *sync = ht_nn_sync_batch_norm(CHANNELS, NULL, HT_COMM_WORLD);
    struct result whole, part;
    int64_t start, stop;

    my_rows(&start, &stop);
    x = ht_copy(ht_narrow(all, 0, start, stop));
    x = channels_last ? ht_channels_last(x) : x;
    whole = run(plain, all, weights);
    part = run(sync, ht_detach(x), ht_narrow(weights, 0, start, stop));
    ht_module_named_buffers(plain, buffer_named, &whole);
    ht_module_named_buffers(sync, buffer_named, &part);

    expect_close(part.y, ht_narrow(whole.y, 0, start, stop));
    expect_close(part.dx, ht_narrow(whole.dx, 0, start, stop));
    expect_close(over_ranks(part.dweight), whole.dweight);
    expect_close(over_ranks(part.dbias), whole.dbias);
    expect_close(part.mean, whole.mean);
    expect_close(part.var, whole.var);
    ht_release(plain);
    ht_release(sync);
    ht_scope_close(scope);
}

static void ranks_with_uneven_batches_equal_one_process(void **state)
{
    (void)state;
    check(HT_SHAPE(ROWS, CHANNELS), false);
    check(HT_SHAPE(ROWS, CHANNELS, PIXELS), false);
    check(HT_SHAPE(ROWS, CHANNELS, 2, PIXELS), false);
    check(HT_SHAPE(ROWS, CHANNELS, 2, PIXELS), true);
}

static void statistics_have_the_same_bits_on_all_ranks(void **state)
{
    (void)state;
    const int64_t shape[2] = {ROWS, CHANNELS};
    ht_module *sync = ht_nn_sync_batch_norm(CHANNELS, NULL, HT_COMM_WORLD);
    struct result r;
    int64_t start, stop;

    my_rows(&start, &stop);
    for (uint64_t step = 0; step < 5; step++) {
        ht_tensor *all = ht_test_randn(2, shape, HT_FLOAT32, HT_NONE, step);
        ht_tensor *x = ht_tensor_local(ht_contiguous(ht_narrow(all, 0, start, stop)));

        assert_non_null(ht_forward(sync, x));
    }
    ht_module_named_buffers(sync, buffer_named, &r);

    for (int i = 0; i < 2; i++) {
        ht_tensor *mine = i == 0 ? r.mean : r.var, *theirs = ht_copy(mine);

        assert_int_equal(ht_bcast(HT_COMM_WORLD, theirs, 0), HT_SUCCESS);
        assert_memory_equal(ht_test_data(theirs), ht_test_data(mine), CHANNELS * sizeof(float));
    }
    ht_release(sync);
}

static void one_value_per_channel_in_all_is_an_error(void **state)
{
    (void)state;
    const int64_t shape[2] = {ht_test_rank == 0, CHANNELS};
    ht_module *sync = ht_nn_sync_batch_norm(CHANNELS, NULL, HT_COMM_WORLD);
    ht_tensor *x = ht_full(2, shape, 1, HT_FLOAT32, HT_LOCAL);

    HT_TEST_EXPECT_ERROR(ht_forward(sync, x), HT_ERR_ARGUMENT, "1 value per channel");
    ht_release(sync);
}

/* Mean loss over the complete batch: through the wrapper the gradients are those of one process. */
static void the_wrapper_averages_the_shares_once(void **state)
{
    (void)state;
    const int64_t shape[2] = {ROWS, CHANNELS};
    ht_tensor *all = local_copy(ht_test_randn(2, shape, HT_FLOAT64, HT_NONE, 1));
    ht_tensor *targets = local_copy(ht_test_randn(2, shape, HT_FLOAT64, HT_NONE, 2)), *loss;
    ht_module *plain = ht_nn_batch_norm1d(CHANNELS, NULL);
    ht_module *sync = ht_nn_convert_sync_batchnorm(ht_nn_batch_norm1d(CHANNELS, NULL),
                                                   HT_COMM_WORLD);
    int64_t start, stop;

    ht_module_to_dtype(plain, HT_FLOAT64);
    ht_module_to_dtype(sync, HT_FLOAT64);
    my_rows(&start, &stop);

    ht_module *dp = ht_nn_data_parallel(sync, HT_COMM_WORLD, NULL, true);
    loss = ht_mul(ht_forward(plain, all), targets);
    assert_int_equal(ht_backward(ht_mul_scalar(ht_sum(loss, HT_NONE), 1.0 / ROWS)), HT_SUCCESS);
    loss = ht_mul(ht_forward(dp, ht_narrow(all, 0, start, stop)),
                  ht_narrow(targets, 0, start, stop));
    assert_int_equal(ht_backward(ht_mul_scalar(ht_sum(loss, HT_NONE),
                                               stop > start ? 1.0 / (double)(stop - start) : 0)),
                     HT_SUCCESS);
    assert_int_equal(ht_data_parallel_drain(dp), HT_SUCCESS);
    assert_ptr_equal(ht_data_parallel_module(dp), sync);
    for (int i = 0; i < 2; i++) {
        const char *name = i == 0 ? "weight" : "bias";

        expect_close(ht_tensor_grad(ht_module_find_parameter(sync, name)),
                     ht_tensor_grad(ht_module_find_parameter(plain, name)));
    }
    ht_release(dp);
    ht_release(sync);
    ht_release(plain);
}

enum fault { WRONG_SHAPE, NO_INPUT, FAILED_BACKWARD, FAULTS };

static ht_tensor *break_backward(ht_tensor *grad, void *user)
{
    (void)user;
    ht_reshape(grad, HT_SHAPE(1));
    return NULL;
}

static ht_tensor *ones_of(int64_t channels)
{
    int64_t shape[] = {4, channels};

    return ht_full_ext(2, shape, HT_NUM(1), HT_FLOAT32, HT_NONE, ht_get_device(), HT_COMM_SELF);
}

/* Two layers, so that each of them has to get the error. */
static ht_status run_with(enum fault fault, bool fails, ht_module *const layers[2])
{
    ht_tensor *x = ones_of(fails && fault == WRONG_SHAPE ? CHANNELS + 1 : CHANNELS), *y;

    if (fails && fault == NO_INPUT)
        x = ht_reshape(x, HT_SHAPE(1));
    else
        ht_tensor_set_requires_grad(x, true);
    y = ht_forward(layers[1], ht_forward(layers[0], x));
    if (fault != FAILED_BACKWARD) {
        assert_null(y);
        return ht_error_get(NULL);
    }
    y = ht_mul_scalar(y, 2);
    if (fails)
        ht_tensor_register_hook(y, break_backward, NULL);
    return ht_backward(ht_sum(y, HT_NONE));
}

/* The others would wait for its part until the deadline. */
static void an_error_on_one_rank_is_told_to_all(void **state)
{
    bool fails = ht_test_rank == ht_test_size - 1;

    (void)state;
    for (enum fault fault = WRONG_SHAPE; fault < FAULTS; fault++) {
        ht_module *layers[] = {ht_nn_sync_batch_norm(CHANNELS, NULL, HT_COMM_WORLD),
                               ht_nn_sync_batch_norm(CHANNELS, NULL, HT_COMM_WORLD)};
        const char *message;
        ht_status status;

        ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
        ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
        status = run_with(fault, fails, layers);
        assert_int_equal(status, fails ? HT_ERR_SHAPE : HT_ERR_STATE);
        ht_error_get(&message);
        assert_true(fails ||
                    strstr(message, "does not take part, because it has an error") != NULL);
        ht_error_clear();
        ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
        ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
        ht_barrier(HT_COMM_WORLD);
        assert_non_null(ht_forward(layers[0], ones_of(CHANNELS)));
        ht_release(layers[0]);
        ht_release(layers[1]);
    }
}

static bool breaks; /* the parametrization of this rank */

static ht_tensor *break_or_pass(ht_module *self, ht_tensor *x)
{
    (void)self;
    return breaks ? ht_reshape(x, HT_SHAPE(2)) : x;
}

static const ht_module_type breaking_type = {.name = "Breaking", .forward = break_or_pass};

/* Its own parameter is for nothing; layers of layers follow. */
static ht_tensor *block_forward(ht_module *self, ht_tensor *x)
{
    return ht_forward(ht_module_find(self, "inner"), x);
}

static const ht_module_type block_type = {.name = "Block", .forward = block_forward};

static ht_module *block_new(void)
{
    ht_module *block = ht_module_new(0, &block_type);
    ht_module *layers[] = {ht_nn_sync_batch_norm(CHANNELS, NULL, HT_COMM_WORLD),
                           ht_nn_sequential(HT_LIST(
                               ht_module *, ht_nn_sync_batch_norm(CHANNELS, NULL, HT_COMM_WORLD)))};

    ht_module_add(block, "inner", NULL, ht_nn_sequential(2, layers));
    ht_module_add_parameter(block, "scale", NULL, ones_of(1));
    return block;
}

/* A fault of the block, then of a layer in it: all layers from there on get the error. */
static void a_failed_parametrization_on_one_rank_is_told_to_all(void **state)
{
    static const char *const places[][2] = {{"", "scale"}, {"inner.0", "weight"}};
    bool fails = ht_test_rank == ht_test_size - 1;

    (void)state;
    for (int i = 0; i < 2; i++) {
        ht_module *block = block_new();
        ht_module *owner = i == 0 ? block : ht_module_find(block, places[i][0]);

        assert_int_equal(ht_nn_register_parametrization(owner, places[i][1],
                                                        ht_module_new(0, &breaking_type), NULL),
                         HT_SUCCESS);
        ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
        ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
        breaks = fails;
        assert_null(ht_forward(block, ones_of(CHANNELS)));
        assert_int_equal(ht_error_get(NULL), fails ? HT_ERR_SHAPE : HT_ERR_STATE);
        ht_error_clear();
        assert_null(ht_forward_value(block, ht_value_tensor(ones_of(CHANNELS))));
        assert_int_equal(ht_error_get(NULL), fails ? HT_ERR_SHAPE : HT_ERR_STATE);
        ht_error_clear();
        breaks = false;
        ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
        ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
        assert_non_null(ht_forward(block, ones_of(CHANNELS)));
        ht_release(block);
    }
}

/* The message of one failed pass of a layer at `path` of a model ("": alone), whose last rank
 * fails. Up to the next error. */
static const char *message_at(const char *path, enum fault fault)
{
    ht_module *layer = ht_nn_sync_batch_norm(CHANNELS, NULL, HT_COMM_WORLD);
    ht_module *model = ht_nn_sequential(0, NULL);
    bool fails = ht_test_rank == ht_test_size - 1;
    const char *message;

    ht_retain(layer);
    if (path[0] != '\0')
        ht_module_add(model, path, NULL, layer);
    else
        ht_release(layer);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    run_with(fault, fails, (ht_module *[]){layer, layer});
    ht_error_get(&message);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(layer);
    ht_release(model);
    return message;
}

static void errors_name_the_layer_and_a_root_by_the_call_alone(void **state)
{
    static const char *const paths[] = {
        "", "norm", "features_of_the_backbone_before_pooling_and_projection_norm"};
    static const char *const suffixes[FAULTS] = {"", "", ", backward"};

    (void)state;
    for (int p = 0; p < 3; p++) {
        for (enum fault fault = WRONG_SHAPE; fault < FAULTS; fault++) {
            bool fails = ht_test_rank == ht_test_size - 1;
            const char *message = message_at(paths[p], fault);
            char expected[192];

            snprintf(expected, sizeof expected, "ht_nn_sync_batch_norm%s%s%s: %s",
                     p > 0 ? " in " : "", paths[p], fails ? "" : suffixes[fault],
                     fails ? "x is (4, 4)" : "rank ");
            if (!fails || fault == WRONG_SHAPE)
                assert_memory_equal(message, expected, strlen(expected));
            ht_error_clear();
        }
    }
}

/* The second split of the world frees the communicator of the first, unless the loss keeps it. */
static void a_loss_keeps_the_communicator_of_its_layer(void **state)
{
    ht_tensor *x = ht_randn(HT_SHAPE(4, CHANNELS), HT_FLOAT32, HT_LOCAL), *y;
    ht_comm *comm = ht_comm_split(HT_COMM_WORLD, 0, ht_test_rank);
    ht_module *layer = ht_nn_sync_batch_norm(CHANNELS, NULL, comm);
    ht_module *dp = ht_nn_data_parallel(layer, comm, NULL, false);

    (void)state;
    ht_tensor_set_requires_grad(x, true);
    y = ht_forward(layer, x);
    ht_release(dp);
    ht_release(layer);
    ht_release(comm);
    comm = ht_comm_split(HT_COMM_WORLD, 0, ht_test_rank);
    assert_int_equal(ht_backward(ht_sum(ht_mul(y, ht_mul(y, y)), HT_NONE)), HT_SUCCESS);
    assert_true(isfinite(ht_item(ht_sum(ht_tensor_grad(x), HT_NONE))));
    ht_release(comm);
}

HT_TEST_SUITE(test_sync_batch_norm, cmocka_unit_test(ranks_with_uneven_batches_equal_one_process),
              cmocka_unit_test(statistics_have_the_same_bits_on_all_ranks),
              cmocka_unit_test(one_value_per_channel_in_all_is_an_error),
              cmocka_unit_test(the_wrapper_averages_the_shares_once),
              cmocka_unit_test(an_error_on_one_rank_is_told_to_all),
              cmocka_unit_test(a_loss_keeps_the_communicator_of_its_layer),
              cmocka_unit_test(a_failed_parametrization_on_one_rank_is_told_to_all),
              cmocka_unit_test(errors_name_the_layer_and_a_root_by_the_call_alone));
