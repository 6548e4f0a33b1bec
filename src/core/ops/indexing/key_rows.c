/* SPDX-License-Identifier: MIT
 *
 * Keys with tensors among their items, like NumPy's. The tensors, and integers in the same key, are
 * indices that are broadcast together and name rows. Slices, the ellipsis and new axes are the
 * other axes of the rows. A mask is an index for each of its axes, and names its set elements. The
 * axes of the indices are at the place of the first index, or in front if other items separate the
 * indices. */
#include "core/ops/indexing/key.h"

#include <stdio.h>

#include "core/ops/indexing/rows.h"
#include "ht/indexing.h"
#include "ht/manipulations.h"
#include "ht/statistics.h"

typedef struct reading {
    const char *what;
    ht_tensor *x;
    ht_index *plain;
    int count;      /* items of `plain` */
    int axis, to;   /* next axes of x, and of what `plain` names */
    int tensors;    /* with axes, among the items */
    bool between;   /* an item that is not an index came after an index */
    bool separated; /* and then another index */
    bool has_index; /* there was an index */
    ht_row_index *rows;
} reading;

static bool is_index(const ht_index *item)
{
    return item->kind == HT_INDEX_INTEGER || item->kind == HT_INDEX_TENSOR;
}

/* Notes the place of an index among the items. */
static void note_place(reading *r, const ht_index *item)
{
    if (!is_index(item)) {
        r->between = r->has_index;
        return;
    }
    r->separated = r->separated || r->between;
    if (!r->has_index)
        r->rows->place = r->to - r->rows->axes;
    r->has_index = true;
}

/* An axis of x as it is, with an index. */
static void add_index(reading *r, ht_tensor *at)
{
    r->rows->axis[r->rows->axes] = r->to++;
    r->rows->at[r->rows->axes++] = at;
    r->plain[r->count++] = HT_ALL;
    r->axis++;
}

static bool fail_range(const reading *r, int64_t at)
{
    HT_FAIL(r->x->body->comm, HT_ERR_ARGUMENT,
            "%s: index %lld is out of range for axis %d of x of shape %s", r->what, (long long)at,
            r->axis, ht__shape_str(r->x->body->ndim, r->x->body->shape));
    return false;
}

/* All ranks see the same smallest and largest. */
static bool check_range(const reading *r, ht_tensor *at)
{
    const int64_t length = r->x->body->shape[r->axis];
    ht_number low, high;

    if (ht_tensor_size(at) == 0)
        return true;
    if (ht_tensor_item_ext(ht_min(at, HT_NONE), &low) != HT_SUCCESS ||
        ht_tensor_item_ext(ht_max(at, HT_NONE), &high) != HT_SUCCESS)
        return false;
    if (low.integer < -length)
        return fail_range(r, low.integer);
    return high.integer < length || fail_range(r, high.integer);
}

/* An integer stays one, but along the split axis, whose index is in one rank's slab alone. */
static bool read_integer(reading *r, int64_t at)
{
    const ht_body *x = r->x->body;
    ht_tensor *index;

    if (r->axis != x->split || r->tensors == 0) {
        r->plain[r->count++] = ht_index_integer(at);
        r->axis++;
        return true;
    }
    if (at < -x->shape[r->axis] || at >= x->shape[r->axis])
        return fail_range(r, at);
    index = ht__number_like(r->what, r->x, HT_NUM(at), HT_INT64);
    if (index != NULL)
        add_index(r, index);
    return index != NULL;
}

static bool read_numbers(reading *r, ht_tensor *at)
{
    ht_number only;

    if (at->body->ndim == 0)
        return ht_tensor_item_ext(at, &only) == HT_SUCCESS && read_integer(r, only.integer);
    if (!check_range(r, at))
        return false;
    at = ht_astype(at, HT_INT64);
    if (at != NULL)
        add_index(r, at);
    return at != NULL;
}

static bool check_mask(const reading *r, const ht_body *mask)
{
    const ht_body *x = r->x->body;

    if (mask->ndim == 0) {
        HT_FAIL(x->comm, HT_ERR_SHAPE,
                "%s: a mask in the key is a scalar, expected at least one axis", r->what);
        return false;
    }
    if (ht__same_shape(mask->ndim, mask->shape, mask->ndim, x->shape + r->axis))
        return true;
    HT_FAIL(x->comm, HT_ERR_SHAPE,
            "%s: a mask is %s, expected the lengths from axis %d on of x of shape %s", r->what,
            ht__shape_str(mask->ndim, mask->shape), r->axis, ht__shape_str(x->ndim, x->shape));
    return false;
}

/* The mask in the slabs of x's split axis, which is its first. */
static ht_tensor *in_slabs_of(const reading *r, ht_tensor *mask)
{
    ht_body *like = ht__body_metadata(mask->body);

    like->split = 0;
    ht_release(like->bounds);
    like->bounds = ht_retain(r->x->body->bounds);
    ht__body_settle(like);
    mask = ht__match_slabs(r->what, mask, like);
    ht_release(like);
    return mask;
}

static bool read_mask(reading *r, ht_tensor *mask)
{
    const int ndim = mask->body->ndim;
    ht_tensor *places, *at;

    if (!check_mask(r, mask->body))
        return false;
    r->rows->own = r->tensors == 1 && r->axis == r->x->body->split;
    if (r->rows->own)
        mask = in_slabs_of(r, mask);
    places = mask != NULL ? ht__nonzero(r->what, mask) : NULL;
    for (int i = 0; i < ndim && places != NULL; i++) {
        at = ht__getitem_plain(r->what, places, HT_KEY(HT_ALL, i));
        if (at == NULL)
            return false;
        add_index(r, at);
    }
    return places != NULL;
}

static bool read_tensor(reading *r, ht_tensor *at)
{
    if (at->body->number == NULL && !ht__check_together_as(r->what, "x", r->x, "an index", at))
        return false;
    if (at->body->dtype == HT_BOOL)
        return read_mask(r, at);
    if (ht__dtype_is_exact(at->body->dtype))
        return read_numbers(r, at);
    HT_FAIL(r->x->body->comm, HT_ERR_DTYPE, "%s: an index is %s, expected integers or bool",
            r->what, ht_dtype_name(at->body->dtype));
    return false;
}

static bool read_item(reading *r, const ht_index *item, int left)
{
    if (r->count == HT_KEY_ITEMS) {
        HT_FAIL(r->x->body->comm, HT_ERR_ARGUMENT, "%s: the result would have more than %d axes",
                r->what, HT_MAX_NDIM);
        return false;
    }
    note_place(r, item);
    switch (item->kind) {
    case HT_INDEX_INTEGER:
        return read_integer(r, item->start);
    case HT_INDEX_TENSOR:
        return read_tensor(r, item->tensor);
    case HT_INDEX_ELLIPSIS:
        r->axis += left;
        r->to += left;
        break;
    case HT_INDEX_SLICE:
        r->axis++;
        r->to++;
        break;
    case HT_INDEX_NEWAXIS:
        r->to++;
        break;
    }
    r->plain[r->count++] = *item;
    return true;
}

/* The indices in one shape, and in the slabs of the first that is split. */
static bool unite(const reading *r)
{
    ht_row_index *rows = r->rows;
    const ht_body *like = NULL;

    if (rows->axes > 1 &&
        ht__broadcast_arrays(r->what, rows->axes, rows->at, rows->at) != HT_SUCCESS)
        return false;
    for (int i = 0; i < rows->axes && like == NULL; i++)
        like = rows->at[i]->body->split != HT_NONE ? rows->at[i]->body : NULL;
    for (int i = 0; i < rows->axes; i++) {
        if (like != NULL)
            rows->at[i] = ht__match_slabs(r->what, rows->at[i], like);
        if (rows->at[i] != NULL && rows->at[i]->body->ndim > 1)
            rows->at[i] = ht_contiguous(rows->at[i]);
        if (rows->at[i] == NULL)
            return false;
    }
    return true;
}

/* Whether the items are some, and how many axes of x they have no index for; -1 after an error. */
static int axes_left(reading *r, int count, const ht_index key[])
{
    ht_index spread[HT_KEY_ITEMS];
    int items = 0;

    for (int i = 0; i < count; i++) {
        char name[32];
        int axes = 1;

        if (key[i].kind == HT_INDEX_TENSOR) {
            snprintf(name, sizeof name, "key[%d].tensor", i);
            if (HT_IS_NULL(key[i].tensor, r->what, name))
                return -1;
            axes = key[i].tensor->body->dtype == HT_BOOL ? key[i].tensor->body->ndim : 1;
            r->tensors += key[i].tensor->body->ndim > 0;
        }
        for (; axes > 0 && items < HT_KEY_ITEMS; axes--, items++)
            spread[items] = key[i].kind == HT_INDEX_TENSOR ? HT_ALL : key[i];
    }
    return ht__key_axes_left(r->what, r->x->body, items, spread);
}

bool ht__key_rows(const char *what, ht_tensor *x, int count, const ht_index key[],
                  ht_index plain[HT_KEY_ITEMS], int *plain_count, ht_row_index *rows)
{
    const bool was = ht_set_grad_enabled(false);
    reading r = {.what = what, .x = x, .plain = plain, .rows = rows};
    bool good;
    int left;

    *rows = (ht_row_index){0};
    left = axes_left(&r, count, key);
    good = left >= 0;
    for (int i = 0; i < count && good; i++)
        good = read_item(&r, &key[i], left);
    good = good && (rows->axes == 0 || unite(&r));
    rows->place = r.separated ? 0 : rows->place;
    *plain_count = r.count;
    ht_set_grad_enabled(was);
    return good;
}
