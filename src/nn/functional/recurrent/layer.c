/* SPDX-License-Identifier: MIT
 *
 * One layer of a recurrent network in one direction, as one node of the graph.
 *
 * Forward: the gates' part of x is one product over all steps. A step is the product of h and w_hh
 * and a kernel, which overwrites the gates by their values. Backward goes through the steps in the
 * opposite order, and a step is a kernel and the product of its gates' gradient and w_hh. The
 * gradients of weights and of x are products over all steps at the end.
 * Nothing is sent, except for the sums of the weights' gradients where the batch is split.
 * Kept for backward: the operands, the result, the gates of all steps, and c of all steps (LSTM) or
 * the third part of h's gates (GRU). */
#include "nn/functional/recurrent/layer.h"

#include "core/autograd/autograd.h"
#include "core/ops/ops.h"

enum { X, H, C, W_IH, W_HH, B_IH, B_HH, INPUTS };
enum { KEPT_X, KEPT_H, KEPT_C, KEPT_W_IH, KEPT_W_HH, KEPT_LENGTHS, KEPT_Y, KEPT_GATES, KEPT_CELLS };

/* The lengths of a pass; rows are this rank's. */
typedef struct extents {
    const char *what;
    ht_cell cell;
    bool reverse;
    int64_t steps, rows, in, recurrent, hidden, width; /* width: of all gates */
} extents;

typedef struct backward_pass {
    extents e;
    ht_tensor *x, *h, *c, *w_ih, *w_hh, *lengths, *y, *gates, *cells; /* kept */
    ht_tensor *dy, *dgates, *dh_gates, *dh, *dc, *dh0; /* dh: of the kernel; dh0: of h in the end */
} backward_pass;

int ht__cell_gates(ht_cell cell)
{
    return cell == HT_CELL_LSTM ? 4 : cell == HT_CELL_GRU ? 3 : 1;
}

/* Matrix `index` of (rows, width) matrices that follow each other. */
static ht_kernel_operand matrix(const extents *e, const ht_tensor *x, int64_t index, int64_t width,
                                ht_access access)
{
    return ht__operand_part(x->body, index * e->rows * width, e->rows * width, access);
}

/* The step that is number `turn` to run. */
static int64_t step_of(const extents *e, int64_t turn)
{
    return e->reverse ? e->steps - 1 - turn : turn;
}

/* The state before a turn, and c (GRU: the kept part of the gates) after it. */
static ht_kernel_operand state_before(const extents *e, const ht_tensor *h, const ht_tensor *y,
                                      int64_t turn)
{
    return turn == 0 ? matrix(e, h, 0, e->recurrent, HT_READ)
                     : matrix(e, y, step_of(e, turn - 1), e->hidden, HT_READ);
}

static ht_kernel_operand cell_after(const extents *e, const ht_tensor *cells, const ht_tensor *y,
                                    int64_t turn, ht_access access)
{
    if (e->cell == HT_CELL_LSTM && turn == e->steps - 1)
        return matrix(e, y, e->steps, e->hidden, access);
    return matrix(e, cells, turn, e->hidden, access);
}

/* The operands of a turn that forward and backward have in common. */
static ht_cell_call cell_call(const extents *e, const ht_tensor *h, const ht_tensor *c,
                              const ht_tensor *lengths, const ht_tensor *y, const ht_tensor *gates,
                              const ht_tensor *cells, int64_t turn, ht_access access)
{
    const int64_t step = step_of(e, turn);
    ht_cell_call call = {.call.operands = HT_CELL_OPERANDS,
                         .cell = e->cell,
                         .rows = e->rows,
                         .hidden = e->hidden,
                         .step = step,
                         .gates = matrix(e, gates, step, e->width, access),
                         .h = state_before(e, h, y, turn),
                         .y = matrix(e, y, step, e->hidden, access),
                         .lengths = ht__operand_if_any(lengths, HT_READ)};

    if (cells != NULL)
        call.c_new = cell_after(e, cells, y, turn, access);
    if (e->cell == HT_CELL_LSTM)
        call.c = turn == 0 ? matrix(e, c, 0, e->hidden, HT_READ)
                           : cell_after(e, cells, y, turn - 1, HT_READ);
    return call;
}

/* c <- a b^T + bias. */
static bool product(const extents *e, const ht_tensor *c, void *to, const void *a,
                    const ht_tensor *b, const ht_tensor *bias, int64_t rows)
{
    const int64_t n = b->body->shape[0], k = b->body->shape[1];
    ht_gemm_call job = {.trans_b = true,
                        .m = rows,
                        .n = n,
                        .k = k,
                        .lda = k,
                        .ldb = k,
                        .ldc = n,
                        .alpha = 1,
                        .a.data = (void *)a,
                        .b.data = ht__body_data(b->body),
                        .bias.data = bias != NULL ? ht__body_data(bias->body) : NULL,
                        .c.data = to};

    return ht__gemm(e->what, c, &job) == HT_SUCCESS;
}

static bool run_steps(const extents *e, const ht_recurrent_layer *layer, const ht_tensor *y,
                      const ht_tensor *gates, const ht_tensor *cells, const ht_tensor *h_gates)
{
    if (!product(e, gates, ht__body_data(gates->body), ht__body_data(layer->x->body), layer->w_ih,
                 layer->b_ih, e->steps * e->rows))
        return false;
    for (int64_t turn = 0; turn < e->steps; turn++) {
        ht_cell_call call = cell_call(e, layer->h, layer->c, layer->lengths, y, gates, cells, turn,
                                      HT_WRITE);

        if (!product(e, h_gates, ht__body_data(h_gates->body), call.h.data, layer->w_hh,
                     layer->b_hh, e->rows))
            return false;
        call.h_gates = ht__operand_of(h_gates->body, HT_READ);
        if (HT_RUN(y, HT_KERNEL_CELL_FORWARD, &call, e->what) != HT_SUCCESS)
            return false;
    }
    return true;
}

/* ---- backward -------------------------------------------------------------------------------- */

/* c <- a b + beta c, a of `rows` rows. */
static bool times_weight(const extents *e, const ht_tensor *c, void *to, const void *a,
                         const ht_tensor *b, int64_t rows, double beta)
{
    const int64_t k = b->body->shape[0], n = b->body->shape[1];
    ht_gemm_call job = {.m = rows,
                        .n = n,
                        .k = k,
                        .lda = k,
                        .ldb = n,
                        .ldc = n,
                        .alpha = 1,
                        .beta = beta,
                        .a.data = (void *)a,
                        .b.data = ht__body_data(b->body),
                        .c.data = to};

    return ht__gemm(e->what, c, &job) == HT_SUCCESS;
}

/* dgates of all steps; what remains in dh0 and dc are the gradients of the first states. */
static bool run_back(const backward_pass *p)
{
    const extents *e = &p->e;

    for (int64_t turn = e->steps - 1; turn >= 0; turn--) {
        const bool last = turn == e->steps - 1;
        const int64_t step = step_of(e, turn);
        ht_cell_call call = cell_call(e, p->h, p->c, p->lengths, p->y, p->gates, p->cells, turn,
                                      HT_READ);
        const void *dh_gates;

        call.dy = matrix(e, p->dy, step, e->hidden, HT_READ);
        call.dgates = matrix(e, p->dgates, step, e->width, HT_WRITE);
        if (!last)
            call.dh_in = ht__operand_of(p->dh->body, HT_READ);
        call.dh = ht__operand_of(p->dh->body, HT_WRITE);
        if (e->cell == HT_CELL_GRU)
            call.dh_gates = matrix(e, p->dh_gates, step, e->width, HT_WRITE);
        if (e->cell == HT_CELL_LSTM) {
            call.dc_in = last ? matrix(e, p->dy, e->steps, e->hidden, HT_READ)
                              : ht__operand_of(p->dc->body, HT_READ);
            call.dc = ht__operand_of(p->dc->body, HT_WRITE);
        }
        dh_gates = e->cell == HT_CELL_GRU ? call.dh_gates.data : call.dgates.data;
        if (HT_RUN(p->y, HT_KERNEL_CELL_BACKWARD, &call, e->what) != HT_SUCCESS ||
            !times_weight(e, p->dh0, ht__body_data(p->dh0->body), dh_gates, p->w_hh, e->rows,
                          p->dh0 == p->dh))
            return false;
    }
    return true;
}

/* dw += dgates^T states over `count` matrices, from `first` of dgates and `state` of the other on.
 */
static bool add_products(const backward_pass *p, const ht_tensor *dw, const ht_tensor *dgates,
                         int64_t first, const ht_tensor *states, int64_t state, int64_t count,
                         double beta)
{
    const extents *e = &p->e;
    const int64_t width = dw->body->shape[1];
    ht_gemm_call job = {.trans_a = true,
                        .m = e->width,
                        .n = width,
                        .k = count * e->rows,
                        .lda = e->width,
                        .ldb = width,
                        .ldc = width,
                        .alpha = 1,
                        .beta = beta,
                        .c.data = ht__body_data(dw->body)};

    if (count * e->rows == 0)
        return true;
    job.a.data = matrix(e, dgates, first, e->width, HT_READ).data;
    job.b.data = matrix(e, states, state, width, HT_READ).data;
    return ht__gemm(e->what, dw, &job) == HT_SUCCESS;
}

/* The gradient of a weight; `recurrent`: of w_hh, whose operand are the states before each turn. */
static ht_tensor *grad_weight(ht_node *node, const backward_pass *p, bool recurrent)
{
    const extents *e = &p->e;
    ht_tensor *dgates = recurrent ? p->dh_gates : p->dgates, *x = recurrent ? p->y : p->x;
    ht_tensor *dw = ht__parameter_grad(e->what, node, recurrent ? W_HH : W_IH, p->y,
                                       ht__product_dtype(p->y->body->dtype));
    ht_tensor *h = p->h;
    bool good;

    if (dw == NULL || (dgates = ht_astype(dgates, dw->body->dtype)) == NULL ||
        (x = ht_astype(x, dw->body->dtype)) == NULL || (h = ht_astype(h, dw->body->dtype)) == NULL)
        return NULL;
    if (e->rows == 0)
        good = ht_fill_(dw, 0) == HT_SUCCESS;
    else if (recurrent)
        good = add_products(p, dw, dgates, step_of(e, 0), h, 0, 1, 0) &&
               add_products(p, dw, dgates, e->reverse ? 0 : 1, x, e->reverse ? 1 : 0, e->steps - 1,
                            1);
    else
        good = add_products(p, dw, dgates, 0, x, 0, e->steps, 0);
    return good ? ht__parameter_grad_done(e->what, dw, p->y) : NULL;
}

static ht_tensor *grad_x(ht_node *node, const backward_pass *p)
{
    ht_tensor *dx = ht__input_grad(p->e.what, node, X, p->y);

    if (dx == NULL || dx->body->lsize == 0 ||
        times_weight(&p->e, dx, ht__body_data(dx->body), ht__body_data(p->dgates->body), p->w_ih,
                     p->e.steps * p->e.rows, 0))
        return dx;
    return NULL;
}

/* Parameters first: their gradients travel while those of the inputs are computed. */
static void give_gradients(ht_node *node, const backward_pass *p, ht_tensor *gin[])
{
    const int64_t width = p->e.width;
    const bool gru = p->e.cell == HT_CELL_GRU;

    if (ht_node_needs(node, B_HH))
        gin[B_HH] = ht__sum_to(p->e.what, p->dh_gates, 1, &width);
    if (ht_node_needs(node, B_IH))
        gin[B_IH] = !gru && gin[B_HH] != NULL ? gin[B_HH]
                                              : ht__sum_to(p->e.what, p->dgates, 1, &width);
    if (ht_node_needs(node, W_HH))
        gin[W_HH] = grad_weight(node, p, true);
    ht__backward_early(node, W_HH, gin);
    if (ht_node_needs(node, W_IH))
        gin[W_IH] = grad_weight(node, p, false);
    ht__backward_early(node, W_IH, gin);
    if (ht_node_needs(node, X))
        gin[X] = grad_x(node, p);
    gin[H] = p->dh0;
    if (ht_node_needs(node, C))
        gin[C] = p->dc;
}

static ht_tensor *like_y(const backward_pass *p, int ndim, const int64_t shape[])
{
    const ht_body *y = p->y->body;

    return ht__tensor_new(ht__body_new(p->e.what, y->comm, y->storage->device, y->dtype, ndim,
                                       shape, y->split == HT_NONE ? HT_NONE : ndim - 2, y->bounds));
}

static bool make_scratch(backward_pass *p)
{
    const extents *e = &p->e;
    const int64_t batch = p->y->body->shape[1];
    const int64_t gates[] = {e->steps, batch, e->width}, hidden[] = {batch, e->hidden};
    const int64_t recurrent[] = {batch, e->recurrent};

    p->dgates = like_y(p, 3, gates);
    p->dh_gates = e->cell == HT_CELL_GRU ? like_y(p, 3, gates) : p->dgates;
    p->dh = like_y(p, 2, hidden);
    p->dh0 = e->recurrent == e->hidden ? p->dh : like_y(p, 2, recurrent);
    p->dc = e->cell == HT_CELL_LSTM ? like_y(p, 2, hidden) : NULL;
    return p->dgates != NULL && p->dh_gates != NULL && p->dh != NULL && p->dh0 != NULL &&
           (p->dc != NULL || e->cell != HT_CELL_LSTM);
}

/* False if a tensor was overwritten, after that error. */
static bool take_kept(ht_node *node, backward_pass *p)
{
    p->x = ht_node_saved(node, KEPT_X);
    p->h = ht_node_saved(node, KEPT_H);
    p->c = ht_node_saved(node, KEPT_C);
    p->w_ih = ht_node_saved(node, KEPT_W_IH);
    p->w_hh = ht_node_saved(node, KEPT_W_HH);
    p->lengths = ht_node_saved(node, KEPT_LENGTHS);
    p->y = ht_node_saved(node, KEPT_Y);
    p->gates = ht_node_saved(node, KEPT_GATES);
    p->cells = ht_node_saved(node, KEPT_CELLS);
    return p->x != NULL && p->h != NULL && p->w_ih != NULL && p->w_hh != NULL && p->y != NULL &&
           p->gates != NULL && (p->c != NULL || p->e.cell != HT_CELL_LSTM);
}

static void backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    backward_pass p = {.e = *(extents *)ht_node_context(node, sizeof(extents)),
                       .dy = ht_contiguous(g)};

    if (p.dy == NULL || !take_kept(node, &p) || !make_scratch(&p))
        return;
    if (p.e.rows > 0 && !run_back(&p))
        return;
    give_gradients(node, &p, gin);
}

/* ---- the call -------------------------------------------------------------------------------- */

static ht_tensor *record(const ht_recurrent_layer *l, const extents *e, ht_tensor *y,
                         ht_tensor *gates, ht_tensor *cells)
{
    ht_node *node = ht_node_new(
        e->what, backward,
        HT_LIST(ht_tensor *, l->x, l->h, l->c, l->w_ih, l->w_hh, l->b_ih, l->b_hh));
    ht_tensor *const kept[] = {l->x, l->h, l->c, l->w_ih, l->w_hh, l->lengths, y, gates, cells};

    if (node == NULL)
        return y;
    *(extents *)ht_node_context(node, sizeof *e) = *e;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        ht_node_save(node, kept[i]);
    return ht_node_set_output(node, y);
}

ht_tensor *ht__recurrent_layer(const ht_recurrent_layer *layer)
{
    const ht_tensor *x = layer->x;
    const int64_t steps = x->body->shape[0], batch = x->body->shape[1];
    const int64_t width = layer->w_hh->body->shape[0];
    const int64_t hidden = width / ht__cell_gates(layer->cell);
    const bool lstm = layer->cell == HT_CELL_LSTM;
    const extents e = {.what = layer->what,
                       .cell = layer->cell,
                       .reverse = layer->reverse,
                       .steps = steps,
                       .rows = x->body->lshape[1],
                       .in = x->body->shape[2],
                       .recurrent = layer->w_hh->body->shape[1],
                       .hidden = hidden,
                       .width = width};
    const ht_dtype dtype = x->body->dtype;
    ht_tensor *y, *gates, *h_gates, *cells = NULL;

    if (!ht__has_kernel(e.what, x, HT_KERNEL_CELL_FORWARD) ||
        !ht__has_kernel(e.what, x, HT_KERNEL_GEMM))
        return NULL;
    y = ht__batch_result(e.what, x, dtype, HT_SHAPE(steps + lstm, batch, hidden));
    gates = ht__batch_result(e.what, x, dtype, HT_SHAPE(steps, batch, width));
    h_gates = ht__batch_result(e.what, x, dtype, HT_SHAPE(1, batch, width));
    if (lstm || layer->cell == HT_CELL_GRU)
        cells = ht__batch_result(e.what, x, dtype, HT_SHAPE(steps, batch, hidden));
    if (y == NULL || gates == NULL || h_gates == NULL ||
        (cells == NULL && (lstm || layer->cell == HT_CELL_GRU)))
        return NULL;
    if (e.rows > 0 && !run_steps(&e, layer, y, gates, cells, h_gates))
        return NULL;
    return record(layer, &e, y, gates, cells);
}
