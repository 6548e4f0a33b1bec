/* SPDX-License-Identifier: MIT
 *
 * The table of functionals. */
#include "functionals.h"

#include <math.h>
#include <stdlib.h>

#include "nn/functionals/attention.h"
#include "nn/functionals/embedding.h"
#include "nn/functionals/norm.h"
#include "nn/functionals/recurrent.h"
#include "nn/functionals/shape.h"
#include "nn/functionals/window.h"

#include "functionals_activations.h"
#include "functionals_losses.h"

#define CALL(f) static ht_tensor *f(ht_tensor *in[], const nn_functional *row)

CALL(relu_in_place)
{
    (void)row;
    return ht_relu_(in[0]) == HT_SUCCESS ? in[0] : NULL;
}

CALL(linear)
{
    (void)row;
    return ht_linear(in[0], in[1], in[2]);
}

CALL(conv2d)
{
    ht_conv2d_options options = ht_conv2d_options_default();

    if (!row->variant)
        return ht_conv2d(in[0], in[1], in[2], NULL);
    options.stride[0] = options.dilation[1] = options.groups = 2;
    options.padding[0] = options.padding[1] = 1;
    return ht_conv2d(in[0], in[1], in[2], &options);
}

CALL(max_pool2d)
{
    (void)row;
    return ht_max_pool2d(in[0], 2);
}

CALL(max_pool2d_overlapping)
{
    (void)row;
    return ht_max_pool2d_ext(in[0], (int64_t[]){3, 2}, (int64_t[]){2, 1}, (int64_t[]){1, 1},
                             (int64_t[]){1, 2});
}

CALL(batch_norm)
{
    return ht_batch_norm(in[0], in[1], in[2], in[3], in[4], row->mode, 0.1, 1e-5);
}

CALL(nll_loss)
{
    return ht_nll_loss(in[0], in[1], (ht_reduction_mode)row->mode);
}

CALL(cross_entropy)
{
    return ht_cross_entropy(in[0], in[1], (ht_reduction_mode)row->mode);
}

/* clang-format off */
#define FIRST(name, ndim, ...) {name, HT_FLOAT64, ndim, {__VA_ARGS__}, NN_SPLITS | NN_GRAD}
#define OTHER(name, ndim, ...) {name, HT_FLOAT64, ndim, {__VA_ARGS__}, NN_GRAD}
#define CLASSES(name) .operands = {FIRST(name, 2, 4, 3), {"target", HT_INT32, 1, {4}, NN_SPLITS}}
#define NORM .operands = {FIRST("x", 3, 4, 3, 2), {"running_mean", HT_FLOAT64, 1, {3}, 0}, \
              {"running_var", HT_FLOAT64, 1, {3}, NN_POSITIVE}, OTHER("weight", 1, 3), OTHER("bias", 1, 3)}
/* A loss in each reduction. */
#define REDUCED(name, call, operands, number)                                  \
    {name, call, 2, 2, operands, number, HT_MEAN},                             \
    {name, call, 2, 2, operands, number, HT_SUM, .variant = true},             \
    {name, call, 2, 2, operands, number, HT_NO_REDUCTION, .variant = true}
#define P(...) __VA_ARGS__

const nn_functional nn_functionals[] = {
    ACTIVATION_ROWS,
    {"ht_relu_", relu_in_place, 1, 1, ONE, .in_place = true},
    {"ht_linear", linear, 3, 2, .operands = {X, OTHER("weight", 2, 2, 3), OTHER("bias", 1, 2)}},
    {"ht_linear", linear, 3, 2, .operands = {FIRST("x", 3, 3, 2, 3), OTHER("weight", 2, 4, 3), OTHER("bias", 1, 4)},
     .variant = true},
    {"ht_conv2d", conv2d, 3, 2,
     .operands = {FIRST("x", 4, 4, 3, 5, 5), OTHER("weight", 4, 2, 3, 1, 2), OTHER("bias", 1, 2)}},
    {"ht_conv2d", conv2d, 3, 2,
     .operands = {FIRST("x", 4, 2, 4, 5, 5), OTHER("weight", 4, 4, 2, 2, 2), OTHER("bias", 1, 4)}, .variant = true},
    {"ht_max_pool2d", max_pool2d, 1, 1, .operands = {FIRST("x", 4, 4, 3, 5, 5)}},
    {"ht_max_pool2d_ext", max_pool2d_overlapping, 1, 1, .operands = {FIRST("x", 4, 3, 2, 5, 4)}, .variant = true},
    {"ht_batch_norm", batch_norm, 5, 1, NORM, .mode = true},
    {"ht_batch_norm", batch_norm, 5, 5, NORM, .mode = false, .variant = true},
    NN_NORM_ROWS,
    NN_ATTENTION_ROWS,
    NN_EMBEDDING_ROWS,
    NN_RECURRENT_ROWS,
    NN_SHAPE_ROWS,
    NN_WINDOW_ROWS,
    REDUCED("ht_nll_loss", nll_loss, P(CLASSES("log_probs")), 0),
    REDUCED("ht_cross_entropy", cross_entropy, P(CLASSES("logits")), 0),
    LOSS_ROWS,
    {.name = NULL}};
/* clang-format on */

ht_tensor *nn_operand_of(const nn_functional *f, int i, ht_dtype dtype, int split)
{
    const nn_operand *operand = &f->operands[i];
    const bool classes = operand->dtype == HT_INT32;
    int64_t size = 1;
    double *data;
    ht_tensor *x;

    for (int k = 0; k < operand->ndim; k++)
        size *= operand->shape[k];
    data = calloc((size_t)size, sizeof *data);
    for (int64_t k = 0; data != NULL && k < size; k++) {
        const double n = (double)(k + 1);

        data[k] = 0.5 * sin(12.9898 * n + 78.233 * i) + 0.4999 * sin(4.1414 * n * (i + 2));
        data[k] = classes                        ? (double)((2 * k + 1) % 3)
                  : operand->flags & NN_POSITIVE ? data[k] + 1.5
                                                 : data[k];
    }
    x = ht_astype(ht_array(data, operand->ndim, operand->shape, HT_FLOAT64, split),
                  classes ? HT_INT32 : dtype);
    free(data);
    if (operand->flags & NN_GRAD)
        ht_tensor_set_requires_grad(x, true);
    return x;
}

ht_tensor *nn_doubled(ht_tensor *x)
{
    ht_tensor *const twice[] = {x, x};

    return ht_stack(2, twice, ht_tensor_ndim(x));
}

ht_tensor *nn_every_second(ht_tensor *doubled)
{
    const int last = ht_tensor_ndim(doubled) - 1;

    return ht_squeeze(ht_narrow(doubled, last, 0, 1), last);
}
