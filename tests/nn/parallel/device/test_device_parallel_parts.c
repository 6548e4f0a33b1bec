/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* The inputs of each part of a pass over several virtual devices, and errors in one of them.
 */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "device_parallel_test.h"

/* A module with an inner pass over the same devices, one of which it runs on. */
static ht_tensor *nested_forward(ht_module *self, ht_tensor *x)
{
    ht_module *relu = *(ht_module **)ht_module_data(self);

    return ht_value_as_tensor(ht_device_parallel_forward(relu, ht_value_tensor(x), ids, 2, -1, 0));
}

static void a_pass_inside_a_part_waits_for_no_rank(void **state)
{
    needs_all_devices();
    static const ht_module_type type = {.name = "Nested", .forward = nested_forward};
    ht_scope *scope = ht_scope_open();
    ht_module *net = ht_module_new(sizeof(ht_module *), &type), *relu = ht_nn_relu();
    ht_value *y;

    (void)state;
    *(ht_module **)ht_module_data(net) = relu;
    y = ht_device_parallel_forward(net, ht_value_tensor(input(8, 0)), ids, 2, HT_NONE, 0);
    ht_test_expect_same(ht_value_as_tensor(y), ht_forward(relu, input(8, 0)), 0);
    ht_release(relu);
    ht_release(net);
    ht_scope_close(scope);
}

static atomic_int ended;

/* Fails for parts that begin with a negative number; the others take their time. */
static ht_tensor *picky_forward(ht_module *self, ht_tensor *x)
{
    double first;

    (void)self;
    ht_tensor_item(ht_narrow(ht_narrow(x, 0, 0, 1), 1, 0, 1), &first);
    if (first < 0)
        return ht_reshape(x, HT_SHAPE(7));
    usleep(20000);
    atomic_fetch_add(&ended, 1);
    return x;
}

static void the_first_error_is_raised_when_all_have_ended(void **state)
{
    ht_use_device(ht_device_get("cpu")); /* named in messages */

    static const ht_module_type picky = {.name = "Picky", .forward = picky_forward};
    ht_scope *scope = ht_scope_open();
    ht_module *net = ht_module_new(1, &picky);
    ht_module *wrapped = ht_nn_device_parallel(net, ids, 4, HT_NONE, 0);
    double data[4] = {1, -1, -1, 1};

    (void)state;
    atomic_store(&ended, 0);
    HT_TEST_EXPECT_ERROR(ht_forward(wrapped, ht_array(data, HT_SHAPE(4, 1), HT_FLOAT64, HT_LOCAL)),
                         HT_ERR_SHAPE, "ht_nn_device_parallel: part 1 of 4, on cpu:1: ht_reshape");
    assert_int_equal(atomic_load(&ended), 2);
    ht_release(wrapped);
    ht_release(net);
    ht_scope_close(scope);
}

/* Its collectives would be called by all parts at once. On one device it is as good as any layer.
 */
static void a_synchronised_batch_norm_inside_is_refused(void **state)
{
    needs_all_devices();
    static const char text[] =
        ": norm is a SyncBatchNorm, which takes statistics over ranks and not "
        "over the devices of one";
    static const ht_module_type type = {.name = "Holder", .forward = picky_forward};
    ht_scope *scope = ht_scope_open();
    ht_module *net = ht_module_new(1, &type), *later = ht_module_new(1, &type), *one, *wrapped;

    (void)state;
    ht_module_add(net, "norm", NULL, ht_nn_sync_batch_norm(5, NULL, HT_COMM_WORLD));
    HT_TEST_EXPECT_ERROR(ht_nn_device_parallel(net, ids, 2, HT_NONE, 0), HT_ERR_ARGUMENT, text);
    HT_TEST_EXPECT_ERROR(
        ht_device_parallel_forward(net, ht_value_tensor(input(4, 0)), ids, 2, HT_NONE, 0),
        HT_ERR_ARGUMENT, text);
    wrapped = ht_nn_device_parallel(later, ids, 2, HT_NONE, 0);
    ht_module_add(later, "norm", NULL, ht_nn_sync_batch_norm(5, NULL, HT_COMM_WORLD));
    HT_TEST_EXPECT_ERROR(ht_forward(wrapped, input(4, 0)), HT_ERR_ARGUMENT, text);
    one = ht_nn_device_parallel(net, ids, 1, HT_NONE, 0);
    assert_non_null(one);
    ht_release(one);
    ht_release(wrapped);
    ht_release(later);
    ht_release(net);
    ht_scope_close(scope);
}

/* On one device a layer may wait for other ranks, one of which has no valid input: a tensor without
 * an axis to cut, or NULL. */
static void ranks_that_wait_are_told(void **state)
{
    const bool fails = ht_test_rank == ht_test_size - 1;
    ht_module *norm = ht_nn_sync_batch_norm(5, NULL, HT_COMM_WORLD);
    ht_module *wrapped = ht_nn_device_parallel(norm, ids, 1, HT_NONE, 0);

    (void)state;
    ht_module_to_dtype(norm, HT_FLOAT64);
    for (int way = 0; way < 3; way++) {
        ht_value *x = ht_value_tensor(fails ? ht_scalar(1) : input(4, 0)), *y;

        ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
        ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
        if (way == 0)
            y = ht_forward_value(wrapped, x);
        else
            y = ht_device_parallel_forward(norm, fails && way == 2 ? NULL : x, ids, 1, HT_NONE, 0);
        assert_null(y);
        assert_int_equal(ht_error_get(NULL), fails ? HT_ERR_ARGUMENT : HT_ERR_STATE);
        ht_error_clear();
        ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
        ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
        assert_int_equal(ht_error_agree(HT_COMM_WORLD, HT_SUCCESS, "-"), HT_SUCCESS);
    }
    ht_release(wrapped);
    ht_release(norm);
}

/* Copies would exchange the same gradients at the same time. On one device there are none. */
static void a_data_parallel_wrapper_inside_is_refused(void **state)
{
    needs_all_devices();
    static const char text[] = " is a DataParallel wrapper, expected a module without one: "
                               "ht_nn_data_parallel goes around ht_nn_device_parallel";
    ht_scope *scope = ht_scope_open();
    ht_module *net = net_new(), *holder = ht_nn_sequential(0, NULL), *one;
    ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, true);
    ht_value *x = ht_value_tensor(input(4, 0));
    char expected[192];

    (void)state;
    ht_module_add(holder, "part", NULL, ht_retain(dp));
    for (int i = 0; i < 2; i++) {
        ht_module *root = i == 0 ? dp : holder;

        snprintf(expected, sizeof expected, "ht_nn_device_parallel: %s%s",
                 i == 0 ? "the module" : "part", text);
        HT_TEST_EXPECT_ERROR(ht_nn_device_parallel(root, ids, 2, HT_NONE, 0), HT_ERR_ARGUMENT,
                             expected);
        HT_TEST_EXPECT_ERROR(ht_device_parallel_forward(root, x, ids, 2, HT_NONE, 0),
                             HT_ERR_ARGUMENT, text);
    }
    one = ht_nn_device_parallel(dp, ids, 1, HT_NONE, 0);
    assert_non_null(ht_forward(one, input(4, 0)));
    ht_release(one);
    ht_release(holder);
    ht_release(dp);
    ht_release(net);
    ht_scope_close(scope);
}

static void destroy_nothing(ht_module *self)
{
    (void)self;
}

static void a_module_that_cannot_be_copied_is_refused(void **state)
{
    needs_all_devices();
    static const ht_module_type type = {
        .name = "Unique", .forward = picky_forward, .destroy = destroy_nothing};
    ht_module *net = ht_nn_sequential(2, (ht_module *[]){ht_nn_relu(), ht_module_new(1, &type)});

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_nn_device_parallel(net, ids, 2, HT_NONE, 0), HT_ERR_UNSUPPORTED,
                         "ht_nn_device_parallel: 1 is a Unique, which has a destroy hook");
    ht_release(net);
}

static void a_parameter_on_another_device_is_named(void **state)
{
    ht_use_device(ht_device_get("cpu")); /* named in messages */

    ht_module *net = net_new(), *wrapped = ht_nn_device_parallel(net, ids, 2, HT_NONE, 0);
    ht_scope *scope = ht_scope_open();

    (void)state;
    ht_module_to_device(ht_module_find(net, "2"), ht_device_get("cpu:1"));
    HT_TEST_EXPECT_ERROR(ht_forward(wrapped, input(4, 0)), HT_ERR_DEVICE,
                         "ht_nn_device_parallel: 2.weight is on cpu:1, expected all parameters "
                         "and buffers on the first device, cpu:0");
    ht_scope_close(scope);
    ht_release(wrapped);
    ht_release(net);
}

static void a_buffer_on_another_device_is_named(void **state)
{
    needs_all_devices();
    ht_batch_norm_options options = ht_batch_norm_options_default();
    ht_module *norm, *wrapped;
    ht_scope *scope = ht_scope_open();

    (void)state;
    options.affine = false;
    norm = ht_nn_batch_norm1d(5, &options);
    wrapped = ht_nn_device_parallel(norm, ids, 2, HT_NONE, 0);
    ht_module_to_device(norm, ht_device_get("cpu:1"));
    HT_TEST_EXPECT_ERROR(ht_forward(wrapped, input(4, 0)), HT_ERR_DEVICE,
                         "ht_nn_device_parallel: running_mean is on cpu:1");
    ht_scope_close(scope);
    ht_release(wrapped);
    ht_release(norm);
}

/* The first device is cpu:1, and the outputs go where they are asked to. */
static void the_output_goes_to_the_first_device_the_host_or_another(void **state)
{
    static const int from_1[] = {1, 2}, outputs[] = {HT_NONE, -1, 3};
    static const char *const names[] = {"cpu:1", "cpu:0", "cpu:3"};
    ht_scope *scope = ht_scope_open();
    ht_module *net = net_new(), *plain = net_new();

    (void)state;
    ht_module_to_device(net, ht_device_get("cpu:1"));
    for (int i = 0; i < 3; i++) {
        ht_value *y = ht_device_parallel_forward(net, ht_value_tensor(input(4, 0)), from_1, 2,
                                                 outputs[i], 0);

        assert_string_equal(ht_device_name(ht_tensor_device(ht_value_as_tensor(y))), names[i]);
        ht_test_expect_same(ht_to_device(ht_value_as_tensor(y), ht_device_get("cpu")),
                            ht_forward(plain, input(4, 0)), 1e-12);
    }
    ht_release(net);
    ht_release(plain);
    ht_scope_close(scope);
}

static atomic_int with_gradients;

static ht_tensor *look_at_mode(ht_module *self, ht_tensor *x)
{
    (void)self;
    atomic_fetch_add(&with_gradients, ht_is_grad_enabled());
    return x;
}

static void parts_have_the_callers_grad_mode(void **state)
{
    needs_all_devices();
    static const ht_module_type type = {.name = "Mode", .forward = look_at_mode};
    ht_module *net = ht_module_new(1, &type), *wrapped;
    ht_scope *scope = ht_scope_open();

    (void)state;
    wrapped = ht_nn_device_parallel(net, ids, 4, HT_NONE, 0);
    for (int on = 0; on < 2; on++) {
        bool was = ht_set_grad_enabled(on);

        atomic_store(&with_gradients, 0);
        ht_forward(wrapped, input(8, 0));
        ht_set_grad_enabled(was);
        assert_int_equal(atomic_load(&with_gradients), on ? 4 : 0);
    }
    ht_release(wrapped);
    ht_release(net);
    ht_scope_close(scope);
}

static void keep_line(ht_log_level level, const char *line, void *last)
{
    (void)level;
    snprintf(last, 256, "%s", line);
}

static void expect_warning(const int devices[], const char *text)
{
    char last[256] = "";
    ht_module *relu = ht_nn_relu(), *wrapped;

    ht_log_set_sink(keep_line, last);
    wrapped = ht_nn_device_parallel(relu, devices, 2, HT_NONE, 0);
    ht_log_set_sink(NULL, NULL);
    if (ht_test_rank == 0)
        assert_non_null(strstr(last, text));
    ht_release(wrapped);
    ht_release(relu);
}

static void unequal_devices_are_warned_of(void **state)
{
    static const int less_memory[] = {0, 2};
    ht_device *device = ht_get_device();

    (void)state;
    ht_use_device(ht_device_get("dummy:0"));
    expect_warning(ids, "the devices are not balanced: 74 to 100 cores");
    expect_warning(less_memory, "the devices are not balanced: memory from 749 to 1000 bytes");
    ht_use_device(device);
}

HT_TEST_SUITE(test_device_parallel_parts, cmocka_unit_test(a_pass_inside_a_part_waits_for_no_rank),
              cmocka_unit_test(ranks_that_wait_are_told),
              cmocka_unit_test(the_first_error_is_raised_when_all_have_ended),
              cmocka_unit_test(a_synchronised_batch_norm_inside_is_refused),
              cmocka_unit_test(a_data_parallel_wrapper_inside_is_refused),
              cmocka_unit_test(a_module_that_cannot_be_copied_is_refused),
              cmocka_unit_test(a_parameter_on_another_device_is_named),
              cmocka_unit_test(a_buffer_on_another_device_is_named),
              cmocka_unit_test(the_output_goes_to_the_first_device_the_host_or_another),
              cmocka_unit_test(parts_have_the_callers_grad_mode),
              cmocka_unit_test(unequal_devices_are_warned_of));
