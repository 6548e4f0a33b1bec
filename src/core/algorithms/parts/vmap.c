/* SPDX-License-Identifier: MIT
 *
 * A function applied along an axis. Each rank calls it for its own indices, on views of its local
 * parts, and writes the results to its slab of the result. Elements travel only for tensors that
 * are split along another axis. A rank may have no index, and a call may fail on one rank. So the
 * ranks exchange the form of the results: an agreement and one Allgather of a dozen numbers. */
#include "ht/vmap.h"

#include <string.h>

#include "core/collective/collective.h"
#include "core/ops/ops.h"
#include "ht/autograd.h"
#include "ht/factories.h"
#include "ht/manipulations.h"

typedef struct mapping {
    const char *what;
    ht_vmap_fn *f;
    void *user;
    int count, out_axis;
    const int *in_axes;
    ht_tensor **xs;     /* where they are to be, then their local parts */
    ht_tensor **slices; /* one call's */
    ht_tensor *lead;    /* whose slabs the result has; its axis is mapped */
    int lead_axis;
} mapping;

static bool is_mapped(const mapping *m, int i)
{
    return m->in_axes[i] != HT_NONE;
}

/* Axes are within their tensors, and of one length. */
static bool check_axes(const mapping *m, int axes[])
{
    ht_comm *comm = m->xs[0]->body->comm;
    int first = -1;

    for (int i = 0; i < m->count; i++) {
        if (!ht__check_together(m->what, m->xs[0], m->xs[i]))
            return false;
        if (axes[i] == HT_NONE)
            continue;
        if (!ht__check_axis(m->what, m->xs[i], &axes[i]))
            return false;
        first = first < 0 ? i : first;
        if (m->xs[i]->body->shape[axes[i]] == m->xs[first]->body->shape[axes[first]])
            continue;
        HT_FAIL(comm, HT_ERR_SHAPE,
                "%s: axis %d of tensor %d, of shape %s, and axis %d of tensor %d, of shape %s, "
                "differ in length",
                m->what, axes[first], first,
                ht__shape_str(m->xs[first]->body->ndim, m->xs[first]->body->shape), axes[i], i,
                ht__shape_str(m->xs[i]->body->ndim, m->xs[i]->body->shape));
        return false;
    }
    if (first >= 0)
        return true;
    HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: no tensor has an axis to map along (%s)", m->what,
            strcmp(m->what, "ht_vmap") == 0 ? "none is split; ht_vmap_ext takes the axes"
                                            : "all in_axes are HT_NONE");
    return false;
}

/* The first tensor that is split along its mapped axis, else one that is moved to be. */
static bool choose_lead(mapping *m)
{
    int first = -1;
    bool any_split = false;

    for (int i = 0; i < m->count; i++) {
        if (!is_mapped(m, i))
            continue;
        first = first < 0 ? i : first;
        any_split |= m->xs[i]->body->split != HT_NONE;
        if (m->xs[i]->body->split != m->in_axes[i])
            continue;
        first = i;
        break;
    }
    if (any_split)
        m->xs[first] = ht_resplit(m->xs[first], m->in_axes[first]);
    m->lead = m->xs[first];
    m->lead_axis = m->in_axes[first];
    return m->lead != NULL;
}

/* x with the slabs of the lead along its own mapped axis, or unsplit. */
static ht_tensor *move(const mapping *m, int i)
{
    const ht_body *lead = m->lead->body;
    ht_tensor *x = m->xs[i];
    ht_body *like;

    if (!is_mapped(m, i) || lead->split == HT_NONE)
        return ht_resplit(x, HT_NONE);
    like = ht__body_metadata(x->body);
    ht_release(like->bounds);
    like->bounds = ht_retain(lead->bounds);
    like->split = m->in_axes[i];
    ht__body_settle(like);
    x = ht__match_slabs(m->what, x, like);
    ht_release(like);
    return x;
}

/* The form of the results, as numbers that the ranks compare. */
enum { KNOWN, DTYPE, NDIM, SHAPE, RECORD = SHAPE + HT_MAX_NDIM };

static ht_status note_result(const mapping *m, const ht_tensor *y, int64_t record[RECORD])
{
    int64_t now[RECORD] = {[KNOWN] = 1};

    if (y == NULL) /* what f has failed with, or nothing */
        return ht_error_get(NULL) != HT_SUCCESS
                   ? ht_error_get(NULL)
                   : ht__error_set(HT_ERR_ARGUMENT, "%s: the function returned NULL", m->what);
    if (y->body->split != HT_NONE || y->body->ndim == HT_MAX_NDIM)
        return ht__error_set(HT_ERR_SHAPE,
                             "%s: the function returned %s, expected a tensor without split and "
                             "of up to %d axes",
                             m->what, ht__body_str(y->body), HT_MAX_NDIM - 1);
    now[DTYPE] = (int64_t)y->body->dtype;
    now[NDIM] = y->body->ndim;
    memcpy(now + SHAPE, y->body->shape, sizeof *now * (size_t)y->body->ndim);
    if (record[KNOWN] && memcmp(record, now, sizeof now) != 0)
        return ht__error_set(
            HT_ERR_SHAPE, "%s: the function returned %s of shape %s, but %s of shape %s before",
            m->what, ht_dtype_name(y->body->dtype), ht__shape_str((int)now[NDIM], now + SHAPE),
            ht_dtype_name((ht_dtype)record[DTYPE]),
            ht__shape_str((int)record[NDIM], record + SHAPE));
    memcpy(record, now, sizeof now);
    return HT_SUCCESS;
}

/* This rank's slab of the result, of n indices. */
static ht_tensor *new_slab(const mapping *m, const int64_t record[RECORD], int64_t n)
{
    int64_t shape[HT_MAX_NDIM];
    int axis = m->out_axis, ndim = (int)record[NDIM] + 1;

    for (int i = 0; i < ndim; i++)
        shape[i] = i == axis ? n : record[SHAPE + i - (i > axis)];
    return ht__tensor_new(ht__body_new(m->what, ht_comm_self(), m->lead->body->storage->device,
                                       (ht_dtype)record[DTYPE], ndim, shape, HT_NONE, NULL));
}

/* -ndim - 1 ... ndim of a result of ndim axes. */
static ht_status settle_out_axis(mapping *m, const int64_t record[RECORD])
{
    int ndim = (int)record[NDIM] + 1, axis = m->out_axis;

    if (axis < -ndim || axis >= ndim)
        return ht__error_set(HT_ERR_ARGUMENT,
                             "%s: out_axis is %s, expected an axis of a result of %d axes", m->what,
                             ht__int_str(axis), ndim);
    m->out_axis = axis < 0 ? axis + ndim : axis;
    return HT_SUCCESS;
}

static ht_tensor *slice_of(ht_tensor *x, int axis, int64_t i)
{
    ht_tensor *one = axis == HT_NONE ? x : ht_narrow(x, axis, i, i + 1);

    return axis == HT_NONE || one == NULL ? one : ht_squeeze(one, axis);
}

static ht_status compute_one(mapping *m, int64_t index, int64_t n, int64_t record[RECORD],
                             ht_tensor **slab)
{
    bool is_first = !record[KNOWN];
    ht_status status = HT_SUCCESS;
    ht_tensor *y;

    for (int k = 0; k < m->count; k++) {
        m->slices[k] = slice_of(m->xs[k], m->in_axes[k], index);
        if (m->slices[k] == NULL)
            return ht_error_get(NULL);
    }
    y = m->f(m->slices, m->user);
    status = note_result(m, y, record);
    if (status == HT_SUCCESS && is_first)
        status = settle_out_axis(m, record);
    if (status == HT_SUCCESS && is_first)
        *slab = ht_retain(new_slab(m, record, n));
    if (status != HT_SUCCESS || *slab == NULL)
        return ht_error_get(NULL);
    y = ht_to_device(y, m->lead->body->storage->device);
    return y == NULL ? ht_error_get(NULL)
                     : ht_copy_(ht_narrow(*slab, m->out_axis, index, index + 1),
                                ht_expand_dims(y, m->out_axis));
}

/* Retained; NULL where there is no index. */
static ht_status compute(mapping *m, int64_t n, int64_t record[RECORD], ht_tensor **slab)
{
    ht_status status = HT_SUCCESS;

    for (int64_t i = 0; i < n && status == HT_SUCCESS; i++) {
        ht_scope *scope = ht_scope_open();

        status = compute_one(m, i, n, record, slab);
        ht_scope_close(scope);
    }
    return status;
}

/* Gives the form of the results, which only some ranks may know, to all ranks. */
static ht_status learn(const mapping *m, int64_t record[RECORD])
{
    ht_comm *comm = m->lead->body->comm;
    int64_t *all = ht__alloc(sizeof *all * RECORD * (size_t)comm->size);
    ht_status status = ht__comm_allgather_i64(comm, record, RECORD, all, m->what);

    for (int r = 0; r < comm->size && status == HT_SUCCESS; r++) {
        const int64_t *its = all + (size_t)r * RECORD;

        if (!its[KNOWN])
            continue;
        if (!record[KNOWN])
            memcpy(record, its, sizeof *its * RECORD);
        if (memcmp(record, its, sizeof *its * RECORD) != 0)
            status = HT_ERR_SHAPE;
    }
    ht__free(all);
    if (status == HT_ERR_SHAPE)
        return HT_FAIL(comm, HT_ERR_SHAPE,
                       "%s: the function returned different shapes or dtypes on different ranks",
                       m->what);
    if (status == HT_SUCCESS && !record[KNOWN])
        return HT_FAIL(comm, HT_ERR_SHAPE,
                       "%s: the mapped axes have length 0, so the function is not called and the "
                       "shape of its result is unknown",
                       m->what);
    return status;
}

/* The slabs of all ranks as one tensor, over this rank's memory. */
static ht_tensor *join(mapping *m, ht_tensor *slab)
{
    const ht_body *lead = m->lead->body, *own = slab->body;
    int split = lead->split == HT_NONE ? HT_NONE : m->out_axis;
    int64_t shape[HT_MAX_NDIM];

    memcpy(shape, own->shape, sizeof shape);
    shape[m->out_axis] = lead->shape[m->lead_axis];
    if (!ht__check_shape(m->what, lead->comm, own->ndim, shape, &split))
        return NULL;
    return ht__tensor_new(ht__body_on(ht_retain(own->storage), lead->comm, own->dtype, own->ndim,
                                      shape, split, lead->bounds));
}

static ht_tensor *run(mapping *m)
{
    ht_comm *comm = m->lead->body->comm;
    int64_t record[RECORD] = {0}, n = m->lead->body->lshape[m->lead_axis];
    ht_tensor *slab = NULL, *y = NULL;
    bool begun;
    ht_status status;

    for (int i = 0; i < m->count; i++)
        m->xs[i] = ht_tensor_local(m->xs[i]);
    begun = ht__agree_begin();
    status = compute(m, n, record, &slab);
    status = ht__agree_end(m->what, comm, begun, status);
    if (status == HT_SUCCESS && learn(m, record) == HT_SUCCESS) {
        if (slab == NULL && settle_out_axis(m, record) == HT_SUCCESS)
            slab = ht_retain(new_slab(m, record, 0));
        y = slab != NULL ? join(m, slab) : NULL;
    }
    ht_release(slab);
    return y;
}

static ht_tensor *vmap(const char *what, ht_vmap_fn *f, int count, ht_tensor *const xs[],
                       const int in_axes[], int out_axis, void *user)
{
    mapping m = {.what = what, .f = f, .user = user, .count = count, .out_axis = out_axis};
    ht_tensor **lists = ht__alloc(sizeof *lists * 2 * (size_t)count), *y = NULL;
    int *axes = ht__alloc(sizeof *axes * (size_t)count);
    bool was = ht_set_grad_enabled(false), good;

    m.xs = memcpy(lists, xs, sizeof *lists * (size_t)count);
    m.slices = lists + count;
    m.in_axes = axes;
    for (int i = 0; i < count; i++)
        axes[i] = in_axes != NULL ? in_axes[i] : xs[i]->body->split;
    good = check_axes(&m, axes) && choose_lead(&m);
    for (int i = 0; i < count && good; i++) {
        m.xs[i] = move(&m, i);
        good = m.xs[i] != NULL;
    }
    if (good)
        y = run(&m);
    ht_set_grad_enabled(was);
    ht__free(axes);
    ht__free(lists);
    return y;
}

static bool check_function(const char *what, ht_vmap_fn *f, int count, ht_tensor *const xs[])
{
    if (!ht__check_operands(what, count, xs))
        return false;
    if (f != NULL)
        return true;
    HT_FAIL(xs[0]->body->comm, HT_ERR_ARGUMENT, "%s: f is NULL", what);
    return false;
}

ht_tensor *ht_vmap(ht_vmap_fn *f, int count, ht_tensor *const xs[], void *user)
{
    static const char what[] = "ht_vmap";

    return check_function(what, f, count, xs) ? vmap(what, f, count, xs, NULL, 0, user) : NULL;
}

ht_tensor *ht_vmap_ext(ht_vmap_fn *f, int count, ht_tensor *const xs[], const int in_axes[],
                       int out_axis, void *user)
{
    static const char what[] = "ht_vmap_ext";

    if (!check_function(what, f, count, xs))
        return NULL;
    if (in_axes == NULL) {
        HT_FAIL(xs[0]->body->comm, HT_ERR_ARGUMENT, "%s: in_axes is NULL", what);
        return NULL;
    }
    return vmap(what, f, count, xs, in_axes, out_axis, user);
}
