/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* The table of a tree: shapes, parameters and operations of each layer. */
#include <stdio.h>
#include <stdlib.h>

#include "nn/nn_test.h"

/* The table as text, for the program to free; NULL after an error. */
static char *summary(ht_module *module, ht_value *inputs)
{
    char *text = NULL;
    size_t length;
    FILE *memory = open_memstream(&text, &length);
    ht_status status = ht_module_summary_ext(module, inputs, memory);

    fclose(memory);
    if (status == HT_SUCCESS)
        return text;
    assert_int_equal(length, 0);
    free(text);
    return NULL;
}

static void assert_summary(ht_module *module, ht_tensor *x, const char *expected)
{
    char *text = summary(module, ht_value_tensor(x));

    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
    ht_release(module);
}

static ht_tensor *zeros(int ndim, const int64_t shape[])
{
    return ht_zeros(ndim, shape, HT_FLOAT32, HT_LOCAL);
}

static void a_table_has_all_layers(void **state)
{
    (void)state;
    assert_summary(
        ht_nn_sequential(HT_LIST(ht_module *, ht_nn_conv2d(1, 4, 3), ht_nn_batch_norm2d(4, NULL),
                                 ht_nn_flatten(1), ht_nn_linear(16, 10))),
        zeros(HT_SHAPE(2, 1, 4, 4)),
        "path    type         output        parameters  FLOPs\n"
        "(root)  Sequential   (2, 10)                0      0\n"
        "0       Conv2d       (2, 4, 2, 2)          40    576\n"
        "1       BatchNorm2d  (2, 4, 2, 2)           8      0\n"
        "2       Flatten      (2, 16)                0      0\n"
        "3       Linear       (2, 10)              170    640\n"
        "total                                     218   1216\n");
}

/* A layer that runs twice, one that is shared, and one that does not run. */
static ht_tensor *twice(ht_module *self, ht_tensor *x)
{
    ht_module *layer = ht_module_child(self, 0, NULL);

    return ht_forward(layer, ht_forward(layer, x));
}

static const ht_module_type twice_type = {.name = "Twice", .forward = twice};

static void runs_are_added_and_idle_layers_listed(void **state)
{
    ht_module *net = ht_module_new(0, &twice_type);

    (void)state;
    ht_module_add(net, "used", NULL, ht_nn_linear_ext(3, 3, false));
    ht_module_add(net, "idle", NULL, ht_nn_linear_ext(3, 2, false));
    assert_summary(net, zeros(HT_SHAPE(5, 3)),
                   "path    type    output  parameters  FLOPs\n"
                   "(root)  Twice   (5, 3)           0      0\n"
                   "used    Linear  (5, 3)           9    180\n"
                   "idle    Linear  -                6      0\n"
                   "total                           15    180\n");
}

static void transposed_and_recurrent_layers_count_their_input(void **state)
{
    ht_conv_options two = ht_conv_options_default();

    (void)state;
    two.groups = 2;
    assert_summary(ht_nn_conv_transpose1d(4, 2, 3, &two, false), zeros(HT_SHAPE(2, 4, 5)),
                   "path    type             output     parameters  FLOPs\n"
                   "(root)  ConvTranspose1d  (2, 2, 7)          12    240\n"
                   "total                                       12    240\n");
    assert_summary(ht_nn_lstm(3, 2), zeros(HT_SHAPE(4, 5, 3)),
                   "path    type  output     parameters  FLOPs\n"
                   "(root)  LSTM  (4, 5, 2)          56   1600\n"
                   "total                            56   1600\n");
}

/* Modes, buffers and hooks are as before; a wrapper has the table of what it wraps. */
static void a_summary_changes_nothing(void **state)
{
    ht_module *net = ht_nn_sequential(
        HT_LIST(ht_module *, ht_nn_linear(3, 2), ht_nn_batch_norm1d(2, NULL)));
    ht_module *wrapper = ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, true);
    FILE *file = tmpfile();

    (void)state;
    ht_module_eval(ht_module_find(net, "0"));
    assert_int_equal(ht_module_summary(wrapper, HT_SHAPE(4, 3), file), HT_SUCCESS);
    assert_true(ftell(file) > 100);
    fclose(file);
    assert_true(ht_module_is_training(net) && ht_module_is_training(ht_module_find(net, "1")));
    assert_false(ht_module_is_training(ht_module_find(net, "0")));
    assert_true(ht_item(ht_module_find_buffer(net, "1.num_batches_tracked")) == 0);
    assert_null(ht_tensor_grad(ht_module_find_parameter(net, "0.weight")));
    ht_release(wrapper);
    ht_release(net);
}

static void wrong_inputs_are_refused(void **state)
{
    ht_module *linear = ht_nn_linear(3, 2);

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    assert_null(summary(linear, ht_value_tensor(zeros(HT_SHAPE(2, 4)))));
    assert_int_equal(ht_error_get(NULL), HT_ERR_SHAPE);
    ht_error_clear();
    assert_true(ht_module_is_training(linear));
    assert_null(summary(linear, NULL));
    nn_assert_error("ht_module_summary_ext: inputs is NULL");
    assert_int_equal(ht_module_summary(NULL, HT_SHAPE(2), stdout), HT_ERR_ARGUMENT);
    nn_assert_error("ht_module_summary: module is NULL");
    assert_int_equal(ht_module_summary(linear, HT_SHAPE(2, 3), NULL), HT_ERR_ARGUMENT);
    nn_assert_error("ht_module_summary: stream is NULL");
    assert_int_equal(ht_module_summary(linear, 2, NULL, stdout), HT_ERR_ARGUMENT);
    nn_assert_error("ht_module_summary: ndim is 2, expected 0 to 8 and a shape");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(linear);
}

HT_TEST_SUITE(test_module_summary, cmocka_unit_test(a_table_has_all_layers),
              cmocka_unit_test(runs_are_added_and_idle_layers_listed),
              cmocka_unit_test(transposed_and_recurrent_layers_count_their_input),
              cmocka_unit_test(a_summary_changes_nothing),
              cmocka_unit_test(wrong_inputs_are_refused));
