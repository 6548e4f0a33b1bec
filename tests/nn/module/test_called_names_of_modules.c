/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* A message begins with the function that the program has called, and names its argument, also
 * where another function of the library finds the error: of modules, losses and training. */
#include <math.h>

#include "ht.h"
#include "nn/nn_test.h"
#include "tensor_check.h"

#define LONG  (INT64_C(1) << 62)
#define NONE1 ((ht_module *[]){NULL})

/* A list and a module of it, tensors of int64 (2, 3) and float32 (2, 3) and (2, 4) and (). */
#define MODULES(X)                                                                                \
    X(ht_nn_sequential(1, NONE1), ARGUMENT, "ht_nn_sequential: modules[0] is NULL")               \
    X(ht_nn_recomputed(NULL), ARGUMENT, "ht_nn_recomputed: module is NULL")                       \
    X(ht_nn_recomputed_sequential(1, 1, NONE1), ARGUMENT,                                         \
      "ht_nn_recomputed_sequential: modules[0] is NULL")                                          \
    X(ht_nn_module_dict(1, (const char *[]){"a.b"}, (ht_module *[]){ht_nn_identity()}), ARGUMENT, \
      "ht_nn_module_dict: name is 'a.b', expected")                                               \
    X(ht_nn_module_list_append(list, ht_retain(list)), ARGUMENT,                                  \
      "ht_nn_module_list_append: '0' contains the module it is added to")                         \
    X(ht_nn_parameter_list(1, (ht_tensor *[]){NULL}), ARGUMENT,                                   \
      "ht_nn_parameter_list: parameters[0] is NULL")                                              \
    X(ht_nn_parameter_dict(1, (const char *[]){"w"}, &n), DTYPE,                                  \
      "ht_nn_parameter_dict: x is int64, expected a floating or complex dtype")                   \
    X(ht_nn_module_list_append(list, NULL), ARGUMENT, "ht_nn_module_list_append: module is")      \
    X(ht_nn_parameter_list_append(list, NULL), ARGUMENT,                                          \
      "ht_nn_parameter_list_append: parameter is NULL")                                           \
    X(ht_module_add(list, "a", NULL, NULL), ARGUMENT, "ht_module_add: child for 'a' is NULL")     \
    X(ht_module_add_buffer(list, "a", NULL, NULL), ARGUMENT,                                      \
      "ht_module_add_buffer: buffer for 'a' is NULL")                                             \
    X(ht_module_add_parameter(list, "w", NULL, n), DTYPE, "ht_module_add_parameter: x is int64")  \
    X(ht_nn_parameter_list_append(list, n), DTYPE, "ht_nn_parameter_list_append: x is int64")     \
    X(ht_forward(pool, sample), ARGUMENT, "x is one sample split along axis 0, expected a repl")  \
    X(ht_conv3d(sample, sample, NULL, NULL), ARGUMENT,                                            \
      "ht_conv3d: x is one sample split along axi")                                               \
    X(ht_nn_recurrent_forward(list, x, NULL, NULL, NULL), ARGUMENT,                               \
      "ht_nn_recurrent_forward: module is ModuleList, expected a recurrent layer")                \
    X(ht_nn_device_parallel(list, (int[]){100}, 1, 100, 0), DEVICE,                               \
      "ht_nn_device_parallel: no device ")                                                        \
    X(ht_module_summary_ext(list, NULL, stdout), ARGUMENT,                                        \
      "ht_module_summary_ext: inputs is NULL")                                                    \
    X(ht_nn_init_sparse(x, 0.5, -1), ARGUMENT, "ht_nn_init_sparse: std is -1, expected a finite") \
    X(ht_nn_init_orthogonal(ht_astype(x, HT_FLOAT16), 1), DTYPE,                                  \
      "ht_nn_init_orthogonal: x is float16, expected")                                            \
    X(ht_nn_init_dirac(ht_ones(HT_SHAPE(2, 2, 2), HT_FLOAT32, HT_NONE), 1234567), ARGUMENT,       \
      "ht_nn_init_dirac: groups is 1234567, expected")

/* Constructors whose long forms have other names. */
#define LAYERS(X)                                                                                  \
    X(ht_nn_linear_ext(0, 1, true), "ht_nn_linear_ext: in_features is 0, expected at least 1")     \
    X(ht_nn_linear(0, 1), "ht_nn_linear: in_features is 0, expected at least 1")                   \
    X(ht_nn_conv2d(1, 1, 0), "ht_nn_conv2d: kernel_size is 0, expected at least 1")                \
    X(ht_nn_conv1d(1, 1, 0, NULL, true), "ht_nn_conv1d: kernel_size is 0, expected at least 1")    \
    X(ht_nn_group_norm_ext(3, 4, 1e-5, true, true), "ht_nn_group_norm_ext: groups is 3, expected") \
    X(ht_nn_rms_norm_ext(0, NULL, -1, true), "ht_nn_rms_norm_ext: ndim is 0, expected 1 to 8")     \
    X(ht_nn_local_response_norm_ext(0, 1, 1, 1), "ht_nn_local_response_norm_ext: size is 0")       \
    X(ht_nn_lstm_ext(2, 0, NULL), "ht_nn_lstm_ext: hidden_size is 0, expected at least 1")         \
    X(ht_nn_multihead_attention_ext(5, 2, NULL), "ht_nn_multihead_attention_ext: embed_dim is 5")  \
    X(ht_nn_adaptive_log_softmax_with_loss_ext(8, 10, 0, NULL, 4, false),                          \
      "ht_nn_adaptive_log_softmax_with_loss_ext: cutoffs are NULL, expected")                      \
    X(ht_nn_adaptive_log_softmax_with_loss(3, 10, 1, (int64_t[]){2}),                              \
      "ht_nn_adaptive_log_softmax_with_loss: in_features is 3, expected at least div_value^1 = 4") \
    X(ht_nn_lstm(2, LONG), "ht_nn_lstm: hidden_size is 4611686018427387904, expected less than")   \
    X(ht_nn_gru_cell(2, LONG, true), "ht_nn_gru_cell: hidden_size is 4611686018427387904, ")       \
    X(ht_nn_multihead_attention(LONG, 1), "embed_dim is 4611686018427387904, expected less than")  \
    X(ht_nn_transformer(LONG, 1, NULL), "d_model is 4611686018427387904, expected less than 2^59") \
    X(ht_nn_transformer(0, 1, NULL), "ht_nn_transformer: d_model is 0, expected at least 1")       \
    X(ht_nn_transformer(6, 4, NULL), "ht_nn_transformer: d_model is 6, expected a multiple of nu") \
    X(ht_nn_transformer_encoder_layer(6, 0, NULL),                                                 \
      "ht_nn_transformer_encoder_layer: num_heads is 0, expected at least 1")

/* The options of a transformer, each of them wrong. */
#define OPTIONS(X)                                                                        \
    X(dim_feedforward = 0, "dim_feedforward is 0, expected at least 1")                   \
    X(dropout = 2, "dropout is 2, expected 0 to 1")                                       \
    X(layer_norm_eps = -1, "layer_norm_eps is -1, expected a finite value of at least 0") \
    X(num_encoder_layers = 0, "num_encoder_layers is 0, expected at least 1")             \
    X(num_decoder_layers = -1, "num_decoder_layers is -1, expected at least 1")

#define FUNCTIONS(X)                                                                               \
    X(ht_margin_ranking_loss(x, wide, x, 0, HT_MEAN), SHAPE,                                       \
      "ht_margin_ranking_loss: x1 is (2, 3), x2 is (2, 4): they do not broadcast")                 \
    X(ht_margin_ranking_loss(x, x, wide, 0, HT_MEAN), SHAPE,                                       \
      "ht_margin_ranking_loss: x1 is (2, 3), target is (2, 4): they do not broadcast")             \
    X(ht_triplet_margin_loss(x, wide, x, NULL), SHAPE,                                             \
      "ht_triplet_margin_loss: anchor is (2, 3), positive is (2, 4): they do not broadcast")       \
    X(ht_triplet_margin_loss(one, one, one, NULL), SHAPE,                                          \
      "ht_triplet_margin_loss: anchor is (), expected at least one axis")                          \
    X(ht_triplet_margin_loss(x, x, x, &triplet), ARGUMENT, "ht_triplet_margin_loss: p is nan")     \
    X(ht_triplet_margin_with_distance_loss(x, x, wide, width, NULL, 1, false, HT_MEAN), SHAPE,     \
      "ht_triplet_margin_with_distance_loss: ")                                                    \
    X(ht_pairwise_distance(one, one, 2, 0, false), SHAPE, "ht_pairwise_distance: x1 is (), expec") \
    X(ht_cross_entropy_ext(x, wide, NULL), SHAPE, "ht_cross_entropy_ext: logits is (2, 3), targe") \
    X(ht_cross_entropy_ext(x, x, &classes), ARGUMENT,                                              \
      "ht_cross_entropy_ext: ignore_index is 1234567, expected a number below 0")                  \
    X(ht_generate_square_subsequent_mask(-1), SHAPE,                                               \
      "ht_generate_square_subsequent_mask: length is -1, expected at least 0")                     \
    X(ht_generate_square_subsequent_mask(LONG), SHAPE, "ht_generate_square_subsequent_mask: ")     \
    X(ht_nn_layer_norm(HT_SHAPE(2, -1)), SHAPE, "ht_nn_layer_norm: shape is (2, -1), expected le") \
    X(ht_upsample(images, &upsample), ARGUMENT,                                                    \
      "ht_upsample: length or scale is out of range, expected 0 to 2^31 - 1")                      \
    X(ht_local_response_norm(images, INT64_C(1) << 59, 1, 1, 1), SHAPE, "ht_local_response_norm:") \
    X(ht_parse_losses(losses, &y, NULL), DEVICE, "ht_parse_losses: ")                              \
    X(ht_parameters_to_vector(apart), DEVICE, "ht_parameters_to_vector: ")                         \
    X(ht_vector_to_parameters(ht_ones_ext(HT_SHAPE(6), HT_FLOAT32, HT_NONE, other, HT_COMM_SELF),  \
                              ht_value_tensors(HT_LIST(ht_tensor *, x))),                          \
      DEVICE, "ht_vector_to_parameters: ")                                                         \
    X(ht_metric_result(NULL), ARGUMENT, "ht_metric_result: metric is NULL")

/* The operands are a wrapped linear layer `net`, a tensor (2, 3), an optimizer's wrapper and its
 * state. */
#define TRAINING(X)                                                                                \
    X(ht_optim_wrapper_update_params(wrapper, x), SHAPE,                                           \
      "ht_optim_wrapper_update_params: the loss has shape (2, 3), expected one element")           \
    X(ht_optim_wrapper_load_state_dict(wrapper, bad), FORMAT,                                      \
      "ht_optim_wrapper_load_state_dict: the state is not that of an optimizer")                   \
    X(ht_train_step(NULL, losses, wrapper, NULL), ARGUMENT, "ht_train_step: model is NULL")        \
    X(ht_nn_weight_norm(net, "weight", 0), STATE, "ht_nn_weight_norm: ht_nn_data_parallel holds")  \
    X(ht_nn_spectral_norm(net, "weight"), STATE, "ht_nn_spectral_norm: ht_nn_data_parallel holds") \
    X(ht_nn_orthogonal(net, "weight", HT_ORTHOGONAL_CAYLEY), STATE,                                \
      "ht_nn_orthogonal: ht_nn_data_parallel holds")                                               \
    X(ht_auto_model(net, NULL, false, NULL), STATE, "ht_auto_model: ht_nn_data_parallel holds")    \
    X(ht_data_parallel_drain(net), ARGUMENT,                                                       \
      "ht_data_parallel_drain: wrapper is Linear, expected a DataParallel wrapper")                \
    X(ht_data_parallel_backward(dp, x), SHAPE, "ht_data_parallel_backward: the loss has shape (2")

/* One element for each column. */
static ht_tensor *width(ht_tensor *a, ht_tensor *b, void *user)
{
    (void)a;
    (void)user;
    return ht_ones(HT_SHAPE(ht_tensor_shape(b)[1]), HT_FLOAT32, HT_LOCAL);
}

#define REFUSED(call, code, text) HT_TEST_EXPECT_ERROR(call, HT_ERR_##code, text);
#define NOT_MADE(call, text)      HT_TEST_EXPECT_ERROR(call, HT_ERR_ARGUMENT, text);

static void modules_name_the_call(void **state)
{
    ht_module *list = ht_nn_module_list(0, NULL);
    ht_tensor *n = ht_ones(HT_SHAPE(2, 3), HT_INT64, HT_LOCAL);
    ht_tensor *x = ht_ones(HT_SHAPE(2, 3), HT_FLOAT32, HT_LOCAL);
    ht_tensor *sample = ht_ones(HT_SHAPE(3, 4, 5, 6), HT_FLOAT32, 0);
    ht_module *pool = ht_nn_adaptive_max_pool3d((int64_t[]){2, 2, 2});

    (void)state;
    MODULES(REFUSED)
    ht_release(pool);
    ht_release(list);
}

static ht_status fails(ht_module *self, ht_module *copy)
{
    (void)self;
    (void)copy;
    return HT_ERR_STATE;
}

static ht_status fails_in_a_call(ht_module *self, ht_module *copy)
{
    (void)self;
    (void)copy;
    return ht_neg(NULL) != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

static ht_tensor *same(ht_module *self, ht_tensor *x)
{
    (void)self;
    return x;
}

/* The messages of a clone hook are its own. */
static void clone_hooks_name_what_they_call(void **state)
{
    static const ht_module_type types[] = {
        {.name = "Silent", .forward = same, .clone = fails},
        {.name = "Loud", .forward = same, .clone = fails_in_a_call},
    };
    ht_module *silent = ht_module_new(0, &types[0]), *loud = ht_module_new(0, &types[1]);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_module_clone(silent), HT_ERR_STATE,
                         "ht_module_clone: the clone hook of Silent failed and gave no reason");
    HT_TEST_EXPECT_ERROR(ht_nn_averaged_model(silent, NULL), HT_ERR_STATE,
                         "ht_nn_averaged_model: the clone hook of Silent failed");
    HT_TEST_EXPECT_ERROR(ht_nn_transformer_encoder(silent, 2, NULL), HT_ERR_STATE,
                         "ht_nn_transformer_encoder: the clone hook of Silent failed");
    HT_TEST_EXPECT_ERROR(ht_nn_transformer_encoder(loud, 2, NULL), HT_ERR_ARGUMENT,
                         "ht_neg: x is NULL");
}

static void goes_with_a_call(ht_module *self)
{
    (void)self;
    ht_error_clear();
    ht_neg(NULL);
}

/* Also where a call of the library releases the module. */
static void destroy_hooks_name_what_they_call(void **state)
{
    static const ht_module_type type = {
        .name = "Going", .forward = same, .clone = fails, .destroy = goes_with_a_call};

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_nn_transformer_encoder(ht_module_new(0, &type), 2, NULL),
                         HT_ERR_ARGUMENT, "ht_neg: x is NULL");
}

static void constructors_name_the_call(void **state)
{
    ht_transformer_options options;

    (void)state;
    LAYERS(NOT_MADE)
#define OPTION(assignment, text)                                             \
    options = ht_transformer_options_default();                              \
    options.assignment;                                                      \
    HT_TEST_EXPECT_ERROR(ht_nn_transformer(4, 2, &options), HT_ERR_ARGUMENT, \
                         "ht_nn_transformer: " text);
    OPTIONS(OPTION)
}

static void functions_name_the_call(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(2, 3), HT_FLOAT32, HT_LOCAL), *y = NULL;
    ht_tensor *wide = ht_ones(HT_SHAPE(2, 4), HT_FLOAT32, HT_LOCAL);
    ht_tensor *one = ht_ones(0, NULL, HT_FLOAT32, HT_LOCAL);
    ht_tensor *images = ht_ones(HT_SHAPE(1, 2, 2, 2), HT_FLOAT32, HT_LOCAL);
    ht_device *other = ht_device_get("cpu:3");
    ht_tensor *far = ht_ones_ext(0, NULL, HT_FLOAT32, HT_NONE, other, HT_COMM_SELF);
    ht_value *losses = ht_value_map(), *apart = ht_value_tensors(HT_LIST(ht_tensor *, one, far));
    ht_triplet_margin_options triplet = ht_triplet_margin_options_default();
    ht_class_loss_options classes = ht_class_loss_options_default();
    ht_upsample_options upsample = ht_upsample_options_default();

    (void)state;
    triplet.p = NAN;
    classes.ignore_index = 1234567;
    upsample.length[0] = upsample.length[1] = LONG;
    ht_value_set(losses, "loss", apart);
    FUNCTIONS(REFUSED)
}

static void training_names_the_call(void **state)
{
    ht_module *net = ht_nn_linear(3, 2), *dp;
    ht_optimizer *sgd = ht_optim_sgd(ht_module_parameters(net), 0.5, NULL);
    ht_optim_wrapper *wrapper = ht_optim_wrapper_new(sgd, NULL);
    ht_tensor *x = ht_ones(HT_SHAPE(2, 3), HT_FLOAT32, HT_LOCAL);
    ht_value *bad = ht_value_map(), *losses = ht_value_tensor(x);

    (void)state;
    ht_value_set(bad, "count", ht_value_number(0));
    ht_value_set(bad, "optimizer", ht_value_map());
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, true);
    TRAINING(REFUSED)
    ht_release(dp);
    ht_release(wrapper);
    ht_release(sgd);
    ht_release(net);
}

HT_TEST_SUITE(test_called_names_of_modules, cmocka_unit_test(modules_name_the_call),
              cmocka_unit_test(clone_hooks_name_what_they_call),
              cmocka_unit_test(destroy_hooks_name_what_they_call),
              cmocka_unit_test(constructors_name_the_call),
              cmocka_unit_test(functions_name_the_call), cmocka_unit_test(training_names_the_call));
