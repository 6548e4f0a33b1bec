/* SPDX-License-Identifier: MIT
 *
 * Gradients against central differences. Each element of each input is moved up and down in place,
 * and the function runs again. Every rank sees the same sums, and so finds the same. */
#include <math.h>

#include "core/autograd/autograd.h"
#include "core/ops/ops.h"
#include "ht/arithmetics.h"
#include "ht/array.h"
#include "ht/complex_math.h"
#include "ht/factories.h"
#include "ht/gradient_tools.h"
#include "ht/manipulations.h"
#include "ht/trigonometrics.h"

static const char what[] = "ht_gradcheck";

/* The gradient that an input had before. */
struct given {
    ht_tensor *grad; /* owned; NULL: none */
    bool zeroed;     /* its memory is kept, for the next one */
};

struct check {
    ht_gradcheck_fn *f;
    int count;
    ht_tensor **inputs;
    void *user;
    ht_gradcheck_options options;
    struct given *given; /* owned; one of each input */
};

ht_gradcheck_options ht_gradcheck_options_default(void)
{
    return (ht_gradcheck_options){
        .size = sizeof(ht_gradcheck_options), .eps = 1e-6, .atol = 1e-5, .rtol = 1e-3};
}

/* The sum of w y for a real y: w depends on the place of an element, and is in [0.5, 1.5]. */
static ht_tensor *weighted(ht_tensor *y, double phase)
{
    const ht_body *body = y->body;
    ht_tensor *w = ht_arange_ext(HT_NUM(0), HT_NUM(ht_tensor_size(y)), HT_NUM(1), HT_FLOAT64,
                                 HT_NONE, ht_tensor_device(y), body->comm);

    w = ht_add_scalar(ht_mul_scalar(ht_sin(ht_add_scalar(ht_mul_scalar(w, 1.7), phase)), 0.5), 1);
    return ht_sum(ht_mul(y, ht_reshape(w, body->ndim, body->shape)), HT_NONE);
}

static ht_tensor *objective(const struct check *check)
{
    ht_tensor *y = check->f(check->inputs, check->user);

    if (HT_IS_NULL(y, what, "the result of f"))
        return NULL;
    if (!ht_dtype_is_complex(y->body->dtype))
        return weighted(y, 0);
    return ht_add(weighted(ht_real(y), 0), weighted(ht_imag(y), 2));
}

/* The value with the element `at` of an input at x + delta. */
static ht_status value_at(const struct check *check, ht_tensor *at, ht_tensor *x, ht_number delta,
                          double *value)
{
    ht_scope *scope = ht_scope_open();
    ht_status status = ht_copy_(at, ht_add_scalar_ext(x, delta));

    if (status == HT_SUCCESS)
        status = ht_tensor_item(objective(check), value);
    ht_scope_close(scope);
    return status;
}

/* A view of element `index` of x, in row-major order. */
static ht_tensor *element_of(ht_tensor *x, int64_t index)
{
    ht_tensor *at = x;

    for (int i = x->body->ndim - 1; i >= 0; i--) {
        const int64_t n = x->body->shape[i], place = index % n;

        index /= n;
        at = ht_narrow(at, i, place, place + 1);
    }
    return at;
}

static const char *part_name(bool is_complex, int part)
{
    static const char *const names[] = {"the real part of ", "the imaginary part of "};

    return is_complex ? names[part] : "";
}

/* Compares one part of one element; the input has its old value afterwards. */
static ht_status check_element(const struct check *check, int input, int64_t index, int part,
                               double found)
{
    const double eps = check->options.eps;
    ht_tensor *x = check->inputs[input], *at = element_of(x, index), *was = ht_copy(at);
    const bool is_complex = ht_dtype_is_complex(x->body->dtype);
    double up = 0, down = 0, expected;
    ht_status status;

    status = value_at(check, at, was, part == 0 ? HT_NUM(eps) : HT_COMPLEX(0, eps), &up);
    if (status == HT_SUCCESS)
        status = value_at(check, at, was, part == 0 ? HT_NUM(-eps) : HT_COMPLEX(0, -eps), &down);
    if (was != NULL && ht_copy_(at, was) != HT_SUCCESS)
        status = ht_error_get(NULL);
    if (status != HT_SUCCESS)
        return status;
    expected = (up - down) / (2 * eps);
    if (fabs(found - expected) <= check->options.atol + check->options.rtol * fabs(expected))
        return HT_SUCCESS;
    return HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                   "%s: %sthe gradient of input %d at element %lld is %.12g, expected %.12g by "
                   "central differences",
                   what, part_name(is_complex, part), input, (long long)index, found, expected);
}

/* found: room for the gradient. */
static ht_status check_elements(const struct check *check, int input, double *found)
{
    ht_tensor *x = check->inputs[input], *grad = ht_tensor_grad(x);
    const int parts = ht_dtype_is_complex(x->body->dtype) ? 2 : 1;
    const int64_t size = ht_tensor_size(x);
    ht_status status = HT_SUCCESS;

    if (grad != NULL)
        status = ht_tensor_to_array(grad, found, size, x->body->dtype);
    for (int64_t i = 0; i < size * parts && status == HT_SUCCESS; i++) {
        ht_scope *scope = ht_scope_open();

        status = check_element(check, input, i / parts, (int)(i % parts), found[i]);
        ht_scope_close(scope);
    }
    return status;
}

static ht_status check_input(const struct check *check, int input)
{
    const ht_tensor *x = check->inputs[input];
    double *found;
    ht_status status;

    if (!ht_tensor_requires_grad(x))
        return HT_SUCCESS;
    found = ht__alloc((2 * (size_t)ht_tensor_size(x) + 1) * sizeof *found);
    status = check_elements(check, input, found);
    ht__free(found);
    return status;
}

static ht_status check_all(const struct check *check)
{
    ht_status status = ht__backward(what, objective(check));
    bool was;

    if (status != HT_SUCCESS)
        return status;
    was = ht_set_grad_enabled(false);
    for (int k = 0; k < check->count && status == HT_SUCCESS; k++)
        status = check_input(check, k);
    ht_set_grad_enabled(was);
    return status;
}

static ht_status refuse_options(const ht_gradcheck_options *o)
{
    if (!(o->eps > 0) || isinf(o->eps))
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: eps is %g, expected more than 0 and finite",
                       what, o->eps);
    if (!(o->atol >= 0))
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: atol is %g, expected at least 0", what, o->atol);
    if (!(o->rtol >= 0))
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: rtol is %g, expected at least 0", what, o->rtol);
    return HT_SUCCESS;
}

static ht_status refuse_inputs(const struct check *check)
{
    for (int k = 0; k < check->count; k++) {
        const ht_tensor *x = check->inputs[k];

        if (HT_IS_NULL(x, what, "input"))
            return ht_error_get(NULL);
        if (!ht_tensor_requires_grad(x))
            continue;
        if (!ht_tensor_is_leaf(x))
            return HT_FAIL(x->body->comm, HT_ERR_STATE,
                           "%s: input %d is the result of an operation, expected a leaf", what, k);
        if (x->body->dtype != HT_FLOAT64 && x->body->dtype != HT_COMPLEX128)
            return HT_FAIL(x->body->comm, HT_ERR_DTYPE,
                           "%s: input %d is %s, expected float64 or complex128", what, k,
                           ht_dtype_name(x->body->dtype));
        if (ht__grad_await(x->meta) != HT_SUCCESS)
            return ht_error_get(NULL);
    }
    return HT_SUCCESS;
}

/* Inputs that require no gradient get none, and keep what they have. */
static void keep_gradients(struct check *check)
{
    check->given = ht__alloc((size_t)(check->count + 1) * sizeof *check->given);
    for (int k = 0; k < check->count; k++) {
        ht_tensor *x = check->inputs[k];

        if (!ht_tensor_requires_grad(x))
            continue;
        check->given[k] = (struct given){.grad = ht_retain(x->meta->grad),
                                         .zeroed = x->meta->overwrite};
        ht_tensor_set_grad(x, NULL);
    }
}

static void restore_gradients(const struct check *check)
{
    for (int k = 0; k < check->count; k++) {
        const struct given *given = &check->given[k];
        ht_tensor *x = check->inputs[k];

        if (!ht_tensor_requires_grad(x))
            continue;
        ht_tensor_set_grad(x, given->grad);
        if (given->zeroed)
            ht__grad_zero(x);
        ht_release(given->grad);
    }
    ht__free(check->given);
}

ht_status ht_gradcheck(ht_gradcheck_fn *f, int count, ht_tensor *inputs[], void *user,
                       const ht_gradcheck_options *options)
{
    struct check check = {.f = f, .count = count, .inputs = inputs, .user = user};
    ht_scope *scope;
    ht_status status;

    check.options = options != NULL ? *options : ht_gradcheck_options_default();
    if (HT_IS_NULL(f, what, "f") ||
        HT_CHECK_OPTIONS(NULL, what, &check.options, ht_gradcheck_options) != HT_SUCCESS ||
        !ht__check_list(what, NULL, "count", count, "inputs", inputs) ||
        refuse_inputs(&check) != HT_SUCCESS || refuse_options(&check.options) != HT_SUCCESS)
        return ht_error_get(NULL);
    scope = ht_scope_open();
    keep_gradients(&check);
    status = check_all(&check);
    restore_gradients(&check);
    ht_scope_close(scope);
    return status;
}
