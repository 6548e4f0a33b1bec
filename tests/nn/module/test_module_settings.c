/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* Settings of modules: printed text and ranges, of the library's layers and of a program's own. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "nn/nn_test.h"
#include "tensor_check.h"

/* Takes the module over. */
static void assert_printed(ht_module *module, const char *expected)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);

    assert_non_null(module);
    ht_module_print(module, stream);
    fclose(stream);
    text[strcspn(text, "\n")] = '\0';
    assert_string_equal(text, expected);
    free(text);
    ht_release(module);
}

static ht_module *conv2d(int64_t stride, int64_t padding)
{
    ht_conv2d_options options = ht_conv2d_options_default();

    options.stride[1] = options.stride[0] = stride;
    options.padding[1] = padding;
    return ht_nn_conv2d_ext(1, 8, 3, &options, true);
}

static void layers_of_windows_and_lengths_are_printed(void **state)
{
    ht_conv_options conv = ht_conv_options_default();
    ht_pool_options pool = ht_pool_options_default();
    ht_fractional_options random = ht_fractional_options_default();
    ht_upsample_options upsample = ht_upsample_options_default();

    (void)state;
    conv.stride[0] = conv.output_padding[1] = conv.stride[1] = 2;
    pool.kernel[0] = 2;
    random.kernel[0] = 3;
    random.length[0] = random.length[1] = 2;
    upsample.scale[0] = 2;
    upsample.mode = HT_UPSAMPLE_LINEAR;
    assert_printed(ht_nn_conv1d(1, 2, 3, NULL, false),
                   "Conv1d(1, 2, kernel_size=3, bias=false)  # 6");
    assert_printed(ht_nn_conv_transpose2d(1, 2, 3, &conv, true),
                   "ConvTranspose2d(1, 2, kernel_size=3, stride=2, output_padding=(0, 2))  # 20");
    assert_printed(ht_nn_avg_pool2d(&pool), "AvgPool2d(kernel=(2, 1))");
    assert_printed(ht_nn_max_unpool1d(&pool, NULL), "MaxUnpool1d(kernel=(2,))");
    assert_printed(ht_nn_fractional_max_pool2d(&random), "FractionalMaxPool2d(kernel=(3, 1))");
    assert_printed(ht_nn_adaptive_max_pool1d((int64_t[]){3}), "AdaptiveMaxPool1d((3,))");
    assert_printed(ht_nn_zero_pad1d(HT_SHAPE(1, 2)), "ZeroPad1d((1, 2))");
    assert_printed(ht_nn_constant_pad1d(HT_SHAPE(1), 2), "ConstantPad1d((1, 1), value=2)");
    assert_printed(ht_nn_pixel_shuffle(3), "PixelShuffle(factor=3)");
    assert_printed(ht_nn_upsample(&upsample), "Upsample(scale=(2, 0, 0), mode=linear)");
}

static void settings_that_differ_from_defaults_are_printed(void **state)
{
    ht_batch_norm_options norm = ht_batch_norm_options_default();

    (void)state;
    assert_printed(conv2d(1, 0), "Conv2d(1, 8, kernel_size=3)  # 80");
    assert_printed(conv2d(2, 0), "Conv2d(1, 8, kernel_size=3, stride=2)  # 80");
    assert_printed(conv2d(2, 1), "Conv2d(1, 8, kernel_size=3, stride=2, padding=(0, 1))  # 80");
    assert_printed(ht_nn_linear(3, 2), "Linear(3, 2)  # 8");
    assert_printed(ht_nn_linear_ext(3, 2, false), "Linear(3, 2, bias=false)  # 6");
    assert_printed(ht_nn_max_pool2d(2), "MaxPool2d(2)");
    assert_printed(ht_nn_dropout(0.5), "Dropout(p=0.5)");
    assert_printed(ht_nn_log_softmax(1), "LogSoftmax(axis=1)");
    assert_printed(ht_nn_hardtanh(-2, 2), "Hardtanh(min=-2, max=2)");
    assert_printed(ht_nn_prelu(3, 0.25), "PReLU(num_parameters=3)  # 3");
    assert_printed(ht_nn_rrelu(0.125, 0.25), "RReLU(lower=0.125, upper=0.25)");
    assert_printed(ht_nn_alpha_dropout(0.5), "AlphaDropout(p=0.5)");
    assert_printed(ht_nn_flatten(1), "Flatten(start_axis=1)");
    assert_printed(ht_nn_batch_norm2d(4, NULL), "BatchNorm2d(4, eps=1e-05, momentum=0.1)  # 8");
    assert_printed(ht_nn_identity(), "Identity()");
    assert_printed(ht_nn_unflatten(1, HT_SHAPE(2, -1)), "Unflatten(axis=1, (2, -1))");
    assert_printed(ht_nn_embedding(4, 2), "Embedding(4, 2)  # 8");
    assert_printed(ht_nn_embedding_bag(4, 2, NULL), "EmbeddingBag(4, 2, mode=mean)  # 8");
    assert_printed(ht_nn_bilinear(1, 2, 3, false), "Bilinear(1, 2, 3, bias=false)  # 6");
    assert_printed(ht_nn_cosine_similarity(1, 1e-8), "CosineSimilarity(axis=1)");
    assert_printed(ht_nn_pairwise_distance(2, 1e-6, true), "PairwiseDistance(p=2, keepdims=true)");
    assert_printed(ht_nn_layer_norm(HT_SHAPE(3, 2)), "LayerNorm((3, 2), eps=1e-05)  # 12");
    assert_printed(ht_nn_layer_norm_ext(HT_SHAPE(2), 0, true, false),
                   "LayerNorm((2,), eps=0, bias=false)  # 2");
    assert_printed(ht_nn_rms_norm(HT_SHAPE(4)), "RMSNorm((4,))  # 4");
    assert_printed(ht_nn_rms_norm_ext(HT_SHAPE(4), 1e-6, false),
                   "RMSNorm((4,), eps=1e-06, affine=false)");
    assert_printed(ht_nn_lstm(2, 3), "LSTM(2, 3)  # 84");
    assert_printed(ht_nn_gru_cell(2, 3, false), "GRUCell(2, 3, bias=false)  # 45");
    assert_printed(ht_nn_group_norm(2, 4), "GroupNorm(2, 4, eps=1e-05)  # 8");
    assert_printed(ht_nn_group_norm_ext(2, 4, 0, true, false),
                   "GroupNorm(2, 4, eps=0, bias=false)  # 4");
    assert_printed(ht_nn_instance_norm1d(4, NULL), "InstanceNorm1d(4, eps=1e-05, momentum=0.1)");
    assert_printed(ht_nn_local_response_norm(2),
                   "LocalResponseNorm(2, alpha=0.0001, beta=0.75, k=1)");
    assert_printed(ht_nn_multihead_attention(4, 2),
                   "MultiheadAttention(4, 2, kdim=4, vdim=4  # 60");
    norm.affine = norm.track_running_stats = false;
    assert_printed(ht_nn_batch_norm1d(4, &norm), "BatchNorm1d(4, eps=1e-05, momentum=0.1, "
                                                 "affine=false, track_running_stats=false)");
}

static void settings_out_of_range_are_errors(void **state)
{
    ht_batch_norm_options norm = ht_batch_norm_options_default();
    ht_conv2d_options groups = ht_conv2d_options_default();

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_nn_linear(3, -1), HT_ERR_ARGUMENT,
                         "ht_nn_linear: out_features is -1, expected at least 1");
    HT_TEST_EXPECT_ERROR(ht_nn_max_pool2d(0), HT_ERR_ARGUMENT,
                         "ht_nn_max_pool2d: kernel_size is 0, expected at least 1");
    HT_TEST_EXPECT_ERROR(ht_nn_dropout2d(NAN), HT_ERR_ARGUMENT,
                         "ht_nn_dropout2d: p is nan, expected 0 to 1");
    HT_TEST_EXPECT_ERROR(conv2d(1, -1), HT_ERR_ARGUMENT,
                         "ht_nn_conv2d_ext: padding is (0, -1), expected at least 0");
    groups.groups = 2;
    HT_TEST_EXPECT_ERROR(ht_nn_conv2d_ext(3, 8, 3, &groups, true), HT_ERR_ARGUMENT,
                         "ht_nn_conv2d_ext: groups is 2, expected a divisor of in_channels 3 and "
                         "out_channels 8");
    norm.momentum = 1.5;
    HT_TEST_EXPECT_ERROR(ht_nn_batch_norm1d(4, &norm), HT_ERR_ARGUMENT,
                         "ht_nn_batch_norm1d: momentum is 1.5, expected 0 to 1");
    norm.eps = INFINITY;
    HT_TEST_EXPECT_ERROR(ht_nn_batch_norm3d(4, &norm), HT_ERR_ARGUMENT,
                         "ht_nn_batch_norm3d: eps is inf, expected a finite value of at least 0");
}

/* A layer of a program. */
struct scaled {
    double factor;
    int times;
    int64_t sizes[3];
};

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    return ht_mul_scalar(x, ((struct scaled *)ht_module_data(self))->factor);
}

static const ht_module_setting settings[] = {
    {"factor", offsetof(struct scaled, factor), HT_SETTING_DOUBLE, .usual = 1, .low = -INFINITY,
     .high = INFINITY},
    {"times", offsetof(struct scaled, times), HT_SETTING_INT, .usual = 1, .low = 1, .high = 9},
    {"sizes", offsetof(struct scaled, sizes), HT_SETTING_INT64, .count = 3,
     .print = HT_PRINT_ALWAYS},
    {.name = NULL}};

static const ht_module_type scaled_type = {
    .name = "Scaled", .forward = forward, .settings = settings};

static ht_module *scaled(double factor, int times)
{
    const struct scaled data = {factor, times, {4, 5, 6}};

    return ht_module_new_ext("scaled", &scaled_type, sizeof data, &data);
}

static void programs_have_settings_of_their_own(void **state)
{
    ht_module *module = scaled(2.5, 3);
    ht_tensor *ones = ht_ones(HT_SHAPE(2), HT_FLOAT64, HT_NONE);

    (void)state;
    ht_test_expect(ht_forward(module, ones), (double[]){2.5, 2.5}, 0);
    assert_printed(ht_module_clone(module), "Scaled(factor=2.5, times=3, sizes=(4, 5, 6))");
    ht_release(module);
    assert_printed(scaled(1, 1), "Scaled(sizes=(4, 5, 6))");
    HT_TEST_EXPECT_ERROR(scaled(NAN, 1), HT_ERR_ARGUMENT,
                         "scaled: factor is nan, expected a finite number");
    HT_TEST_EXPECT_ERROR(scaled(1, 10), HT_ERR_ARGUMENT, "scaled: times is 10, expected 1 to 9");
    HT_TEST_EXPECT_ERROR(ht_module_new_ext("scaled", &scaled_type, sizeof(struct scaled), NULL),
                         HT_ERR_ARGUMENT, "scaled: data is NULL");
}

HT_TEST_SUITE(test_module_settings,
              cmocka_unit_test(settings_that_differ_from_defaults_are_printed),
              cmocka_unit_test(layers_of_windows_and_lengths_are_printed),
              cmocka_unit_test(settings_out_of_range_are_errors),
              cmocka_unit_test(programs_have_settings_of_their_own));
