/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* A message begins with the function that the program has called, and names its argument, also
 * where another function of the library finds the error. */
#include "ht_test.h"
#include "tensor_check.h"

#define KIND_9 ((ht_number){.kind = (ht_number_kind)9})
#define LONG   (INT64_C(1) << 62)

/* A matrix (4, 4), a line (4), a line (3), integers (4), a leaf (4), results. */
#define CALLS(X)                                                                                   \
    X(ht_load("none.npy", NULL, HT_FLOAT32, 0), IO, "ht_load: cannot open none.npy")               \
    X(ht_load("none.h5", "x", HT_FLOAT32, 0), IO, "ht_load: ")                                     \
    X(ht_save(x, "/none/x.npy", NULL), IO, "ht_save: cannot write /none/x.npy")                    \
    X(ht_load_csv_from_folder(NULL, 0, ',', HT_FLOAT32, 0), ARGUMENT, "path is NULL")              \
    X(ht_load_multiple_hdf5(NULL, "x", HT_FLOAT32), ARGUMENT, "folder is NULL")                    \
    X(ht_tensor_set_requires_grad(n, true), DTYPE,                                                 \
      "ht_tensor_set_requires_grad: x is int64, expected a floating or complex dtype")             \
    X(ht_tensor_set_grad(x, a), SHAPE, "ht_tensor_set_grad: grad is float32 (4, 4)")               \
    X(ht_backward_ext(leaf, ht_ones_like(n), false), SHAPE, "ht_backward_ext: grad is int64 (4,)") \
    X(ht_gradcheck(ignore, 1, &leaf, NULL, NULL), STATE, "ht_gradcheck: the loss does not depend") \
    X(ht_add_scalar_ext(x, KIND_9), ARGUMENT, "ht_add_scalar_ext: b is of kind 9")                 \
    X(ht_mul_scalar_ext_(x, KIND_9), ARGUMENT, "ht_mul_scalar_ext_: b is of kind 9")               \
    X(ht_add_ext_(x, x, KIND_9), ARGUMENT, "ht_add_ext_: alpha is of kind 9")                      \
    X(ht_atan2(x, three), SHAPE, "ht_atan2: y is (4,), x is (3,)")                                 \
    X(ht_atan2_(x, NULL), ARGUMENT, "ht_atan2_: x is NULL")                                        \
    X(ht_add_(leaf, x, 1), STATE, "ht_add_: a is a leaf that requires gradients")                  \
    X(ht_mul_(leaf, x), STATE, "ht_mul_: a is a leaf that requires gradients")                     \
    X(ht_div_(n, x), DTYPE, "ht_div_: the result is float32, which a of int64 cannot hold")        \
    X(ht_linspace(0, 1, -2, HT_FLOAT32, 0), SHAPE, "ht_linspace: count is -2, expected at least")  \
    X(ht_logspace(0, 1, -2, 10, HT_FLOAT32, 0), SHAPE, "ht_logspace: count is -2, expected at")    \
    X(ht_logspace(0, 1, 3, 10, (ht_dtype)99, 0), ARGUMENT, "ht_logspace: dtype is 99, expected")   \
    X(ht_randperm(-2, HT_INT64, 0), SHAPE, "ht_randperm: n is -2, expected at least 0")            \
    X(ht_eye(3, -2, HT_FLOAT32, 0), SHAPE, "ht_eye: columns is -2, expected at least 0")           \
    X(ht_eye(LONG, 0, HT_FLOAT32, 0), SHAPE, "ht_eye: rows is 4611686018427387904, expected less") \
    X(ht_linspace(0, 1, LONG, HT_FLOAT32, 0), SHAPE, "ht_linspace: count is 46116860184273879")    \
    X(ht_randperm(LONG, HT_INT64, 0), SHAPE, "ht_randperm: n is 4611686018427387904, expected")    \
    X(ht_fftfreq(LONG, 1, 0), SHAPE, "ht_fftfreq: n is 4611686018427387904, expected less than")   \
    X(ht_rfftfreq(INT64_MAX, 1, 0), SHAPE, "ht_rfftfreq: n is 9223372036854775807, expected less") \
    X(ht_fftfreq(4, 0, 0), ARGUMENT, "ht_fftfreq: d is 0, expected another number")                \
    X(ht_arange(0, 4, 0, HT_FLOAT32, 0), ARGUMENT, "ht_arange: step is 0, expected another")       \
    X(ht_arange(0.5, 1e18, 0.5, HT_FLOAT32, 0), ARGUMENT,                                          \
      "ht_arange: start is 0.5, stop is 1e+18 and step is 0.5, expected fewer than 2^59 elements") \
    X(ht_arange_ext(HT_NUM(0), KIND_9, HT_NUM(1), HT_INT64, 0, ht_get_device(), HT_COMM_WORLD),    \
      ARGUMENT, "ht_arange_ext: stop is of kind 9")                                                \
    X(ht_arange_ext(HT_NUM(0), HT_NUM(4), HT_COMPLEX(1, 1), HT_INT64, 0, ht_get_device(),          \
                    HT_COMM_WORLD),                                                                \
      ARGUMENT, "ht_arange_ext: step is complex, expected a real number")                          \
    X(ht_add_(cut, tracked, 1), STATE, "ht_add_: a is a view without history")                     \
    X(ht_mul_(cut, tracked), STATE, "ht_mul_: a is a view without history")                        \
    X(ht_atan2_(cut, tracked), STATE, "ht_atan2_: y is a view without history")                    \
    X(ht_copy_(cut, tracked), STATE, "ht_copy_: x is a view without history")                      \
    X(ht_transpose(a, 0, 2), ARGUMENT, "ht_transpose: axis1 2 is outside x of shape (4, 4)")       \
    X(ht_trace(a, 0, 3, 1), ARGUMENT, "ht_trace: axis0 3 is outside x of shape (4, 4)")            \
    X(ht_flatten(a, 2), ARGUMENT, "ht_flatten: start_axis 2 is outside x of shape (4, 4)")         \
    X(ht_moveaxis(a, HT_AXES(0), HT_AXES(2)), ARGUMENT, "ht_moveaxis: to 2 is outside x")          \
    X(ht_concatenate(1, &x, 1), ARGUMENT, "ht_concatenate: axis 1 is outside xs[0] of shape (4,)") \
    X(ht_cross_ext(three, three, 0, 1, 0), ARGUMENT, "ht_cross_ext: axis_b 1 is outside b of ")    \
    X(ht_vecdot(a, a, 2, false), ARGUMENT, "ht_vecdot: axis 2 is outside a * b of shape (4, 4)")   \
    X(ht_vecdot(ht_scalar(1), ht_scalar(1), HT_NONE, false), ARGUMENT,                             \
      "ht_vecdot: axis HT_NONE is ")                                                               \
    X(ht_getitem(a, HT_KEY((ht_tensor *)NULL)), ARGUMENT, "ht_getitem: key[0].tensor is NULL")     \
    X(ht_recv(HT_COMM_WORLD, x, -1, 0), ARGUMENT, "ht_recv: source is -1, expected a rank of a ")  \
    X(ht_matrix_norm(a, HT_NORM_DEFAULT, 0, 2, false), ARGUMENT,                                   \
      "ht_matrix_norm: axis1 2 is outside x of shape (4, 4)")                                      \
    X(ht_normal_(n, 0, 1), DTYPE, "ht_normal_: x is int64, expected a floating dtype")             \
    X(ht_normal_ext(far, far, HT_SHAPE(4), HT_FLOAT32, 0, ht_get_device(), HT_COMM_WORLD), DEVICE, \
      "ht_normal_ext: mean is on cpu:3, expected ")                                                \
    X(ht_fft(x, LONG, 0, HT_FFT_BACKWARD), SHAPE, "ht_fft: n is 4611686018427387904 along axis 0") \
    X(ht_fft2_ext(a, HT_SHAPE(0, 4), 0, NULL, HT_FFT_BACKWARD), ARGUMENT,                          \
      "ht_fft2_ext: s is 0 al")                                                                    \
    X(ht_rsvd(x, 1, &y, &y, &y), SHAPE, "ht_rsvd: x is (4,), expected")                            \
    X(ht_reigh(x, 1, &y, &y), SHAPE, "ht_reigh: a is (4,), expected")                              \
    X(ht_hsvd_rank(a, -1, &y, &y, &y, NULL), ARGUMENT, "ht_hsvd_rank: rank is -1, expected at")    \
    X(ht_allreduce(HT_COMM_WORLD, x, x, (ht_reduce_op)99), ARGUMENT,                               \
      "ht_allreduce: op is 99, expected an ht_reduce_op")                                          \
    X(ht_value_append(ht_value_map(), ht_value_number(1)), ARGUMENT,                               \
      "ht_value_append: list is a map, expected a list")                                           \
    X(ht_value_set(ht_value_list(), "a", ht_value_number(1)), ARGUMENT,                            \
      "ht_value_set: map is a list, expected a map (key 'a')")                                     \
    X(ht_value_tensors(2, (ht_tensor *[]){x, NULL}), ARGUMENT, "ht_value_tensors: tensors[1] is")  \
    X(ht_max_ext(b, &initial), DTYPE, "ht_max_ext: options.initial is 1000000, of a higher")

static ht_tensor *ignore(ht_tensor *inputs[], void *user)
{
    (void)inputs;
    (void)user;
    return ht_ones(0, NULL, HT_FLOAT64, HT_NONE);
}

static void functions_name_themselves_and_their_arguments(void **state)
{
    ht_tensor *a = ht_eye(4, 4, HT_FLOAT32, 0), *x = ht_ones(HT_SHAPE(4), HT_FLOAT32, 0), *y = NULL;
    ht_tensor *three = ht_ones(HT_SHAPE(3), HT_FLOAT32, HT_NONE);
    ht_tensor *n = ht_ones(HT_SHAPE(4), HT_INT64, 0), *b = ht_astype(n, HT_BOOL);
    ht_tensor *leaf = ht_ones(HT_SHAPE(4), HT_FLOAT64, 0);
    ht_tensor *far = ht_ones_ext(HT_SHAPE(4), HT_FLOAT32, 0, ht_device_get("cpu:3"), HT_COMM_WORLD);
    ht_tensor *tracked, *cut;
    const ht_number million = ht_number_integer(1000000);
    ht_reduce_options initial = ht_reduce_options_default();

    (void)state;
    initial.initial = &million;
    ht_tensor_set_requires_grad(leaf, true);
    tracked = ht_exp(leaf);
    cut = ht_detach(ht_exp(x));
#define REFUSED(call, code, text) HT_TEST_EXPECT_ERROR(call, HT_ERR_##code, text);
    CALLS(REFUSED)
    assert_null(y);
}

HT_TEST_SUITE(test_called_names, cmocka_unit_test(functions_name_themselves_and_their_arguments));
