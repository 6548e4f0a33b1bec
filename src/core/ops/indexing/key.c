/* SPDX-License-Identifier: MIT
 *
 * Turns keys into views; no element moves. Along the split axis each rank keeps its elements of a
 * slice, so that slabs may differ in length. The element of an integer along that axis is on one
 * rank. */
#include "core/ops/indexing/key.h"

typedef struct walk {
    const char *what;
    const ht_body *x;
    ht_selection *to;
    int axis; /* of x, the next one */
} walk;

static bool fail_axes(const walk *w)
{
    HT_FAIL(w->x->comm, HT_ERR_ARGUMENT, "%s: the result would have more than %d axes", w->what,
            HT_MAX_NDIM);
    return false;
}

/* Indices of the next axis of x as an axis of the view. */
static bool keep(walk *w, int64_t start, int64_t length, int64_t step)
{
    ht_body *y = w->to->view;
    int from = w->axis++, to = y->ndim;

    if (to == HT_MAX_NDIM)
        return fail_axes(w);
    y->shape[to] = length;
    y->stride[to] = w->x->stride[from] * step;
    y->gstride[to] = w->x->gstride[from] * step;
    y->offset += length > 0 ? start * w->x->stride[from] : 0;
    y->ndim++;
    return true;
}

/* How many of the indices lie before an edge of x's slabs. */
static int64_t count_before(int64_t edge, int64_t start, int64_t length, int64_t step)
{
    int64_t count = edge > start ? (edge - start - 1) / step + 1 : 0;

    return count < length ? count : length;
}

/* Along the split axis; step > 0. */
static bool keep_split(walk *w, int64_t start, int64_t length, int64_t step)
{
    ht_body *y = w->to->view;
    const ht_body *x = w->x;
    int64_t before = count_before(x->split_start, start, length, step), first;

    if (y->ndim == HT_MAX_NDIM)
        return fail_axes(w);
    y->split = y->ndim;
    if (start == 0 && length == x->shape[x->split] && step == 1)
        return keep(w, 0, length, 1);
    ht_release(y->bounds);
    y->bounds = ht__bounds_new(x->comm->size);
    for (int rank = 0; rank <= x->comm->size; rank++)
        y->bounds->start[rank] = count_before(ht__body_start(x, rank), start, length, step);
    first = start + before * step - x->split_start;
    return keep(w, y->bounds->start[x->comm->rank + 1] > before ? first : 0, length, step);
}

static bool keep_all(walk *w)
{
    int64_t length = w->x->shape[w->axis];

    return w->axis == w->x->split ? keep_split(w, 0, length, 1) : keep(w, 0, length, 1);
}

static bool take_integer(walk *w, const ht_index *item)
{
    int64_t length = w->x->shape[w->axis], at = item->start;

    if (at < -length || at >= length) {
        HT_FAIL(w->x->comm, HT_ERR_ARGUMENT,
                "%s: index %lld is out of range for axis %d of x of shape %s", w->what,
                (long long)at, w->axis, ht__shape_str(w->x->ndim, w->x->shape));
        return false;
    }
    at += at < 0 ? length : 0;
    if (w->axis == w->x->split) {
        w->to->held = w->to->view->ndim;
        return keep_split(w, at, 1, 1);
    }
    w->to->view->offset += at * w->x->stride[w->axis++];
    return true;
}

/* An end of a slice, inside of what may be one: `open` where it is left open. */
static int64_t end_of(int64_t at, int64_t open, int64_t length, int64_t step)
{
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? length - 1 : length;

    if (at == HT_OPEN)
        return open;
    at += at < 0 ? length : 0;
    return at < low ? low : at > high ? high : at;
}

static bool take_slice(walk *w, const ht_index *item)
{
    int64_t all = w->x->shape[w->axis], step = item->step, length = 0, start, stop;
    const bool down = step < 0;

    if (step == 0) {
        HT_FAIL(w->x->comm, HT_ERR_ARGUMENT,
                "%s: step of the slice of axis %d is 0, expected another integer", w->what,
                w->axis);
        return false;
    }
    step = step < -INT64_MAX ? -INT64_MAX : step;
    start = end_of(item->start, step < 0 ? all - 1 : 0, all, step);
    stop = end_of(item->stop, step < 0 ? -1 : all, all, step);
    if (step > 0 && start < stop)
        length = (stop - start - 1) / step + 1;
    if (step < 0 && start > stop)
        length = (start - stop - 1) / -step + 1;
    if (length <= 1) /* however long it is */
        step = 1;
    if (w->axis != w->x->split)
        return keep(w, start, length, step);
    if (down)
        w->to->mirrored = w->to->view->ndim;
    if (step > 0)
        return keep_split(w, start, length, step);
    return keep_split(w, start + (length - 1) * step, length, -step);
}

static bool take_newaxis(walk *w, const ht_index *item)
{
    ht_body *y = w->to->view;

    (void)item;
    if (y->ndim == HT_MAX_NDIM)
        return fail_axes(w);
    y->shape[y->ndim] = 1;
    y->stride[y->ndim] = y->gstride[y->ndim] = 0; /* see lay_new_axes */
    y->ndim++;
    return true;
}

/* The axes that the rest of the key has no index for. */
static bool take_ellipsis(walk *w, const ht_index *item)
{
    bool good = true;

    for (int64_t left = item->stop; left > 0 && good; left--)
        good = keep_all(w);
    return good;
}

static bool (*const takes[])(walk *w, const ht_index *item) = {
    [HT_INDEX_INTEGER] = take_integer,
    [HT_INDEX_SLICE] = take_slice,
    [HT_INDEX_ELLIPSIS] = take_ellipsis,
    [HT_INDEX_NEWAXIS] = take_newaxis,
};

int ht__key_axes_left(const char *what, const ht_body *x, int count, const ht_index key[])
{
    int indices = 0, ellipses = 0;

    for (int i = 0; i < count; i++) {
        if ((unsigned)key[i].kind > HT_INDEX_NEWAXIS) {
            HT_FAIL(x->comm, HT_ERR_ARGUMENT,
                    "%s: the kind of item %d of the key is %d, expected an ht_index_kind", what, i,
                    (int)key[i].kind);
            return -1;
        }
        ellipses += key[i].kind == HT_INDEX_ELLIPSIS;
        indices += key[i].kind == HT_INDEX_INTEGER || key[i].kind == HT_INDEX_SLICE;
    }
    if (count >= 0 && ellipses <= 1 && indices <= x->ndim)
        return x->ndim - indices;
    if (count < 0)
        HT_FAIL(x->comm, HT_ERR_ARGUMENT, "%s: the key has %d items, expected at least 0", what,
                count);
    else if (ellipses > 1)
        HT_FAIL(x->comm, HT_ERR_ARGUMENT, "%s: the key has %d ellipses, expected at most one", what,
                ellipses);
    else
        HT_FAIL(x->comm, HT_ERR_ARGUMENT,
                "%s: the key has %d indices, but x of shape %s has %d axes", what, indices,
                ht__shape_str(x->ndim, x->shape), x->ndim);
    return -1;
}

/* New axes lie around those behind them. */
static void lay_new_axes(ht_body *y)
{
    for (int i = y->ndim - 1; i >= 0; i--) {
        if (y->shape[i] != 1 || y->gstride[i] != 0)
            continue;
        y->stride[i] = i + 1 < y->ndim ? y->stride[i + 1] * y->lshape[i + 1] : 1;
        y->gstride[i] = i + 1 < y->ndim ? y->gstride[i + 1] * y->shape[i + 1] : 1;
    }
}

static bool take_all(walk *w, int count, const ht_index key[], int left)
{
    bool good = true, told = false;

    for (int i = 0; i < count && good; i++) {
        ht_index item = key[i];

        if (item.kind == HT_INDEX_ELLIPSIS) {
            item.stop = left;
            told = true;
        }
        good = takes[item.kind](w, &item);
    }
    for (; !told && left > 0 && good; left--)
        good = keep_all(w);
    return good;
}

bool ht__key_select(const char *what, const ht_body *x, int count, const ht_index key[],
                    ht_selection *selection)
{
    int left = ht__key_axes_left(what, x, count, key);
    walk w = {.what = what, .x = x, .to = selection};

    if (left < 0)
        return false;
    *selection = (ht_selection){ht__body_view(x), HT_NONE, HT_NONE};
    selection->view->ndim = 0;
    if (!take_all(&w, count, key, left)) {
        ht_release(selection->view);
        return false;
    }
    ht__body_settle(selection->view);
    lay_new_axes(selection->view);
    return true;
}
