/* SPDX-License-Identifier: MIT
 *
 * Gradient clipping: one pass over the gradients for their norm, and one that scales them if
 * necessary. */
#include <math.h>

#include "core/ops/drivers/drivers.h"
#include "core/tensor/graph.h"
#include "optim/optim.h"

#include "ht/arithmetics.h"
#include "ht/autograd.h"
#include "ht/factories.h"
#include "ht/rounding.h"
#include "ht/statistics.h"
#include "ht/kernels/elementwise.h"
#include "ht/kernels/reduce.h"

static ht_status check_gradient(const char *what, int index, const ht_tensor *grad)
{
    const ht_body *body = grad->body;

    if (body->split != HT_NONE && body->comm->size > 1)
        return HT_FAIL(
            body->comm, HT_ERR_ARGUMENT,
            "%s: the gradient of parameter %d is split along axis %d, expected a replicated one",
            what, index, body->split);
    if (!ht_dtype_is_floating(body->dtype))
        return HT_FAIL(body->comm, HT_ERR_DTYPE,
                       "%s: the gradient of parameter %d is %s, expected a floating dtype", what,
                       index, ht_dtype_name(body->dtype));
    return HT_SUCCESS;
}

/* One tensor is taken in place of a list. */
static bool is_one(const ht_value *list)
{
    return ht_value_get_kind(list) == HT_VALUE_TENSOR;
}

static int count_of(const ht_value *list)
{
    return is_one(list) ? 1 : ht_value_count(list);
}

static ht_tensor *tensor_at(const ht_value *list, int index)
{
    return ht_value_as_tensor(is_one(list) ? list : ht_value_at(list, index));
}

static ht_status check_list(const char *what, const char *of, const ht_value *list)
{
    if (list == NULL)
        return ht_error_get(NULL) != HT_SUCCESS
                   ? ht_error_get(NULL)
                   : HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: %s is NULL", what, of);
    if (ht_value_get_kind(list) != HT_VALUE_NUMBER)
        return HT_SUCCESS;
    return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: %s is a number, expected a list of tensors", what,
                   of);
}

typedef ht_status each_fn(const char *what, ht_tensor *grad, void *user);

/* An incomplete gradient is not clipped: step() does nothing with it either. */
static bool is_unfinished(const ht_tensor *parameter)
{
    const ht_grad_meta *meta = parameter->meta;

    return meta != NULL && meta->unfinished != NULL && *meta->unfinished != 0;
}

/* Visits the gradients that there are, in order, up to the first failure. */
static ht_status for_each_gradient(const char *what, ht_value *parameters, each_fn *visit,
                                   void *user)
{
    ht_status status = check_list(what, "parameters", parameters);

    for (int i = 0; i < count_of(parameters) && status == HT_SUCCESS; i++) {
        ht_tensor *parameter = tensor_at(parameters, i), *grad = NULL;

        if (parameter == NULL)
            return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: parameters[%d] is %s, expected a tensor",
                           what, i, ht__value_kind_name(ht_value_at(parameters, i)));
        if (!is_unfinished(parameter))
            status = ht__grad_get(parameter, &grad);
        if (grad == NULL)
            continue;
        status = check_gradient(what, i, grad);
        if (status == HT_SUCCESS)
            status = visit(what, grad, user);
    }
    return status;
}

ht_status ht__optim_reduce(const char *what, const ht_tensor *grad, ht_kernel kernel,
                           double *result)
{
    ht_tensor *sum;
    ht_reduction all;

    if (!ht__has_kernel(what, grad, kernel))
        return HT_ERR_UNSUPPORTED;
    /* In the device's memory: that is all its kernels reach. */
    sum = ht_empty_ext(0, NULL, HT_FLOAT64, HT_NONE, grad->body->storage->device, HT_COMM_SELF);
    if (sum == NULL)
        return ht_error_get(NULL);
    all = (ht_reduction){.loop = {.call.operands = 2,
                                  .operand = {ht__operand_of(sum->body, HT_WRITE),
                                              ht__operand_of(grad->body, HT_READ)},
                                  .ndim = 1,
                                  .shape = {1},
                                  .stride = {{1}, {1}}},
                         .ndim = 1,
                         .shape = {grad->body->lsize},
                         .stride = {1}};
    if (HT_RUN(grad, kernel, &all, what) != HT_SUCCESS)
        return ht_error_get(NULL);
    return ht_tensor_item(sum, result);
}

struct norm {
    double type, sum; /* of powers of x / scale; for 1 of magnitudes; for INFINITY the largest */
    double scale;     /* of other types; infinite or NaN: so is the norm */
};

static double larger(double a, double b)
{
    return a > b || isnan(a) ? a : b;
}

static ht_status largest(ht_tensor *x, double *size)
{
    double most = 0, least = 0;
    ht_status status = ht_tensor_item(ht_max(x, HT_NONE), &most);

    if (status == HT_SUCCESS)
        status = ht_tensor_item(ht_min(x, HT_NONE), &least);
    *size = larger(fabs(least), fabs(most));
    return status;
}

/* sum * ratio^type. Two steps: the square of a ratio may be out of range where the product is not. */
static double scaled(double sum, double ratio, double type)
{
    return type == 2 ? sum * ratio * ratio : sum * pow(ratio, type);
}

/* A sum of powers of x / size; of an infinite or NaN size there is none. Zeros do not set the scale. */
static void add_part(struct norm *norm, double size, double part)
{
    if (!(size < INFINITY)) {
        norm->scale = larger(size, norm->scale);
        return;
    }
    if (part == 0)
        return;
    if (size > norm->scale) {
        norm->sum = scaled(norm->sum, norm->scale / size, norm->type);
        norm->scale = size;
    }
    norm->sum += scaled(part, size / norm->scale, norm->type);
}

/* The powers are those of numbers from 0 to 1: none is out of range, whatever the type. */
static ht_status add_powers(const char *what, ht_tensor *grad, struct norm *norm)
{
    ht_tensor *powers;
    double size = 0, part = 0;
    ht_status status = largest(grad, &size);

    if (status == HT_SUCCESS && size > 0 && size < INFINITY) {
        powers = ht_pow(ht_div_scalar(ht_abs(ht_astype(grad, HT_FLOAT64)), size),
                        ht_scalar(norm->type));
        status = powers != NULL ? ht__optim_reduce(what, powers, HT_KERNEL_SUM_ABS, &part)
                                : ht_error_get(NULL);
    }
    if (status == HT_SUCCESS)
        add_part(norm, size, part);
    return status;
}

/* Squares of float64 leave its range where the norm does not: below 1e-154 and above 1e154. Within
 * these bounds the sum over many gradients stays in range, too. */
static ht_status add_squares(const char *what, ht_tensor *grad, struct norm *norm)
{
    double sum = 0;
    ht_status status = ht__optim_reduce(what, grad, HT_KERNEL_SUM_SQUARES, &sum);

    if (status != HT_SUCCESS)
        return status;
    if (grad->body->dtype == HT_FLOAT64 && !(sum > 1e-280 && sum < 1e300))
        return add_powers(what, grad, norm);
    add_part(norm, isfinite(sum) ? 1 : sum, sum);
    return HT_SUCCESS;
}

static ht_status add_to_norm(const char *what, ht_tensor *grad, void *user)
{
    struct norm *norm = user;
    double part = 0;
    ht_status status;

    grad = ht_contiguous(grad);
    if (grad == NULL)
        return ht_error_get(NULL);
    if (grad->body->lsize == 0)
        return HT_SUCCESS;
    if (norm->type == 2)
        return add_squares(what, grad, norm);
    if (norm->type == 1) {
        status = ht__optim_reduce(what, grad, HT_KERNEL_SUM_ABS, &part);
        norm->sum += part;
        return status;
    }
    if (!isinf(norm->type))
        return add_powers(what, grad, norm);
    status = largest(grad, &part);
    norm->sum = larger(part, norm->sum);
    return status;
}

/* grad <- f(grad, operand), in place. */
static ht_status apply(const char *what, ht_tensor *grad, ht_kernel f, double operand)
{
    const ht_body *body = grad->body;
    const ht_number number = HT_NUM(operand);
    const ht_operand operands[3] = {ht__operand(body), ht__operand(body), {.number = &number}};

    if (ht__elementwise(what, f, body->dtype, body, 3, operands, NULL) != HT_SUCCESS)
        return ht_error_get(NULL);
    ht__storage_touch(body->storage);
    return HT_SUCCESS;
}

static ht_status scale(const char *what, ht_tensor *grad, void *factor)
{
    return apply(what, grad, HT_KERNEL_MUL, *(const double *)factor);
}

static ht_status clip_value(const char *what, ht_tensor *grad, void *limit)
{
    ht_status status = apply(what, grad, HT_KERNEL_MINIMUM, *(const double *)limit);

    return status == HT_SUCCESS ? apply(what, grad, HT_KERNEL_MAXIMUM, -*(const double *)limit)
                                : status;
}

static ht_status check_norm_type(const char *what, double norm_type)
{
    if (norm_type > 0)
        return HT_SUCCESS;
    return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: norm_type is %g, expected a number above 0", what,
                   norm_type);
}

static ht_status check_norm(const char *what, double max_norm, double norm_type)
{
    if (!(max_norm >= 0))
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: max_norm is %g, expected at least 0", what,
                       max_norm);
    return check_norm_type(what, norm_type);
}

/* The norm from its sum, once all parts are in it. */
static ht_status finish_norm(const char *what, struct norm *norm, bool error_if_nonfinite)
{
    if (norm->type != 1 && !isinf(norm->type) && !isfinite(norm->scale))
        norm->sum = norm->scale;
    else if (norm->type == 2)
        norm->sum = norm->scale * sqrt(norm->sum);
    else if (norm->type != 1 && !isinf(norm->type))
        norm->sum = norm->scale * pow(norm->sum, 1 / norm->type);
    if (!error_if_nonfinite || isfinite(norm->sum))
        return HT_SUCCESS;
    return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                   "%s: the norm of the gradients is %g; gradients that are infinite or NaN cannot "
                   "be clipped",
                   what, norm->sum);
}

/* Scales gradients of that norm; NaN goes into all of them. */
static ht_status scale_to(const char *what, ht_value *parameters, double max_norm, double norm)
{
    double factor = max_norm / (norm + 1e-6);

    return factor >= 1 ? HT_SUCCESS : for_each_gradient(what, parameters, scale, &factor);
}

static ht_status clip_norm(const char *what, ht_value *parameters, double max_norm,
                           struct norm *norm, bool error_if_nonfinite)
{
    ht_status status = for_each_gradient(what, parameters, add_to_norm, norm);

    if (status == HT_SUCCESS)
        status = finish_norm(what, norm, error_if_nonfinite);
    return status != HT_SUCCESS ? status : scale_to(what, parameters, max_norm, norm->sum);
}

double ht_clip_grad_norm_(ht_value *parameters, double max_norm, double norm_type,
                          bool error_if_nonfinite)
{
    static const char what[] = "ht_clip_grad_norm_";
    struct norm norm = {.type = norm_type};
    ht_scope *scope = ht_scope_open();
    bool was = ht_set_grad_enabled(false);
    ht_status status = check_norm(what, max_norm, norm_type);

    if (status == HT_SUCCESS)
        status = clip_norm(what, parameters, max_norm, &norm, error_if_nonfinite);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return status == HT_SUCCESS ? norm.sum : NAN;
}

static ht_status norm_of(const char *what, ht_value *tensors, struct norm *norm)
{
    ht_status status = check_norm_type(what, norm->type);

    if (status == HT_SUCCESS)
        status = check_list(what, "tensors", tensors);
    for (int i = 0; i < count_of(tensors) && status == HT_SUCCESS; i++) {
        ht_tensor *x = tensor_at(tensors, i);

        if (x == NULL)
            return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: tensors[%d] is %s, expected a tensor", what,
                           i, ht__value_kind_name(ht_value_at(tensors, i)));
        status = check_gradient(what, i, x);
        if (status == HT_SUCCESS)
            status = add_to_norm(what, x, norm);
    }
    return status;
}

double ht_get_total_norm(ht_value *tensors, double norm_type, bool error_if_nonfinite)
{
    static const char what[] = "ht_get_total_norm";
    struct norm norm = {.type = norm_type};
    ht_scope *scope = ht_scope_open();
    bool was = ht_set_grad_enabled(false);
    ht_status status = norm_of(what, tensors, &norm);

    if (status == HT_SUCCESS)
        status = finish_norm(what, &norm, error_if_nonfinite);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return status == HT_SUCCESS ? norm.sum : NAN;
}

ht_status ht_clip_grads_with_norm_(ht_value *parameters, double max_norm, double total_norm)
{
    static const char what[] = "ht_clip_grads_with_norm_";
    ht_scope *scope = ht_scope_open();
    bool was = ht_set_grad_enabled(false);
    ht_status status = check_norm(what, max_norm, 2);

    if (status == HT_SUCCESS)
        status = check_list(what, "parameters", parameters);
    if (status == HT_SUCCESS)
        status = scale_to(what, parameters, max_norm, total_norm);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return status;
}

ht_status ht_clip_grad_value_(ht_value *parameters, double limit)
{
    static const char what[] = "ht_clip_grad_value_";
    ht_scope *scope;
    bool was;
    ht_status status;

    if (!(limit >= 0))
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: limit is %g, expected at least 0", what, limit);
    scope = ht_scope_open();
    was = ht_set_grad_enabled(false);
    status = for_each_gradient(what, parameters, clip_value, &limit);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return status;
}
