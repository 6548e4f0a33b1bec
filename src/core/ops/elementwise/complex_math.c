/* SPDX-License-Identifier: MIT
 *
 * Rows of the functions of complex numbers and their derivatives. */
#include "core/ops/drivers/drivers.h"
#include "ht/complex_math.h"

#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/kernels/elementwise.h"
#include "ht/relational.h"

static bool is_complex(const ht_tensor *x)
{
    return ht_dtype_is_complex(x->body->dtype);
}

static void imag_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    g = ht_astype(g, ht__node_input(node, 0)->dtype);
    gin[0] = ht_mul_scalar_ext(g, HT_COMPLEX(0, 1));
}

static const ht_unary_op imag_op = {.name = "ht_imag",
                                    .kernel = HT_KERNEL_IMAG,
                                    .result = HT_RESULT_REAL,
                                    .backward = imag_backward};

ht_tensor *ht_imag(ht_tensor *x)
{
    if (HT_IS_NULL(x, "ht_imag", "x"))
        return NULL;
    return is_complex(x) ? ht__unary(&imag_op, x) : ht_zeros_like(x);
}

/* The gradient of atan2(Im z, Re z): i z / |z|^2, which has no direction where z is 0; of real
 * numbers 0. */
static void angle_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *z = ht_node_saved(node, 0), *along;

    if (z == NULL)
        return;
    if (!is_complex(z)) {
        gin[0] = ht_zeros_like(z);
        return;
    }
    along = ht_div(ht_mul_scalar_ext(z, HT_COMPLEX(0, 1)), ht_mul(z, ht__conj(z)));
    gin[0] = ht_mul(g, ht_where(ht_eq(z, ht_scalar(0)), ht_scalar(0), along));
}

/* Integers give float32, complex numbers the dtype of their parts. */
static const ht_unary_op angle_op = {.name = "ht_angle",
                                     .kernel = HT_KERNEL_ANGLE,
                                     .result = HT_RESULT_REAL,
                                     .save = HT_SAVE_INPUT,
                                     .backward = angle_backward};

ht_tensor *ht_angle(ht_tensor *x)
{
    if (HT_IS_NULL(x, "ht_angle", "x"))
        return NULL;
    return ht__unary(&angle_op, ht__dtype_is_exact(x->body->dtype) ? ht_astype(x, HT_FLOAT32) : x);
}

ht_tensor *ht_iscomplex(ht_tensor *x)
{
    if (HT_IS_NULL(x, "ht_iscomplex", "x"))
        return NULL;
    if (!is_complex(x))
        return ht_zeros_like_ext(x, HT_BOOL);
    x = ht_imag(x);
    return x != NULL ? ht_ne(x, ht_scalar(0)) : NULL;
}

ht_tensor *ht_isreal(ht_tensor *x)
{
    if (HT_IS_NULL(x, "ht_isreal", "x"))
        return NULL;
    if (!is_complex(x))
        return ht_ones_like_ext(x, HT_BOOL);
    x = ht_imag(x);
    return x != NULL ? ht_eq(x, ht_scalar(0)) : NULL;
}
