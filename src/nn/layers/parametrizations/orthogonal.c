/* SPDX-License-Identifier: MIT
 *
 * Orthogonal matrices: base f(X), where f maps any matrix to one with orthonormal columns, and base
 * is orthogonal. X begins as -1, of which f makes 1. Wide matrices are transposed ones. */
#include "ht/arithmetics.h"
#include "ht/autograd.h"
#include "ht/decompositions.h"
#include "ht/exponential.h"
#include "ht/factories.h"
#include "ht/linalg.h"
#include "ht/manipulations.h"
#include "ht/parametrize.h"
#include "ht/rounding.h"
#include "ht/solvers.h"
#include "nn/module/init.h"
#include "nn/module/inputs.h"
#include "nn/module/module.h"

struct orthogonal {
    ht_tensor *base; /* slot: (n, n) */
    int map;
};

static const char what[] = "ht_nn_orthogonal";

/* Ones on the diagonal, on the device and communicator of x. */
static ht_tensor *eye(ht_tensor *like, int64_t rows, int64_t columns)
{
    return ht_eye_ext(rows, columns, ht_tensor_dtype(like), HT_NONE, like->body->storage->device,
                      like->body->comm);
}

/* The skew-symmetric matrix A (n, n) of x's lower triangle. */
static ht_tensor *skew(ht_tensor *x)
{
    const int64_t n = ht_tensor_shape(x)[0], k = ht_tensor_shape(x)[1];

    x = ht_tril(x, 0);
    if (n > k)
        x = ht_concatenate(2, (ht_tensor *[]){x, ht_mul_scalar(eye(x, n, n - k), 0)}, 1);
    return ht_sub(x, ht_transpose(x, 0, 1));
}

/* As many columns of q as x has. */
static ht_tensor *columns_of(ht_tensor *x, ht_tensor *q)
{
    return ht_narrow(q, 1, 0, ht_tensor_shape(x)[1]);
}

/* (1 - A / 2)^-1 (1 + A / 2) */
static ht_tensor *cayley(ht_tensor *x)
{
    const int64_t n = ht_tensor_shape(x)[0];
    ht_tensor *one = eye(x, n, n), *half = ht_mul_scalar(skew(x), 0.5);

    return columns_of(x, ht_solve(ht_sub(one, half), ht_add(one, half)));
}

static ht_tensor *matrix_exp(ht_tensor *x)
{
    return columns_of(x, ht_matrix_exp(skew(x)));
}

/* A product of reflections 1 - 2 v v^T / v^T v, whose vectors are the columns of x below the diagonal,
 * and 1 on it. The signs of x's diagonal are those of the columns. */
static ht_tensor *householder(ht_tensor *x)
{
    const int64_t n = ht_tensor_shape(x)[0], k = ht_tensor_shape(x)[1];
    ht_tensor *one = eye(x, n, k), *vectors = ht_add(ht_tril(x, -1), one), *q = one;
    const bool was = ht_set_grad_enabled(false);
    ht_tensor *signs = ht_sum(ht_mul(ht_sign(x), one), 0);

    ht_set_grad_enabled(was);
    for (int64_t i = k - 1; i >= 0; i--) {
        ht_tensor *v = ht_narrow(vectors, 1, i, i + 1);
        ht_tensor *scaled = ht_mul_scalar(ht_div(v, ht_sum(ht_square(v), HT_NONE)), 2);

        q = ht_sub(q, ht_matmul(scaled, ht_matmul(ht_transpose(v, 0, 1), q)));
    }
    return ht_mul(q, signs);
}

static ht_tensor *(*const maps[])(ht_tensor *x) = {[HT_ORTHOGONAL_CAYLEY] = cayley,
                                                   [HT_ORTHOGONAL_HOUSEHOLDER] = householder,
                                                   [HT_ORTHOGONAL_MATRIX_EXP] = matrix_exp};

static bool is_wide(const ht_tensor *x)
{
    return ht_tensor_shape(x)[0] < ht_tensor_shape(x)[1];
}

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    const struct orthogonal *data = ht_module_data(self);
    const bool wide = is_wide(x);
    ht_tensor *q = ht_matmul(data->base, maps[data->map](wide ? ht_transpose(x, 0, 1) : x));

    return wide ? ht_transpose(q, 0, 1) : q;
}

/* The columns of x made orthonormal, and completed by random ones. */
static ht_tensor *new_base(ht_tensor *x)
{
    const int64_t n = ht_tensor_shape(x)[0], rest[] = {n, n - ht_tensor_shape(x)[1]};
    ht_tensor *q, *r;

    if (rest[1] > 0) {
        ht_tensor *more = ht_empty_ext(2, rest, ht_tensor_dtype(x), HT_NONE,
                                       x->body->storage->device, x->body->comm);

        if (more == NULL || ht__nn_init_normal(what, more, 0, 1) != HT_SUCCESS)
            return NULL;
        x = ht_concatenate(2, (ht_tensor *[]){x, more}, 1);
    }
    return ht_qr(x, &q, &r) == HT_SUCCESS ? q : NULL;
}

static ht_value *right_inverse(ht_module *self, ht_tensor *value)
{
    struct orthogonal *data = ht_module_data(self);
    ht_tensor *base = new_base(is_wide(value) ? ht_transpose(value, 0, 1) : value);

    if (base == NULL || ht_module_add_buffer(self, "base", &data->base, base) != HT_SUCCESS)
        return NULL;
    return ht__output(ht_neg(eye(value, ht_tensor_shape(value)[0], ht_tensor_shape(value)[1])));
}

#define MAP offsetof(struct orthogonal, map), HT_SETTING_INT
static const ht_module_setting settings[] = {
    {"map", MAP, .low = HT_ORTHOGONAL_CAYLEY, .high = HT_ORTHOGONAL_MATRIX_EXP}, {.name = NULL}};

static const ht_module_type type = {
    .name = "_Orthogonal", .forward = forward, .settings = settings};

ht_status ht_nn_orthogonal(ht_module *module, const char *name, ht_orthogonal_map map)
{
    const struct orthogonal made = {.map = (int)map};
    ht_tensor *parameter = ht__module_parameter(what, module, name);

    if (parameter == NULL)
        return ht_error_get(NULL);
    if (ht_tensor_ndim(parameter) != 2)
        return HT_FAIL(parameter->body->comm, HT_ERR_SHAPE, "%s: %s is %s, expected a matrix", what,
                       name, ht__shape_str(parameter->body->ndim, parameter->body->shape));
    if (parameter->body->dtype != HT_FLOAT32 && parameter->body->dtype != HT_FLOAT64)
        return HT_FAIL(parameter->body->comm, HT_ERR_DTYPE,
                       "%s: %s is %s, expected float32 or float64", what, name,
                       ht_dtype_name(parameter->body->dtype));
    if (ht_nn_is_parametrized(module, name))
        return HT_FAIL(parameter->body->comm, HT_ERR_STATE,
                       "%s: %s is parametrized, expected a parameter", what, name);
    return ht__register_parametrization(
        what, module, name, ht_module_new_ext(what, &type, sizeof made, &made), right_inverse);
}
