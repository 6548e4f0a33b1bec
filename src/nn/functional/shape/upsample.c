/* SPDX-License-Identifier: MIT
 *
 * Upsampling, axis by axis: a value is a sum of up to 4 elements of x times their weights. One
 * kernel does that if x is not split along the axes, or split along the first one. Otherwise
 * elements are taken by index, which sends them, and multiplied. */
#include <math.h>

#include "core/autograd/autograd.h"
#include "core/ops/ops.h"
#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/kernels/index.h"
#include "ht/manipulations.h"
#include "ht/padding.h"
#include "nn/functional/constants.h"
#include "nn/functional/functional.h"

enum { TAPS = 4, SPATIAL = 3 };

static const ht_operand_rule rules[] = {
    {"x", "NCL*", HT_DTYPE_FLOATING, HT_SPLIT_ANY, HT_LAYOUT_ANY, HT_CAST_HIGH, HT_REQUIRED},
};

ht_upsample_options ht_upsample_options_default(void)
{
    return (ht_upsample_options){.size = sizeof(ht_upsample_options)};
}

/* An axis: its lengths, and the distance of two values in x. */
typedef struct resized {
    int64_t in, out;
    double step;
    ht_upsample_mode mode;
    bool align_corners;
} resized;

static bool check_options(const ht_tensor *x, const ht_upsample_options *o)
{
    const bool linear = o->mode == HT_UPSAMPLE_LINEAR || o->mode == HT_UPSAMPLE_CUBIC;
    const char *wrong = NULL;

    if ((unsigned)o->mode > HT_UPSAMPLE_CUBIC)
        wrong = "mode is invalid, expected an ht_upsample_mode";
    else if (o->align_corners && !linear)
        wrong = "align_corners is set, expected only with linear and cubic modes";
    for (int i = 0; i < x->body->ndim - 2 && wrong == NULL; i++) {
        if ((o->length[i] != 0) == (o->scale[i] != 0))
            wrong = "length and scale of an axis are both set or both 0, expected one of them";
        else if (o->length[i] < 0 || o->length[i] > INT32_MAX ||
                 !(o->scale[i] >= 0 && o->scale[i] < INT32_MAX))
            wrong = "length or scale is out of range, expected 0 to 2^31 - 1";
    }
    if (wrong == NULL)
        return true;
    HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "ht_upsample: %s", wrong);
    return false;
}

static bool check_axis(const ht_tensor *x, const ht_upsample_options *o, int i, resized *axis)
{
    const ht_body *body = x->body;

    *axis = (resized){.in = body->shape[2 + i],
                      .out = o->length[i],
                      .mode = o->mode,
                      .align_corners = o->align_corners};
    if (o->length[i] == 0)
        axis->out = (int64_t)floor((double)axis->in * o->scale[i]);
    if (axis->in < 1 || axis->out < 1 || axis->out > INT32_MAX) {
        HT_FAIL(body->comm, HT_ERR_SHAPE,
                "ht_upsample: x is %s, and axis %d would get length %lld, expected 1 to 2^31 - 1",
                ht__shape_str(body->ndim, body->shape), 2 + i, (long long)axis->out);
        return false;
    }
    axis->step = o->scale[i] > 0 ? 1 / o->scale[i] : (double)axis->in / (double)axis->out;
    if (o->align_corners)
        axis->step = axis->out > 1 ? (double)(axis->in - 1) / (double)(axis->out - 1) : 0;
    return true;
}

static int64_t inside(int64_t i, int64_t length)
{
    return i < 0 ? 0 : i < length ? i : length - 1;
}

/* Keys' cubic with PyTorch's -0.75, for distances up to 1 and from 1 to 2. */
static double cubic(double d)
{
    const double a = -0.75;

    d = fabs(d);
    return d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}

/* Element and weight of each tap of value j; how many there are. As in PyTorch, the nearest element is
 * found in float32, and linear modes copy an axis that keeps its length, also if a scale is
 * given. */
static int taps_of(const resized *axis, int64_t j, int64_t element[TAPS], double weight[TAPS])
{
    double at = axis->align_corners ? axis->step * (double)j : axis->step * ((double)j + 0.5) - 0.5;
    int64_t first;

    if (axis->mode <= HT_UPSAMPLE_NEAREST_EXACT) {
        const float half = axis->mode == HT_UPSAMPLE_NEAREST ? 0 : 0.5F;

        element[0] = inside((int64_t)floorf(((float)j + half) * (float)axis->step), axis->in);
        weight[0] = 1;
        return 1;
    }
    if (axis->mode == HT_UPSAMPLE_LINEAR && axis->in == axis->out) {
        element[0] = j;
        weight[0] = 1;
        return 1;
    }
    if (axis->mode == HT_UPSAMPLE_LINEAR) {
        at = at > 0 ? at : 0;
        element[0] = inside((int64_t)at, axis->in);
        element[1] = inside(element[0] + 1, axis->in);
        weight[1] = fmin(at - (double)element[0], 1);
        weight[0] = 1 - weight[1];
        return 2;
    }
    first = (int64_t)floor(at) - 1;
    for (int t = 0; t < TAPS; t++) {
        element[t] = inside(first + t, axis->in);
        weight[t] = cubic(at - (double)(first + t));
    }
    return TAPS;
}

/* To be filled in, in memory that may run out. */
static ht_tensor *table(ht_comm *comm, int ndim, const int64_t shape[], ht_dtype dtype)
{
    return ht__tensor_new(
        ht__body_new("ht_upsample", comm, ht__device_cpu(), dtype, ndim, shape, HT_NONE, NULL));
}

/* Tap t of all values along `axis`, times its weights if there are several. */
static ht_tensor *tap(ht_tensor *x, int axis, const resized *r, int t, bool *last)
{
    ht_device *device = x->body->storage->device;
    ht_tensor *index = table(x->body->comm, 1, &r->out, HT_INT64), *weights, *y;
    int64_t shape[HT_MAX_NDIM], element[TAPS];
    double weight[TAPS];
    int taps = 1;

    for (int i = 0; i < x->body->ndim; i++)
        shape[i] = i == axis ? r->out : 1;
    weights = index != NULL ? table(x->body->comm, x->body->ndim, shape, HT_FLOAT64) : NULL;
    if (weights == NULL)
        return NULL;
    for (int64_t j = 0; j < r->out; j++) {
        taps = taps_of(r, j, element, weight);
        ((int64_t *)ht__body_data(index->body))[j] = element[t];
        ((double *)ht__body_data(weights->body))[j] = weight[t];
    }
    *last = t + 1 == taps;
    y = ht_take(x, ht_to_device(index, device), axis);
    return taps > 1 ? ht_mul(y, ht_astype(ht_to_device(weights, device), x->body->dtype)) : y;
}

static ht_tensor *sum_of_taps(ht_tensor *x, int axis, const resized *r)
{
    ht_tensor *sum = NULL;
    bool last = false;

    for (int t = 0; !last; t++) {
        ht_tensor *part = tap(x, axis, r, t, &last);

        sum = t == 0 ? part : ht_add(sum, part);
    }
    return sum;
}

/* Elements and weights (taps, out) of all values, in memory of this rank. */
static ht_status tables_of(const ht_tensor *x, const resized *r, ht_tensor **at, ht_tensor **weight)
{
    ht_device *device = x->body->storage->device;
    int64_t element[TAPS];
    double w[TAPS];
    const int64_t shape[2] = {taps_of(r, 0, element, w), r->out};
    ht_tensor *index = table(HT_COMM_SELF, 2, shape, HT_INT64), *weights;

    weights = index != NULL ? table(HT_COMM_SELF, 2, shape, HT_FLOAT64) : NULL;
    if (weights == NULL)
        return ht_error_get(NULL);
    for (int64_t j = 0; j < r->out; j++) {
        taps_of(r, j, element, w);
        for (int64_t t = 0; t < shape[0]; t++) {
            ((int64_t *)ht__body_data(index->body))[t * r->out + j] = element[t];
            ((double *)ht__body_data(weights->body))[t * r->out + j] = w[t];
        }
    }
    *at = ht_to_device(index, device);
    *weight = ht_to_device(weights, device);
    return *at != NULL && *weight != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

static ht_status run(ht_kernel kernel, int axis, const ht_tensor *x, const ht_tensor *y,
                     const ht_tensor *at, const ht_tensor *weight)
{
    const bool forward = kernel == HT_KERNEL_RESAMPLE_FORWARD;
    ht_resample_call call = {.call.operands = HT_RESAMPLE_OPERANDS,
                             .x = ht__operand_of(x->body, forward ? HT_READ : HT_WRITE),
                             .y = ht__operand_of(y->body, forward ? HT_WRITE : HT_READ),
                             .at = ht__operand_of(at->body, HT_READ),
                             .weight = ht__operand_of(weight->body, HT_READ),
                             .outer = 1,
                             .in = x->body->lshape[axis],
                             .out = y->body->lshape[axis],
                             .inner = 1,
                             .taps = at->body->shape[0]};

    for (int i = 0; i < x->body->ndim; i++) {
        if (i != axis)
            *(i < axis ? &call.outer : &call.inner) *= x->body->lshape[i];
    }
    return x->body->lsize > 0 ? HT_RUN(x, kernel, &call, "ht_upsample") : HT_SUCCESS;
}

static void resample_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const int axis = *(int *)ht_node_context(node, sizeof axis);
    ht_tensor *at = ht_node_saved(node, 0), *weight = ht_node_saved(node, 1);
    ht_tensor *dy = at != NULL && weight != NULL ? ht_contiguous(g) : NULL;
    ht_tensor *dx = dy != NULL ? ht__input_grad("ht_upsample", node, 0, dy) : NULL;

    if (dx != NULL && run(HT_KERNEL_RESAMPLE_BACKWARD, axis, dx, dy, at, weight) == HT_SUCCESS)
        gin[0] = dx;
}

static ht_tensor *resample(ht_tensor *x, int axis, const resized *r)
{
    int64_t shape[HT_MAX_NDIM];
    ht_tensor *y, *at = NULL, *weight = NULL;
    ht_node *node;

    x = ht_contiguous(x);
    if (x == NULL || !ht__has_kernel("ht_upsample", x, HT_KERNEL_RESAMPLE_FORWARD))
        return NULL;
    for (int i = 0; i < x->body->ndim; i++)
        shape[i] = i == axis ? r->out : x->body->shape[i];
    y = ht__batch_result("ht_upsample", x, x->body->dtype, x->body->ndim, shape);
    if (y == NULL || tables_of(x, r, &at, &weight) != HT_SUCCESS ||
        run(HT_KERNEL_RESAMPLE_FORWARD, axis, x, y, at, weight) != HT_SUCCESS)
        return NULL;
    node = ht_node_new("ht_upsample", resample_backward, HT_LIST(ht_tensor *, x));
    if (node != NULL)
        *(int *)ht_node_context(node, sizeof axis) = axis;
    ht_node_save(node, at);
    ht_node_save(node, weight);
    return ht_node_set_output(node, y);
}

static ht_tensor *resize(ht_tensor *x, int axis, const resized *r)
{
    return x->body->split == HT_NONE || x->body->split == 0 ? resample(x, axis, r)
                                                            : sum_of_taps(x, axis, r);
}

ht_tensor *ht_upsample(ht_tensor *x, const ht_upsample_options *options)
{
    resized axes[SPATIAL];
    ht_upsample_options o;
    ht_comm *outer;
    ht_dtype dtype;
    int spatial;

    if (!HT_PREPARE("ht_upsample", rules, &x) ||
        HT_IS_NULL_ON(x->body->comm, options, "ht_upsample", "options"))
        return NULL;
    o = *options;
    if (HT_CHECK_OPTIONS(x->body->comm, "ht_upsample", &o, ht_upsample_options) != HT_SUCCESS)
        return NULL;
    spatial = x->body->ndim - 2;
    if (spatial > SPATIAL) {
        HT_FAIL(x->body->comm, HT_ERR_SHAPE, "ht_upsample: x is %s, expected 3 to 5 axes",
                ht__shape_str(x->body->ndim, x->body->shape));
        return NULL;
    }
    if (!check_options(x, &o))
        return NULL;
    for (int i = 0; i < spatial; i++) {
        if (!check_axis(x, &o, i, &axes[i]))
            return NULL;
    }
    dtype = x->body->dtype;
    outer = ht__together(x->body->comm); /* tables are of each rank */
    x = ht__wide(x);                     /* also of nearest modes, whose gradients are sums */
    for (int i = 0; i < spatial && x != NULL; i++)
        x = resize(x, 2 + i, &axes[i]);
    ht__together_end(outer);
    return ht_astype(x, dtype);
}
