/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Errors of calls without an operand to take a communicator from, such as NULL: they follow the
 * communicator in use. So a program that returns errors on HT_COMM_WORLD is not ended by them. The
 * communicator of a result follows its operand. */
#include <stdio.h>
#include <string.h>

#include "ht_test.h"
#include "tensor_check.h"

/* The operands are a matrix `a`, a line `x` and a place `y`; a row has the call and its message. */
#define PLACES_OF_RESULTS(X)                                                             \
    X(ht_topk(x, 1, 0, true, NULL, &y), "ht_topk: values is NULL")                       \
    X(ht_sort(x, 0, false, NULL, &y), "ht_sort: values is NULL")                         \
    X(ht_unique(x, NULL, &y, &y), "ht_unique: values is NULL")                           \
    X(ht_histogram(x, 3, 0, 1, NULL, &y), "ht_histogram: counts is NULL")                \
    X(ht_svd(a, &y, NULL, &y), "ht_svd: s is NULL")                                      \
    X(ht_qr(a, &y, NULL), "ht_qr: r is NULL")                                            \
    X(ht_lu(a, &y, NULL, &y), "ht_lu: l is NULL")                                        \
    X(ht_eigh(a, NULL, &y), "ht_eigh: w is NULL")                                        \
    X(ht_slogdet(a, NULL, &y), "ht_slogdet: sign is NULL")                               \
    X(ht_condest(a, NULL), "ht_condest: condition is NULL")                              \
    X(ht_divmod(x, x, NULL, &y), "ht_divmod: quotient is NULL")                          \
    X(ht_divmod(x, x, &y, NULL), "ht_divmod: rest is NULL")                              \
    X(ht_modf(x, &y, NULL), "ht_modf: whole is NULL")                                    \
    X(ht_equal(x, x, NULL), "ht_equal: equal is NULL")                                   \
    X(ht_allclose(x, x, 0, 0, false, NULL), "ht_allclose: close is NULL")                \
    X(ht_split(x, 1, 0, NULL), "ht_split: parts is NULL")                                \
    X(ht_split_at(x, 1, (int64_t[]){1}, 0, NULL), "ht_split_at: parts is NULL")          \
    X(ht_broadcast_arrays(1, &x, NULL), "ht_broadcast_arrays: broadcast is NULL")        \
    X(ht_meshgrid(1, &x, false, NULL), "ht_meshgrid: grids is NULL")                     \
    X(ht_average_ext(x, 0, NULL, NULL, &y), "ht_average_ext: average is NULL")           \
    X(ht_tensor_item(ht_sum(x, 0), NULL), "ht_tensor_item: value is NULL")               \
    X(ht_tensor_counts_displs(x, NULL, NULL), "ht_tensor_counts_displs: counts is NULL") \
    X(ht_tensor_lshape_map(x, NULL), "ht_tensor_lshape_map: map is NULL")                \
    X(ht_print(x, NULL), "ht_print: stream is NULL")                                     \
    X(ht_flip(x, 2, NULL), "ht_flip: axes is NULL and count is 2, expected a list or 0") \
    X(ht_flip(x, -1, NULL), "ht_flip: count is -1, expected at least 0")                 \
    X(ht_permute(x, 1, NULL), "ht_permute: axes is NULL and count is 1")                 \
    X(ht_fftshift(x, 1, NULL), "ht_fftshift: axes is NULL and count is 1")               \
    X(ht_ifftshift(x, -1, NULL), "ht_ifftshift: count is -1")                            \
    X(ht_fftn_ext(x, 1, NULL, 0, NULL, HT_FFT_BACKWARD), "ht_fftn_ext: s is NULL")       \
    X(ht_ifft2_ext(a, 0, NULL, 2, NULL, HT_FFT_BACKWARD), "ht_ifft2_ext: axes is NULL")  \
    X(ht_hfftn_ext(x, 0, NULL, -1, NULL, HT_FFT_BACKWARD), "axis_count is -1")

/* There is no operand at all. */
#define OPERANDS(X)                                                                          \
    X(ht_topk(NULL, 1, 0, true, &y, NULL), "ht_topk: x is NULL")                             \
    X(ht_sort(NULL, 0, false, &y, NULL), "ht_sort: x is NULL")                               \
    X(ht_svd(NULL, NULL, NULL, NULL), "ht_svd: x is NULL")                                   \
    X(ht_divmod(NULL, x, &y, &y), "ht_divmod: a is NULL")                                    \
    X(ht_modf(NULL, &y, &y), "ht_modf: x is NULL")                                           \
    X(ht_equal(x, NULL, NULL), "ht_equal: b is NULL")                                        \
    X(ht_split(NULL, 1, 0, &y), "ht_split: x is NULL")                                       \
    X(ht_tensor_item(NULL, NULL), "ht_tensor_item: x is NULL")                               \
    X(ht_array(NULL, HT_SHAPE(2), HT_FLOAT32, 0), "ht_array: data is NULL")                  \
    X(ht_array(NULL, HT_SHAPE(2), HT_FLOAT32, HT_LOCAL), "ht_array: data is NULL")           \
    X(ht_forward(NULL, x), "ht_forward: module is NULL")                                     \
    X(ht_forward_value(NULL, NULL), "ht_forward_value: module is NULL")                      \
    X(ht_print(NULL, stdout), "ht_print: x is NULL")                                         \
    X(ht_add(x, NULL), "ht_add: b is NULL")                                                  \
    X(ht_concatenate(1, NULL, 0), "ht_concatenate: xs is NULL")                              \
    X(ht_backward(NULL), "ht_backward: loss is NULL")                                        \
    X(ht_optimizer_step(NULL), "ht_optimizer_step: optimizer is NULL")                       \
    X(ht_optim_sgd(NULL, 0.1, NULL), "ht_optim_sgd: ")                                       \
    X(ht_module_parameters(NULL), "ht_module_parameters: module is NULL")                    \
    X(ht_metric_update(NULL, x, NULL), "ht_metric_update: metric is NULL")                   \
    X(ht_use_device(NULL), "ht_use_device: device is NULL")                                  \
    X(ht_dataloader_next(NULL, NULL), "ht_dataloader_next: loader is NULL")                  \
    X(ht_ones_ext(HT_SHAPE(2), HT_FLOAT32, 0, NULL, HT_COMM_WORLD), "device is NULL")        \
    X(ht_ones_ext(HT_SHAPE(2), HT_FLOAT32, 0, ht_get_device(), NULL), "comm is NULL")        \
    X(ht_comm_split(NULL, 0, 0), "ht_comm_split: comm is NULL")                              \
    X(ht_comm_rank(NULL), "ht_comm_rank: comm is NULL")                                      \
    X(ht_comm_size(NULL), "ht_comm_size: comm is NULL")                                      \
    X(ht_comm_mpi(NULL), "ht_comm_mpi: comm is NULL")                                        \
    X(ht_comm_chunk(NULL, 5, 0, NULL, NULL), "ht_comm_chunk: comm is NULL")                  \
    X(ht_wait_all(1, NULL), "ht_wait_all: requests is NULL")                                 \
    X(ht_set_printoptions(-1, 10, 3), "ht_set_printoptions: precision is -1")                \
    X(ht_comm_hook_power_sgd(NULL, 0, NULL), "ht_comm_hook_power_sgd: state is NULL")        \
    X(ht_dataloader_next(NULL, &(ht_batch){0}), "ht_dataloader_next: loader is NULL")        \
    X(ht_module_named_parameters(NULL, NULL, NULL), "ht_module_named_parameters: module is") \
    X(ht_module_named_buffers(NULL, NULL, NULL), "ht_module_named_buffers: module is")       \
    X(ht_nn_sequential(1, NULL), "ht_nn_sequential: modules is NULL")                        \
    X(ht_value_tensors(1, NULL), "ht_value_tensors: tensors is NULL")                        \
    X(ht_parse_losses(ht_value_map(), NULL, NULL), "ht_parse_losses: total is NULL")         \
    X(ht_optimizer_print(NULL, NULL), "ht_optimizer_print: stream is NULL")                  \
    X(ht_scalar_ext((ht_number){.kind = (ht_number_kind)9}),                                 \
      "ht_scalar_ext: value is of kind 9, expected an ht_number_kind")

/* It was returned, the same on every rank, and no result was set. */
static void expect(const char *text, const ht_tensor *y)
{
    char first[1024];
    const char *message;

    if (ht_error_get(&message) == HT_SUCCESS || strstr(message, text) == NULL)
        fail_msg("expected '%s', got '%s'", text, message);
    snprintf(first, sizeof first, "%s", message);
    MPI_Bcast(first, sizeof first, MPI_CHAR, 0, ht_comm_mpi(HT_COMM_WORLD));
    assert_string_equal(first, message);
    assert_null(y);
    ht_error_clear();
}

#define RETURNED(call, text) \
    (void)(call);            \
    expect(text, y);

static void errors_without_an_operand_follow_the_communicator_in_use(void **state)
{
    ht_tensor *a = ht_eye(4, 4, HT_FLOAT32, 0), *x = ht_ones(HT_SHAPE(4), HT_FLOAT32, 0), *y = NULL;

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN); /* HT_COMM_SELF aborts */
    OPERANDS(RETURNED)
    PLACES_OF_RESULTS(RETURNED)
    RETURNED(ht_show_config(HT_COMM_WORLD, NULL), "ht_show_config: file is NULL")
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
}

static void errors_without_an_operand_are_returned_where_those_of_the_process_are(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(4), HT_FLOAT32, 0), *y = NULL;

    (void)state;
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN); /* the world aborts */
    OPERANDS(RETURNED)
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
}

/* On a communicator that is not the one in use. */
static void the_place_of_a_result_follows_the_operand(void **state)
{
    ht_comm *other = ht_comm_from_mpi(ht_comm_mpi(HT_COMM_WORLD));
    ht_device *device = ht_get_device();
    ht_tensor *a = ht_eye_ext(4, 4, HT_FLOAT32, 0, device, other), *y = NULL;
    ht_tensor *x = ht_ones_ext(HT_SHAPE(4), HT_FLOAT32, 0, device, other);

    (void)state;
    ht_comm_set_errhandler(other, HT_ERRORS_RETURN);
    PLACES_OF_RESULTS(RETURNED)
    ht_release(other);
}

static void errors_follow_another_communicator_in_use(void **state)
{
    ht_comm *other = ht_comm_from_mpi(ht_comm_mpi(HT_COMM_WORLD));
    ht_tensor *x = ht_ones(HT_SHAPE(4), HT_FLOAT32, 0), *y = NULL;

    (void)state;
    ht_comm_set_errhandler(other, HT_ERRORS_RETURN);
    ht_use_comm(other);
    RETURNED(ht_add(x, NULL), "ht_add: b is NULL")
    ht_use_comm(HT_COMM_WORLD);
    ht_release(other);
}

HT_TEST_SUITE(
    test_raise, cmocka_unit_test(errors_without_an_operand_follow_the_communicator_in_use),
    cmocka_unit_test(errors_without_an_operand_are_returned_where_those_of_the_process_are),
    cmocka_unit_test(the_place_of_a_result_follows_the_operand),
    cmocka_unit_test(errors_follow_another_communicator_in_use));
