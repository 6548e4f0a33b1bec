/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* NULL instead of a tensor, or of an argument that goes with it, is an error of the function that
 * the program called. If an earlier error made it NULL, that error stays. */
#include <stdio.h>

#include "ht_test.h"
#include "tensor_check.h"

#include "core/tensor/tensor.h"

static const int64_t two[2] = {2, 2};

#define IS_NULL(call, text) HT_TEST_EXPECT_ERROR(call, HT_ERR_ARGUMENT, text)

static void a_shape_without_elements_has_bounds_too(void **state)
{
    (void)state;
    HT_TEST_EXPECT_ERROR(ht_ones(HT_SHAPE(0, (int64_t)1 << 62), HT_FLOAT32, 0), HT_ERR_SHAPE,
                         "has 2^59 elements or more along the axes that are not empty");
}

/* More elements than a process can address: all ranks get the error, and the job continues. */
static void sizes_without_memory_are_an_error_of_all_ranks(void **state)
{
    const int64_t many = (int64_t)1 << 51;
    ht_tensor *x = ht_ones(HT_SHAPE(6), HT_FLOAT32, 0), *counts, *edges;
    ht_tensor *images = ht_ones(HT_SHAPE(1024, 512, 2), HT_FLOAT32, 0);
    ht_upsample_options options = ht_upsample_options_default();

    (void)state;
    options.length[0] = INT32_MAX;
#define NO_MEMORY(call, text) HT_TEST_EXPECT_ERROR(call, HT_ERR_MEMORY, text)
    NO_MEMORY(ht_zeros(HT_SHAPE(many), HT_FLOAT32, 0),
              "ht_zeros: out of memory: float32 of shape (2251799813685248,) has more than 2^48");
    NO_MEMORY(ht_zeros(HT_SHAPE(many), HT_FLOAT32, HT_NONE), "ht_zeros: out of memory: ");
    NO_MEMORY(ht_zeros(HT_SHAPE(1, many / 32), HT_FLOAT64, 0), "ht_zeros: out of memory: ");
    NO_MEMORY(ht_linspace(0, 1, many, HT_FLOAT32, 0), "ht_linspace: out of memory: ");
    NO_MEMORY(ht_eye(many, 1, HT_FLOAT32, 0), "ht_eye: out of memory: ");
    NO_MEMORY(ht_randperm(many, HT_INT64, 0), "ht_randperm: out of memory: ");
    NO_MEMORY(ht_pad(x, HT_SHAPE(0, many), HT_NUM(0)), "ht_pad: out of memory: ");
    NO_MEMORY(ht_bincount(ht_astype(x, HT_INT64), NULL, many), "ht_bincount: out of memory: ");
    NO_MEMORY(ht_histogram(x, many, 0, 2, &counts, &edges), "ht_histogram: out of memory: ");
    NO_MEMORY(ht_upsample(images, &options), "ht_upsample: out of memory: ");
}

/* Slabs of their own, of which rank 0 has all. */
static void a_slab_without_memory_is_an_error_of_all_ranks(void **state)
{
    const int64_t shape[] = {2, (int64_t)1 << 45};
    ht_bounds *bounds = ht__bounds_new(ht_test_size);

    (void)state;
    bounds->start[0] = 0;
    for (int r = 1; r <= ht_test_size; r++)
        bounds->start[r] = 2;
    HT_TEST_EXPECT_ERROR(
        ht__body_new("test", HT_COMM_WORLD, ht_get_device(), HT_FLOAT64, 2, shape, 0, bounds),
        HT_ERR_MEMORY, "test: out of memory: float64 of shape (2, 35184372088832)");
    ht_release(bounds);
}

static void the_order_of_numbers_is_asked_for(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(3), HT_COMPLEX64, 0);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_max(x, 0), HT_ERR_DTYPE,
                         "ht_max: x is complex64, expected bool, an integer or a floating dtype");
    HT_TEST_EXPECT_ERROR(ht_argmin_ext(x, NULL), HT_ERR_DTYPE, "ht_argmin_ext: x is complex64");
}

static void operations_name_an_operand_that_is_null(void **state)
{
    ht_tensor *x = ht_ones(2, two, HT_FLOAT32, HT_NONE);

    (void)state;
    IS_NULL(ht_add(NULL, x), "ht_add: a is NULL");
    IS_NULL(ht_sub(x, NULL), "ht_sub: b is NULL");
    IS_NULL(ht_mul(NULL, x), "ht_mul: a is NULL");
    IS_NULL(ht_div(x, NULL), "ht_div: b is NULL");
    IS_NULL(ht_add_scalar(NULL, 1), "ht_add_scalar: a is NULL");
    IS_NULL(ht_neg(NULL), "ht_neg: x is NULL");
    IS_NULL(ht_add_(NULL, x, 1), "ht_add_: a is NULL");
    IS_NULL(ht_add_(x, NULL, 1), "ht_add_: b is NULL");
    IS_NULL(ht_mul_scalar_(NULL, 1), "ht_mul_scalar_: a is NULL");
    IS_NULL(ht_sum(NULL, 0), "ht_sum: x is NULL");
    IS_NULL(ht_sum_ext(NULL, NULL), "ht_sum_ext: x is NULL");
    IS_NULL(ht_cumsum(NULL, 0), "ht_cumsum: x is NULL");
    IS_NULL(ht_exp(NULL), "ht_exp: x is NULL");
    IS_NULL(ht_log(NULL), "ht_log: x is NULL");
    IS_NULL(ht_sqrt(NULL), "ht_sqrt: x is NULL");
    IS_NULL(ht_tanh(NULL), "ht_tanh: x is NULL");
    IS_NULL(ht_matmul(NULL, x), "ht_matmul: a is NULL");
    IS_NULL(ht_matmul(x, NULL), "ht_matmul: b is NULL");
    IS_NULL(ht_eq(NULL, x), "ht_eq: a is NULL");
    IS_NULL(ht_equal(x, NULL, &(bool){false}), "ht_equal: b is NULL");
    IS_NULL(ht_equal(x, x, NULL), "ht_equal: equal is NULL");
    IS_NULL(ht_mean(NULL, 0), "ht_mean: x is NULL");
    IS_NULL(ht_var(NULL, 0), "ht_var: x is NULL");
    IS_NULL(ht_std(NULL, 0), "ht_std: x is NULL");
    IS_NULL(ht_max(NULL, 0), "ht_max: x is NULL");
    IS_NULL(ht_min(NULL, 0), "ht_min: x is NULL");
    IS_NULL(ht_maximum(NULL, x), "ht_maximum: a is NULL");
    IS_NULL(ht_minimum(x, NULL), "ht_minimum: b is NULL");
    IS_NULL(ht_argmax(NULL, 0), "ht_argmax: x is NULL");
    IS_NULL(ht_argmin(NULL, 0), "ht_argmin: x is NULL");
}

static void views_and_moves_name_the_null_operand(void **state)
{
    ht_tensor *x = ht_ones(2, two, HT_FLOAT32, HT_NONE);

    (void)state;
    IS_NULL(ht_reshape(NULL, 2, two), "ht_reshape: x is NULL");
    IS_NULL(ht_reshape(x, 2, NULL), "ht_reshape: shape is NULL");
    IS_NULL(ht_flatten(NULL, 0), "ht_flatten: x is NULL");
    IS_NULL(ht_permute(NULL, 0, NULL), "ht_permute: x is NULL");
    IS_NULL(ht_transpose(NULL, 0, 1), "ht_transpose: x is NULL");
    IS_NULL(ht_expand_dims(NULL, 0), "ht_expand_dims: x is NULL");
    IS_NULL(ht_squeeze(NULL, 0), "ht_squeeze: x is NULL");
    IS_NULL(ht_narrow(NULL, 0, 0, 1), "ht_narrow: x is NULL");
    IS_NULL(ht_broadcast_to(NULL, 2, two), "ht_broadcast_to: x is NULL");
    IS_NULL(ht_broadcast_to(x, 2, NULL), "ht_broadcast_to: ndim is 2, expected 0 to 8 and a shape");
    IS_NULL(ht_concatenate(HT_LIST(ht_tensor *, x, NULL), 0), "ht_concatenate: xs[1] is NULL");
    IS_NULL(ht_concatenate(2, NULL, 0), "ht_concatenate: xs is NULL");
    IS_NULL(ht_resplit(NULL, 0), "ht_resplit: x is NULL");
    IS_NULL(ht_resplit_(NULL, 0), "ht_resplit_: x is NULL");
    IS_NULL(ht_balance(NULL), "ht_balance: x is NULL");
    IS_NULL(ht_astype(NULL, HT_FLOAT32), "ht_astype: x is NULL");
    IS_NULL(ht_copy(NULL), "ht_copy: x is NULL");
    IS_NULL(ht_contiguous(NULL), "ht_contiguous: x is NULL");
    IS_NULL(ht_channels_last(NULL), "ht_channels_last: x is NULL");
    IS_NULL(ht_to_device(NULL, ht_get_device()), "ht_to_device: x is NULL");
    IS_NULL(ht_to_device(x, NULL), "ht_to_device: device is NULL");
    IS_NULL(ht_copy_(NULL, x), "ht_copy_: x is NULL");
    IS_NULL(ht_copy_(x, NULL), "ht_copy_: y is NULL");
    IS_NULL(ht_fill_(NULL, 0), "ht_fill_: x is NULL");
    IS_NULL(ht_tensor_set_(NULL, x), "ht_tensor_set_: x is NULL");
    IS_NULL(ht_tensor_set_(x, NULL), "ht_tensor_set_: y is NULL");
    IS_NULL(ht_tensor_local(NULL), "ht_tensor_local: x is NULL");
    IS_NULL(ht_tensor_item(NULL, &(double){0}), "ht_tensor_item: x is NULL");
    IS_NULL(ht_tensor_item(x, NULL), "ht_tensor_item: value is NULL");
    IS_NULL(ht_tensor_str(NULL), "ht_tensor_str: x is NULL");
    IS_NULL(ht_print(NULL, stdout), "ht_print: x is NULL");
}

static void factories_and_draws_name_the_null_operand(void **state)
{
    ht_device *cpu = ht_get_device();

    (void)state;
    IS_NULL(ht_empty_like(NULL), "ht_empty_like: x is NULL");
    IS_NULL(ht_zeros_like(NULL), "ht_zeros_like: x is NULL");
    IS_NULL(ht_ones_like(NULL), "ht_ones_like: x is NULL");
    IS_NULL(ht_full_like(NULL, 1), "ht_full_like: x is NULL");
    IS_NULL(ht_empty_ext(2, two, HT_FLOAT32, HT_NONE, NULL, HT_COMM_WORLD), "device is NULL");
    IS_NULL(ht_empty_ext(2, two, HT_FLOAT32, HT_NONE, cpu, NULL), "comm is NULL");
    IS_NULL(ht_zeros(2, NULL, HT_FLOAT32, HT_NONE),
            "ht_zeros: ndim is 2, expected 0 to 8 and a shape");
    for (int split = -1; split < 1; split++)
        IS_NULL(ht_array(NULL, 2, two, HT_FLOAT32, split < 0 ? HT_NONE : split),
                "ht_array: data is NULL");
    IS_NULL(ht_array(NULL, 2, two, HT_FLOAT32, HT_LOCAL), "ht_array: data is NULL");
    IS_NULL(ht_uniform_(NULL, 0, 1), "ht_uniform_: x is NULL");
    IS_NULL(ht_normal_(NULL, 0, 1), "ht_normal_: x is NULL");
}

static void autograd_names_the_null_operand(void **state)
{
    ht_tensor *x = ht_ones(2, two, HT_FLOAT32, HT_NONE);

    (void)state;
    ht_tensor_set_requires_grad(x, true);
    IS_NULL(ht_tensor_set_requires_grad(NULL, true), "ht_tensor_set_requires_grad: x is NULL");
    IS_NULL(ht_tensor_set_grad(NULL, NULL), "ht_tensor_set_grad: x is NULL");
    IS_NULL(ht_backward(NULL), "ht_backward: loss is NULL");
    IS_NULL(ht_backward_ext(NULL, NULL, false), "ht_backward_ext: x is NULL");
    IS_NULL(ht_detach(NULL), "ht_detach: x is NULL");
    IS_NULL(ht_tensor_register_hook(NULL, NULL, NULL), "ht_tensor_register_hook: x is NULL");
    IS_NULL(ht_tensor_register_hook(x, NULL, NULL), "ht_tensor_register_hook: hook is NULL");
    IS_NULL(ht_tensor_register_grad_ready_hook(NULL, NULL, NULL),
            "ht_tensor_register_grad_ready_hook: x is NULL");
    IS_NULL(ht_tensor_remove_hook(NULL, 1), "ht_tensor_remove_hook: x is NULL");
}

static void layers_name_the_null_operand(void **state)
{
    ht_tensor *x = ht_ones(2, two, HT_FLOAT32, HT_NONE);

    (void)state;
    IS_NULL(ht_relu(NULL), "ht_relu: x is NULL");
    IS_NULL(ht_relu_(NULL), "ht_relu_: x is NULL");
    IS_NULL(ht_leaky_relu(NULL, 0.01), "ht_leaky_relu: x is NULL");
    IS_NULL(ht_linear(NULL, x, NULL), "ht_linear: x is NULL");
    IS_NULL(ht_linear(x, NULL, NULL), "ht_linear: weight is NULL");
    IS_NULL(ht_conv2d(NULL, x, NULL, NULL), "ht_conv2d: x is NULL");
    IS_NULL(ht_max_pool2d(NULL, 2), "ht_max_pool2d: x is NULL");
    IS_NULL(ht_max_pool2d_ext(x, two, two, NULL, two), "ht_max_pool2d_ext: padding is NULL");
    IS_NULL(ht_dropout(NULL, 0.5, 0, 0), "ht_dropout: x is NULL");
    IS_NULL(ht_dropout2d(NULL, 0.5, 0, 0), "ht_dropout2d: x is NULL");
    IS_NULL(ht_batch_norm(NULL, NULL, NULL, NULL, NULL, true, 0.1, 1e-5),
            "ht_batch_norm: x is NULL");
    IS_NULL(ht_log_softmax(NULL, 1), "ht_log_softmax: x is NULL");
    IS_NULL(ht_nll_loss(NULL, x, HT_MEAN), "ht_nll_loss: log_probs is NULL");
    IS_NULL(ht_nll_loss(x, NULL, HT_MEAN), "ht_nll_loss: target is NULL");
    IS_NULL(ht_mse_loss(NULL, x, HT_MEAN), "ht_mse_loss: x is NULL");
    IS_NULL(ht_mse_loss(x, NULL, HT_MEAN), "ht_mse_loss: target is NULL");
    IS_NULL(ht_cross_entropy(NULL, x, HT_MEAN), "ht_cross_entropy: logits is NULL");
}

static void an_earlier_error_passes_through(void **state)
{
    (void)state;
    HT_TEST_EXPECT_ERROR(ht_zeros_like(ht_contiguous(ht_copy(ht_flatten(NULL, 0)))),
                         HT_ERR_ARGUMENT, "ht_flatten: x is NULL");
}

HT_TEST_SUITE(test_check, cmocka_unit_test(a_shape_without_elements_has_bounds_too),
              cmocka_unit_test(sizes_without_memory_are_an_error_of_all_ranks),
              cmocka_unit_test(a_slab_without_memory_is_an_error_of_all_ranks),
              cmocka_unit_test(the_order_of_numbers_is_asked_for),
              cmocka_unit_test(operations_name_an_operand_that_is_null),
              cmocka_unit_test(views_and_moves_name_the_null_operand),
              cmocka_unit_test(factories_and_draws_name_the_null_operand),
              cmocka_unit_test(autograd_names_the_null_operand),
              cmocka_unit_test(layers_name_the_null_operand),
              cmocka_unit_test(an_earlier_error_passes_through));
