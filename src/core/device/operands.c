/* SPDX-License-Identifier: MIT
 *
 * What the arguments of each kernel point to, for those who treat all kernels alike: the host that
 * stands in for a device, a device that translates addresses. */
#include "core/device/device.h"
#include "ht/kernels/decompositions.h"
#include "ht/kernels/elementwise.h"
#include "ht/kernels/fft.h"
#include "ht/kernels/index.h"
#include "ht/kernels/nn.h"
#include "ht/kernels/optim.h"
#include "ht/kernels/order.h"
#include "ht/kernels/random.h"
#include "ht/kernels/reduce.h"
#include "ht/kernels/spatial.h"

/* Whoever is told. */
typedef struct visitor {
    ht_operand_visit_fn *visit;
    void *user;
} visitor;

static void visit(const visitor *v, void *slot, int64_t begin, int64_t end, bool written)
{
    void **at = slot;

    if (*at != NULL)
        v->visit(at, begin, end, written, v->user);
}

/* `count` elements of a dtype, one after another. */
static void visit_dense(const visitor *v, void *slot, int64_t count, ht_dtype dtype, bool written)
{
    visit(v, slot, 0, count * (int64_t)ht_dtype_size(dtype), written);
}

/* An operand's dtype by its letter (ht/kernels/elementwise.h, reduce.h). */
static ht_dtype dtype_of(char letter, const ht_kernel_call *call)
{
    const ht_dtype dtype = call->dtype;
    const bool is_complex = dtype == HT_COMPLEX64 || dtype == HT_COMPLEX128;
    const ht_dtype wide = is_complex ? HT_COMPLEX128 : HT_FLOAT64;
    const bool exact = !is_complex && !ht_dtype_is_floating(dtype);

    switch (letter | 0x20) {
    case 'b':
        return HT_BOOL;
    case 'p':
        return dtype == HT_COMPLEX64 ? HT_FLOAT32 : dtype == HT_COMPLEX128 ? HT_FLOAT64 : dtype;
    case 'c':
        return (ht_dtype)(call->kernel - HT_KERNEL_CONVERT_BOOL);
    case 'd':
    case 'r':
        return HT_FLOAT64;
    case 'i':
        return HT_INT64;
    case 'w':
        return wide;
    case 't':
        return exact ? HT_INT64 : dtype;
    case 'm':
        return exact ? HT_FLOAT32 : dtype;
    case 'a':
        return exact ? HT_INT64 : wide;
    default:
        return dtype;
    }
}

/* Elements before and behind the first that steps along axes reach. */
typedef struct reach {
    int64_t low, high;
} reach;

static void extend(reach *r, int64_t length, int64_t stride)
{
    const int64_t far = (length - 1) * stride;

    *(far < 0 ? &r->low : &r->high) += far;
}

static bool is_empty(const ht_loop *loop)
{
    for (int axis = 0; axis < loop->ndim; axis++) {
        if (loop->shape[axis] == 0)
            return true;
    }
    return false;
}

/* `beyond[k]`: what operand k reaches at every element of the loop. */
static void visit_loop(const visitor *v, ht_loop *loop, const char *operands, const reach beyond[])
{
    const bool nothing = is_empty(loop);

    for (int k = 0; operands[k] != '\0'; k++) {
        const int64_t size = (int64_t)ht_dtype_size(dtype_of(operands[k], &loop->call));
        reach r = beyond[k];

        for (int axis = 0; axis < loop->ndim; axis++)
            extend(&r, loop->shape[axis], loop->stride[k][axis]);
        visit(v, &loop->data[k], nothing ? 0 : r.low * size, nothing ? 0 : (r.high + 1) * size,
              operands[k] < 'a');
    }
}

static void visit_reduction(const visitor *v, ht_reduction *r, const char *operands)
{
    reach beyond[HT_LOOP_OPERANDS] = {{0, 0}};
    void *input = r->loop.data[1];
    bool nothing = false;

    if (operands[0] == 'R')
        beyond[0].high = dtype_of('w', &r->loop.call) == HT_COMPLEX128 ? 5 : 3;
    for (int axis = 0; axis < r->ndim; axis++) {
        nothing = nothing || r->shape[axis] == 0;
        extend(&beyond[1], r->shape[axis], r->stride[axis]);
    }
    if (nothing) /* the input is not read */
        r->loop.data[1] = NULL;
    visit_loop(v, &r->loop, operands, beyond);
    if (nothing)
        r->loop.data[1] = input;
}

static void visit_cumulation(const visitor *v, ht_cumulation *c, const char *operands)
{
    reach beyond[HT_LOOP_OPERANDS] = {{0, 0}};

    if (c->count > 0) {
        extend(&beyond[0], c->count, c->out_stride);
        extend(&beyond[1], c->count, c->in_stride);
    }
    visit_loop(v, &c->loop, operands, beyond);
}

/* What is put is added to what there is, or leaves some of it, so that x is read and written. */
static void visit_ht_index_call(const visitor *v, ht_index_call *c)
{
    const bool take = c->loop.call.kernel == HT_KERNEL_TAKE;
    reach beyond[HT_LOOP_OPERANDS] = {{0, 0}};
    reach *x = &beyond[take ? 1 : 0], *rows = &beyond[take ? 0 : 1];

    if (c->rows == 0)
        return;
    extend(rows, c->rows, c->row_step);
    for (int i = 0; i < c->axes; i++) {
        ht_indexed_axis *axis = &c->axis[i];
        reach at = {0, 0};

        extend(x, axis->count > 0 ? axis->count : 1, axis->stride);
        extend(&at, c->rows, axis->at_step);
        visit(v, &axis->at, at.low * 8, (at.high + 1) * 8, false);
    }
    visit_loop(v, &c->loop, "Ss", beyond);
}

static void visit_ht_nonzero_call(const visitor *v, ht_nonzero_call *c)
{
    reach r = {0, 0};

    for (int axis = 0; axis < c->ndim; axis++)
        extend(&r, c->shape[axis], c->stride[axis]);
    visit(v, &c->mask, r.low, r.high + 1, false);
    visit_dense(v, &c->at, c->count * c->ndim, HT_INT64, true);
}

static void visit_random(const visitor *v, ht_random_call *r)
{
    visit_dense(v, &r->out, r->outer * r->inner, r->call.dtype, true);
}

static void visit_matrix(const visitor *v, void *slot, const ht_gemm_call *g, int64_t rows,
                         int64_t columns, int64_t leading, int64_t step, bool written)
{
    const bool nothing = rows == 0 || columns == 0 || g->batch == 0;
    const int64_t count = (rows - 1) * leading + columns + (g->batch - 1) * step;

    visit_dense(v, slot, nothing ? 0 : count, g->call.dtype, written);
}

static void visit_ht_gemm_call(const visitor *v, ht_gemm_call *g)
{
    visit_matrix(v, &g->a, g, g->trans_a ? g->k : g->m, g->trans_a ? g->m : g->k, g->lda, g->a_step,
                 false);
    visit_matrix(v, &g->b, g, g->trans_b ? g->n : g->k, g->trans_b ? g->k : g->n, g->ldb, g->b_step,
                 false);
    visit_dense(v, &g->bias, g->n, g->call.dtype, false);
    visit_matrix(v, &g->c, g, g->m, g->n, g->ldc, g->c_step, true);
}

static void visit_distance(const visitor *v, ht_distance_call *d)
{
    const bool nothing = d->m == 0 || d->n == 0;

    visit_dense(v, &d->x, d->m * d->k, d->call.dtype, false);
    visit_dense(v, &d->y, d->n * d->k, d->call.dtype, false);
    visit_dense(v, &d->out, nothing ? 0 : (d->m - 1) * d->leading + d->n, d->call.dtype, true);
}

static void visit_image(const visitor *v, void *slot, ht_dtype dtype, const int64_t shape[],
                        const int64_t stride[], int ndim, bool written)
{
    const int64_t size = (int64_t)ht_dtype_size(dtype);
    reach r = {0, 0};
    bool nothing = false;

    for (int axis = 0; axis < ndim; axis++) {
        nothing = nothing || shape[axis] == 0;
        extend(&r, shape[axis], stride[axis]);
    }
    visit(v, slot, nothing ? 0 : r.low * size, nothing ? 0 : (r.high + 1) * size, written);
}

static void visit_ht_conv_call(const visitor *v, ht_conv_call *c)
{
    const ht_dtype dtype = c->call.dtype;
    const bool data = c->call.kernel == HT_KERNEL_CONV_BACKWARD_DATA;
    const bool weight = c->call.kernel == HT_KERNEL_CONV_BACKWARD_WEIGHT;
    int64_t x[2 + HT_SPATIAL] = {c->n, c->c}, y[2 + HT_SPATIAL] = {c->n, c->o};
    int64_t weights = c->o * (c->c / c->groups);

    for (int i = 0; i < c->spatial; i++) {
        x[2 + i] = c->in[i];
        y[2 + i] = c->out[i];
        weights *= c->kernel[i];
    }
    visit_image(v, &c->x, dtype, x, c->x_stride, 2 + c->spatial, data);
    visit_dense(v, &c->weight, weights, dtype, weight);
    visit_dense(v, &c->bias, c->o, dtype, weight);
    visit_image(v, &c->y, dtype, y, c->y_stride, 2 + c->spatial, !data && !weight);
}

static void visit_ht_pool_call(const visitor *v, ht_pool_call *p)
{
    const bool forward = p->call.kernel == HT_KERNEL_MAX_POOL_FORWARD;
    int64_t x[2 + HT_SPATIAL] = {p->n, p->c}, y[2 + HT_SPATIAL] = {p->n, p->c};
    int64_t count = p->n * p->c;

    for (int i = 0; i < p->spatial; i++) {
        x[2 + i] = p->in[i];
        y[2 + i] = p->out[i];
        count *= p->out[i];
    }
    visit_image(v, &p->x, p->call.dtype, x, p->x_stride, 2 + p->spatial, !forward);
    visit_image(v, &p->y, p->call.dtype, y, p->y_stride, 2 + p->spatial, forward);
    visit_dense(v, &p->index, count, HT_INT32, forward);
}

static void visit_ht_norm_call(const visitor *v, ht_norm_call *n)
{
    const int64_t count = n->outer * n->channels * n->inner;
    const ht_dtype dtype = n->call.dtype;
    const ht_kernel kernel = n->call.kernel;

    visit_dense(v, &n->x, count, dtype, false);
    visit_dense(v, &n->y, count, dtype, kernel == HT_KERNEL_NORM_FORWARD);
    visit_dense(v, &n->dx, count, dtype, true);
    visit_dense(v, &n->moments, 2 * n->channels, HT_FLOAT64, kernel == HT_KERNEL_NORM_MOMENTS);
    visit_dense(v, &n->channel, 4 * n->channels, HT_FLOAT64, false);
    visit_dense(v, &n->sums, 2 * n->channels, HT_FLOAT64, kernel == HT_KERNEL_NORM_SUMS);
}

static void visit_ht_norm_channels_call(const visitor *v, ht_norm_channels_call *n)
{
    const ht_dtype dtype = n->call.dtype;

    visit_dense(v, &n->moments, 2 * n->channels, HT_FLOAT64, false);
    visit_dense(v, &n->weight, n->channels, dtype, false);
    visit_dense(v, &n->bias, n->channels, dtype, false);
    visit_dense(v, &n->running_mean, n->channels, dtype, n->track);
    visit_dense(v, &n->running_var, n->channels, dtype, n->track);
    visit_dense(v, &n->channel, 4 * n->channels, HT_FLOAT64, true);
}

static void visit_ht_rows_call(const visitor *v, ht_rows_call *r)
{
    const ht_kernel kernel = r->call.kernel;
    const bool nll = kernel == HT_KERNEL_NLL_FORWARD || kernel == HT_KERNEL_NLL_BACKWARD;
    const bool forward = kernel == HT_KERNEL_NLL_FORWARD || kernel == HT_KERNEL_LOG_SOFTMAX_FORWARD;
    const int64_t count = r->rows * r->columns, results = nll ? r->rows : count;

    visit_dense(v, &r->x, count, r->call.dtype, !forward);
    visit_dense(v, &r->y, results, r->call.dtype, forward);
    visit_dense(v, &r->dy, results, r->call.dtype, false);
    visit_dense(v, &r->target, r->rows, HT_INT64, false);
}

static void visit_ht_dropout_call(const visitor *v, ht_dropout_call *d)
{
    const int64_t count = d->draw.outer * d->draw.inner;

    visit_dense(v, &d->x, count, d->draw.call.dtype, false);
    visit_dense(v, &d->y, count, d->draw.call.dtype, true);
    visit(v, &d->mask, 0, count, d->draw.call.kernel == HT_KERNEL_DROPOUT_FORWARD);
}

/* Elements of q, r and t of one matrix; a is (m, n). */
static void visit_ht_factor_call(const visitor *v, ht_factor_call *f)
{
    const ht_dtype dtype = f->call.dtype, real = dtype_of('p', &f->call);
    const ht_kernel kernel = f->call.kernel;
    const int64_t k = f->m < f->n ? f->m : f->n;
    const bool whole = kernel == HT_KERNEL_LU || kernel == HT_KERNEL_SWAP_ROWS;
    const bool swaps = kernel == HT_KERNEL_SWAP_ROWS;

    visit_dense(v, &f->a, f->batch * f->m * f->n, dtype, false);
    visit_dense(v, &f->q, f->batch * f->m * (whole ? f->n : k), dtype, true);
    visit_dense(v, &f->r, f->batch * k * f->n, dtype, true);
    visit_dense(v, &f->t, f->batch * k * k, dtype, true);
    visit_dense(v, &f->real, f->batch * k, real, true);
    visit_dense(v, &f->pivots, f->batch * (swaps ? f->count : k), HT_INT64, !swaps);
    visit_dense(v, &f->info, f->batch, HT_INT64, true);
}

static void visit_ht_triangular_call(const visitor *v, ht_triangular_call *t)
{
    const int64_t size = t->right ? t->n : t->m;

    visit_dense(v, &t->t, t->batch * size * size, t->call.dtype, false);
    visit_dense(v, &t->b, t->batch * t->m * t->n, t->call.dtype, true);
}

static ht_dtype real_of(ht_dtype dtype)
{
    return dtype == HT_COMPLEX64 ? HT_FLOAT32 : HT_FLOAT64;
}

static void visit_ht_fft_call(const visitor *v, ht_fft_call *f)
{
    const ht_dtype dtype = f->call.dtype;
    const bool from_real = f->call.kernel == HT_KERNEL_FFT_REAL;
    const bool to_real = f->call.kernel == HT_KERNEL_FFT_HERMITIAN;
    const int64_t lines = f->outer * f->inner, half = lines * (f->n / 2 + 1);

    visit_dense(v, &f->in, to_real ? half : lines * f->n, from_real ? real_of(dtype) : dtype,
                false);
    visit_dense(v, &f->out, from_real ? half : lines * f->n, to_real ? real_of(dtype) : dtype,
                true);
}

static void visit_ht_twiddle_call(const visitor *v, ht_twiddle_call *t)
{
    visit_dense(v, &t->x, t->rows * t->columns, t->call.dtype, true);
}

static void visit_update(const visitor *v, ht_update_call *u)
{
    ht_update_part *part = ht_update_parts(u);

    for (int64_t i = 0; i < u->count; i++, part++) {
        visit_dense(v, &part->param, part->n, u->call.dtype, true);
        visit_dense(v, &part->grad, part->n, u->call.dtype, false);
        for (int s = 0; s < HT_UPDATE_STATES; s++)
            visit_dense(v, &part->state[s], part->n, u->call.dtype, true);
    }
    visit_dense(v, &u->factor, 1, HT_FLOAT64, false);
    visit_dense(v, &u->unless, 1, HT_FLOAT64, false);
}

static void visit_ht_sort_call(const visitor *v, ht_sort_call *s)
{
    reach beyond[HT_LOOP_OPERANDS] = {{0, 0}};

    if (s->keep > 0) {
        extend(&beyond[0], s->keep, s->out_stride);
        extend(&beyond[1], s->count, s->in_stride);
        extend(&beyond[2], s->keep, s->index_stride);
    }
    visit_loop(v, &s->loop, "SsI", beyond);
}

static void visit_ht_merge_call(const visitor *v, ht_merge_call *m)
{
    const int64_t runs = m->lines * m->runs, count = m->lines * m->count;

    visit_dense(v, &m->begin, runs, HT_INT64, false);
    visit_dense(v, &m->end, runs, HT_INT64, false);
    visit_dense(v, &m->x, m->size, m->call.dtype, false);
    visit_dense(v, &m->y, count, m->call.dtype, true);
    visit_dense(v, &m->x_index, m->size, HT_INT64, false);
    visit_dense(v, &m->y_index, count, HT_INT64, true);
}

static void visit_ht_place_call(const visitor *v, ht_place_call *p)
{
    visit_dense(v, &p->begin, p->count, HT_INT64, false);
    visit_dense(v, &p->end, p->count, HT_INT64, false);
    visit_dense(v, &p->keys, 2 * p->count, HT_INT64, false);
    visit_dense(v, &p->x, p->size, p->call.dtype, false);
    visit_dense(v, &p->place, p->count, HT_INT64, true);
}

static void visit_ht_search_call(const visitor *v, ht_search_call *s)
{
    static const reach none[HT_LOOP_OPERANDS] = {{0, 0}};

    visit_loop(v, &s->loop, "Is", none);
    visit_dense(v, &s->sorted, s->count, s->loop.call.dtype, false);
}

static void visit_ht_digits_call(const visitor *v, ht_digits_call *d)
{
    const int64_t targets = d->lines * d->targets;

    visit_dense(v, &d->keys, targets, HT_INT64, false);
    visit_dense(v, &d->x, d->lines * d->count, d->call.dtype, false);
    visit_dense(v, &d->counts, targets << d->bits, HT_INT64, true);
}

void ht__call_operands(ht_kernel_call *call, ht_operand_visit_fn *visit_fn, void *user)
{
    static const reach none[HT_LOOP_OPERANDS] = {{0, 0}};
    const visitor v = {visit_fn, user}, *to = &v;
    void *arguments = call;

    switch (call->kernel) {
#define ROW(name, operands)                        \
    case HT_KERNEL_##name:                         \
        visit_loop(to, arguments, operands, none); \
        break;
        HT_ELEMENTWISE_KERNELS(ROW)
#undef ROW
#define ROW(name, operands)                       \
    case HT_KERNEL_##name:                        \
        visit_reduction(to, arguments, operands); \
        break;
        HT_REDUCE_KERNELS(ROW)
#undef ROW
#define ROW(name, operands)                        \
    case HT_KERNEL_##name:                         \
        visit_cumulation(to, arguments, operands); \
        break;
        HT_CUMULATIVE_KERNELS(ROW)
#undef ROW
#define ROW(name)                    \
    case HT_KERNEL_##name:           \
        visit_random(to, arguments); \
        break;
        HT_RANDOM_KERNELS(ROW)
#undef ROW
#define ROW(name, type)              \
    case HT_KERNEL_##name:           \
        visit_##type(to, arguments); \
        break;
        HT_INDEX_KERNELS(ROW)
        HT_NN_KERNELS(ROW)
        HT_DECOMPOSITION_KERNELS(ROW)
        HT_ORDER_KERNELS(ROW)
        HT_FFT_KERNELS(ROW)
#undef ROW
#define ROW(name)                    \
    case HT_KERNEL_##name:           \
        visit_update(to, arguments); \
        break;
        HT_OPTIM_KERNELS(ROW)
#undef ROW
#define ROW(name)                      \
    case HT_KERNEL_##name:             \
        visit_distance(to, arguments); \
        break;
        HT_SPATIAL_KERNELS(ROW)
#undef ROW
    default:
        break;
    }
}
