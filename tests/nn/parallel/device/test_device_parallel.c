/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* A pass over several virtual devices equals the pass of the plain module. */
#include "device_parallel_test.h"

static void expect_same_gradients(ht_module *a, ht_module *b)
{
    ht_value *as = ht_module_parameters(a), *bs = ht_module_parameters(b);

    assert_int_equal(ht_value_count(as), ht_value_count(bs));
    for (int i = 0; i < ht_value_count(as); i++) {
        assert_non_null(ht_tensor_grad(ht_value_as_tensor(ht_value_at(as, i))));
        ht_test_expect_same(ht_tensor_grad(ht_value_as_tensor(ht_value_at(as, i))),
                            ht_tensor_grad(ht_value_as_tensor(ht_value_at(bs, i))), 1e-12);
    }
}

/* 11 rows on 4 devices are 3, 3, 3 and 2; 2 rows use two devices. */
static void outputs_and_gradients_equal_the_plain_modules(void **state)
{
    needs_all_devices();
    static const int64_t rows[] = {11, 8, 2, 1};

    (void)state;
    for (int k = 1; k <= 4; k++) {
        for (int r = 0; r < 4; r++) {
            ht_scope *scope = ht_scope_open();
            ht_module *plain = net_new(), *net = net_new();
            ht_module *wrapped = ht_nn_device_parallel(net, ids, k, HT_NONE, 0);
            ht_tensor *a = input(rows[r], 1), *b = input(rows[r], 1), *ya, *yb;

            ht_tensor_set_requires_grad(a, true);
            ht_tensor_set_requires_grad(b, true);
            ya = ht_forward(plain, a);
            yb = ht_forward(wrapped, b);
            assert_ptr_equal(ht_tensor_device(yb), ht_get_device());
            ht_test_expect_same(ya, yb, 1e-12);
            ht_backward(ht_mean(ht_mul(ya, ya), HT_NONE));
            ht_backward(ht_mean(ht_mul(yb, yb), HT_NONE));
            expect_same_gradients(plain, net);
            ht_test_expect_same(ht_tensor_grad(a), ht_tensor_grad(b), 1e-12);
            ht_release(wrapped);
            ht_release(net);
            ht_release(plain);
            ht_scope_close(scope);
        }
    }
}

/* Three steps; run twice, because sums of four gradients have one order for any timing of the
 * threads. */
static void training_equals_the_plain_modules_and_repeats_its_bits(void **state)
{
    needs_all_devices();
    ht_module *nets[3] = {net_new(), net_new(), net_new()};

    (void)state;
    for (int m = 0; m < 3; m++) {
        ht_module *run = m == 0 ? ht_retain(nets[0])
                                : ht_nn_device_parallel(nets[m], ids, 4, HT_NONE, 0);
        ht_scope *scope = ht_scope_open();
        ht_optimizer *sgd = ht_optim_sgd(ht_module_parameters(nets[m]), 0.1, NULL);

        for (int step = 0; step < 3; step++) {
            ht_tensor *y = ht_forward(run, input(16, step));

            ht_optimizer_zero_grad(sgd);
            ht_backward(ht_mean(ht_mul(y, y), HT_NONE));
            ht_optimizer_step(sgd);
        }
        ht_release(sgd);
        ht_scope_close(scope);
        ht_release(run);
    }
    ht_scope *scope = ht_scope_open();
    ht_value *plain = ht_module_parameters(nets[0]), *once = ht_module_parameters(nets[1]),
             *again = ht_module_parameters(nets[2]);
    for (int i = 0; i < ht_value_count(plain); i++) {
        ht_tensor *x = ht_value_as_tensor(ht_value_at(once, i));

        ht_test_expect_same(ht_value_as_tensor(ht_value_at(plain, i)), x, 1e-12);
        ht_test_expect_same(ht_value_as_tensor(ht_value_at(again, i)), x, 0);
    }
    ht_scope_close(scope);
    for (int m = 0; m < 3; m++)
        ht_release(nets[m]);
}

/* Parts have separate statistics; those of the first part are kept. */
static void batch_norm_is_that_of_each_part(void **state)
{
    needs_all_devices();
    ht_scope *scope = ht_scope_open();
    ht_module *net = ht_nn_batch_norm1d(5, NULL), *plain[2];
    ht_tensor *x = input(6, 2), *y;

    (void)state;
    ht_module_to_dtype(net, HT_FLOAT64);
    for (int i = 0; i < 2; i++)
        plain[i] = ht_module_clone(net);
    ht_module *wrapped = ht_nn_device_parallel(net, ids, 2, HT_NONE, 0);
    y = ht_forward(wrapped, x);
    for (int i = 0; i < 2; i++)
        ht_test_expect_same(ht_narrow(y, 0, 3 * i, 3 * i + 3),
                            ht_forward(plain[i], ht_narrow(x, 0, 3 * i, 3 * i + 3)), 1e-12);
    ht_value *kept = ht_module_state_dict(net), *first = ht_module_state_dict(plain[0]);
    for (int i = 0; i < ht_value_count(kept); i++)
        ht_test_expect_same(ht_value_as_tensor(ht_value_at(kept, i)),
                            ht_value_as_tensor(ht_value_at(first, i)), 1e-12);
    ht_release(wrapped);
    ht_release(net);
    for (int i = 0; i < 2; i++)
        ht_release(plain[i]);
    ht_scope_close(scope);
}

static void copies_draw_dropout_masks_of_their_own(void **state)
{
    needs_all_devices();
    ht_scope *scope = ht_scope_open();
    ht_module *net = ht_nn_dropout(0.5), *wrapped = ht_nn_device_parallel(net, ids, 2, HT_NONE, 0);
    ht_tensor *ones = ht_full_ext(HT_SHAPE(128), HT_NUM(1), HT_FLOAT32, HT_NONE,
                                  ht_device_get("cpu"), HT_COMM_SELF);
    const double *y = ht_test_values(ht_forward(wrapped, ones));
    const double *later = ht_test_values(ht_forward(wrapped, ones));

    (void)state;
    assert_memory_not_equal(y, y + 64, 64 * sizeof *y);
    assert_memory_not_equal(y, later, 64 * sizeof *y);
    ht_release(wrapped);
    ht_release(net);
    ht_scope_close(scope);
}

/* 5 columns on 2 devices are 3 and 2. */
static void columns_are_cut_and_joined_as_rows_are(void **state)
{
    needs_all_devices();
    ht_scope *scope = ht_scope_open();
    ht_module *relu = ht_nn_relu();

    (void)state;
    for (int dim = -1; dim < 2; dim += 2) {
        ht_value *y = ht_device_parallel_forward(relu, ht_value_tensor(input(4, 0)), ids, 2,
                                                 HT_NONE, dim);

        ht_test_expect_same(ht_value_as_tensor(y), ht_forward(relu, input(4, 0)), 0);
    }
    ht_release(relu);
    ht_scope_close(scope);
}

/* Parameters whose update is put off by the wrapper over ranks have it before they are copied. */
static void a_deferred_update_is_finished_first(void **state)
{
    needs_all_devices();
    ht_scope *scope = ht_scope_open();
    ht_module *net = net_new(), *dp;
    ht_optimizer *sgd = ht_optim_sgd(ht_module_parameters(net), 0.5, NULL);
    ht_value *y;

    (void)state;
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, sgd, false);
    ht_backward(ht_sum(ht_forward(dp, input(8, 1)), HT_NONE));
    ht_optimizer_step(sgd);
    y = ht_device_parallel_forward(net, ht_value_tensor(input(8, 2)), ids, 2, HT_NONE, 0);
    ht_data_parallel_drain(dp);
    ht_test_expect_same(ht_value_as_tensor(y), ht_forward(net, input(8, 2)), 1e-12);
    ht_release(dp);
    ht_release(sgd);
    ht_release(net);
    ht_scope_close(scope);
}

static void train_three_steps(ht_module *model, ht_optimizer *sgd)
{
    for (int step = 0; step < 3; step++) {
        ht_optimizer_zero_grad(sgd);
        assert_int_equal(ht_backward(ht_mean(ht_forward(model, input(8, step)), HT_NONE)),
                         HT_SUCCESS);
        ht_optimizer_step(sgd);
    }
}

/* All ranks have the same batches, so that their average is what one of them computes. */
static void a_wrapper_over_ranks_around_it_trains_the_same(void **state)
{
    needs_all_devices();
    (void)state;
    for (int blocking = 0; blocking < 2; blocking++) {
        ht_scope *scope = ht_scope_open();
        ht_module *net = net_new(), *plain = net_new(), *dp;
        ht_module *wrapped = ht_nn_device_parallel(net, ids, 2, HT_NONE, 0);
        ht_optimizer *sgd = ht_optim_sgd(ht_module_parameters(net), 0.5, NULL);
        ht_optimizer *alone = ht_optim_sgd(ht_module_parameters(plain), 0.5, NULL);

        dp = ht_nn_data_parallel(wrapped, HT_COMM_WORLD, sgd, blocking);
        train_three_steps(dp, sgd);
        train_three_steps(plain, alone);
        ht_data_parallel_drain(dp);
        ht_test_expect_same(ht_forward(net, input(8, 7)), ht_forward(plain, input(8, 7)), 1e-12);
        ht_release(dp);
        ht_release(wrapped);
        ht_release(sgd);
        ht_release(alone);
        ht_release(net);
        ht_release(plain);
        ht_scope_close(scope);
    }
}

/* {"x": x, "factor": 2} -> {"twice": 2 x, "rows": [number of rows]}, or on request another key. */
static ht_value *map_forward(ht_module *self, ht_value *inputs)
{
    ht_tensor *x = ht_value_as_tensor(ht_value_get(inputs, "x"));
    bool odd = *(int *)ht_module_data(self) && ht_get_device() == ht_device_get("cpu:1");
    ht_value *map = ht_value_map(), *rows = ht_value_list();

    ht_value_append(rows, ht_value_number((double)ht_tensor_shape(x)[0]));
    ht_value_set(
        map, odd ? "double" : "twice",
        ht_value_tensor(ht_mul_scalar(x, ht_value_as_number(ht_value_get(inputs, "factor")))));
    ht_value_set(map, "rows", rows);
    return map;
}

static void maps_and_lists_are_walked_and_keys_agree(void **state)
{
    ht_use_device(ht_device_get("cpu")); /* looked at by the module */

    static const ht_module_type type = {.name = "Map", .forward_value = map_forward};
    ht_scope *scope = ht_scope_open();
    ht_module *net = ht_module_new(sizeof(int), &type);
    ht_value *inputs = ht_value_map(), *y;

    (void)state;
    ht_value_set(inputs, "x", ht_value_tensor(input(5, 0)));
    ht_value_set(inputs, "factor", ht_value_number(2));
    y = ht_device_parallel_forward(net, inputs, ids, 2, HT_NONE, 0);
    ht_test_expect_same(ht_value_as_tensor(ht_value_get(y, "twice")), ht_mul_scalar(input(5, 0), 2),
                        0);
    ht_test_expect(ht_value_as_tensor(ht_value_at(ht_value_get(y, "rows"), 0)), (double[]){3, 2},
                   0);
    *(int *)ht_module_data(net) = 1;
    HT_TEST_EXPECT_ERROR(ht_device_parallel_forward(net, inputs, ids, 2, HT_NONE, 0),
                         HT_ERR_ARGUMENT, "part 0 returned a map with 'twice', part 1 without");
    ht_release(net);
    ht_scope_close(scope);
}

static void without_devices_or_gradients_it_is_the_module(void **state)
{
    needs_all_devices();
    ht_scope *scope = ht_scope_open();
    ht_module *net = net_new(), *bare = ht_nn_device_parallel(net, NULL, 0, HT_NONE, 0);
    ht_module *wrapped = ht_nn_device_parallel(net, ids, 3, HT_NONE, 0);
    bool was = ht_set_grad_enabled(false);
    ht_tensor *y = ht_forward(wrapped, input(9, 0));

    (void)state;
    assert_false(ht_tensor_requires_grad(y));
    ht_set_grad_enabled(was);
    ht_test_expect_same(ht_forward(bare, input(9, 0)), y, 1e-12);
    ht_release(wrapped);
    ht_release(bare);
    ht_release(net);
    ht_scope_close(scope);
}

static void count_call(ht_module *module, int input_count, ht_tensor *grad_inputs[],
                       int output_count, ht_tensor *const grad_outputs[], void *calls)
{
    assert_non_null(module);
    assert_true(input_count == 1 && grad_inputs[0] != NULL);
    assert_true(output_count == 1 && grad_outputs[0] != NULL);
    ++*(int *)calls;
}

/* Each copy computes its weight from copies of the originals, and runs the hooks. */
static void parametrized_layers_and_hooks_work_on_copies(void **state)
{
    needs_all_devices();
    ht_module *plain = net_new(), *net = net_new(), *wrapped;
    ht_tensor *y, *z;
    int calls = 0;

    (void)state;
    assert_int_equal(ht_nn_weight_norm(ht_module_find(plain, "0"), "weight", 0), HT_SUCCESS);
    assert_int_equal(ht_nn_weight_norm(ht_module_find(net, "0"), "weight", 0), HT_SUCCESS);
    ht_module_register_full_backward_hook(ht_module_find(net, "2"), count_call, &calls);
    wrapped = ht_nn_device_parallel(net, ids, 3, HT_NONE, 0);
    y = ht_forward(plain, input(8, 1));
    z = ht_forward(wrapped, input(8, 1));
    ht_test_expect_same(y, z, 1e-12);
    ht_backward(ht_mean(ht_mul(y, y), HT_NONE));
    ht_backward(ht_mean(ht_mul(z, z), HT_NONE));
    assert_int_equal(calls, 3);
    expect_same_gradients(plain, net);
    ht_release(wrapped);
    ht_release(net);
    ht_release(plain);
}

/* More rows than an int counts, of one byte in memory. */
static void a_long_input_is_one_part_on_one_device(void **state)
{
    ht_tensor *row = ht_ones(HT_SHAPE(1), HT_UINT8, HT_LOCAL);
    ht_value *x = ht_value_tensor(ht_broadcast_to(row, HT_SHAPE(INT64_C(1) << 32)));
    ht_module *net = ht_nn_identity();
    int here = 0;
    ht_value *y = ht_device_parallel_forward(net, x, &here, 1, HT_NONE, 0);

    (void)state;
    assert_int_equal(ht_tensor_size(ht_value_as_tensor(y)), INT64_C(1) << 32);
    ht_release(net);
}

HT_TEST_SUITE(test_device_parallel, cmocka_unit_test(outputs_and_gradients_equal_the_plain_modules),
              cmocka_unit_test(parametrized_layers_and_hooks_work_on_copies),
              cmocka_unit_test(training_equals_the_plain_modules_and_repeats_its_bits),
              cmocka_unit_test(batch_norm_is_that_of_each_part),
              cmocka_unit_test(copies_draw_dropout_masks_of_their_own),
              cmocka_unit_test(columns_are_cut_and_joined_as_rows_are),
              cmocka_unit_test(a_deferred_update_is_finished_first),
              cmocka_unit_test(a_wrapper_over_ranks_around_it_trains_the_same),
              cmocka_unit_test(maps_and_lists_are_walked_and_keys_agree),
              cmocka_unit_test(without_devices_or_gradients_it_is_the_module),
              cmocka_unit_test(a_long_input_is_one_part_on_one_device));
