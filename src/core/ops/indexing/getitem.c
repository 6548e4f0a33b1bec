/* SPDX-License-Identifier: MIT
 *
 * Reading and writing the elements of a key. A key becomes a view (getitem_plain.c); tensors in it
 * name rows of the view (row_moves.c). */
#include <string.h>

#include "core/ops/indexing/key.h"
#include "core/ops/indexing/rows.h"
#include "ht/arithmetics.h"
#include "ht/indexing.h"
#include "ht/kernels/elementwise.h"
#include "ht/manipulations.h"

static ht_tensor *getitem_rows(const char *what, ht_tensor *x, int count, const ht_index key[])
{
    HT_NAMED(what);
    ht_index plain[HT_KEY_ITEMS];
    ht_selection selection;
    ht_row_index rows;
    ht_tensor *y;

    if (HT_IS_NULL(x, what, "x") || !ht__key_rows(what, x, count, key, plain, &count, &rows))
        return NULL;
    if (rows.axes == 0) { /* a copy, as of any tensors */
        y = ht__getitem_plain(what, x, count, plain);
        return y != NULL && y->view ? ht_copy(y) : y;
    }
    y = ht__key_view(what, x, count, plain, &selection);
    y = y != NULL ? ht__take_rows(what, y, &rows) : NULL;
    if (y != NULL && selection.mirrored != HT_NONE)
        return ht__flip_axis(what, y, ht__rows_axis(&rows, selection.mirrored));
    return y;
}

ht_tensor *ht__getitem(const char *what, ht_tensor *x, int count, const ht_index key[])
{
    return key != NULL && ht__key_has_tensors(count, key) ? getitem_rows(what, x, count, key)
                                                          : ht__getitem_plain(what, x, count, key);
}

ht_tensor *ht_getitem(ht_tensor *x, int count, const ht_index key[])
{
    return ht__getitem("ht_getitem", x, count, key);
}

/* The values' own axis that broadcasts to `axis` of ndim; below 0 where there is none. */
static int own_axis(const ht_tensor *values, int ndim, int axis)
{
    return axis - (ndim - ht_tensor_ndim(values));
}

/* Less leading axes of length 1 that the place has not. */
static ht_tensor *drop_leading(ht_tensor *values, int ndim)
{
    while (values != NULL && values->body->ndim > ndim && values->body->shape[0] == 1)
        values = ht_squeeze(values, 0);
    return values;
}

/* With `axis` of a result of ndim axes in the other direction. */
static ht_tensor *flip_values(const char *what, ht_tensor *values, int ndim, int axis)
{
    axis = own_axis(values, ndim, axis);
    return axis >= 0 ? ht__flip_axis(what, values, axis) : values;
}

/* The values have the axes of ht_getitem's result: axes that the place lacks, or has in another
 * direction, are adjusted. */
static ht_tensor *fit_values(const char *what, ht_tensor *values, const ht_tensor *place,
                             const ht_selection *selection)
{
    const int ndim = ht_tensor_ndim(place);
    int axis;

    values = drop_leading(values, ndim - (selection->held != HT_NONE));
    if (values == NULL)
        return NULL;
    if (selection->held != HT_NONE) {
        axis = own_axis(values, ndim, selection->held) + 1;
        return axis > 0 ? ht_expand_dims(values, axis) : values;
    }
    if (selection->mirrored != HT_NONE)
        return flip_values(what, values, ndim, selection->mirrored);
    return values;
}

static ht_status write_values(const char *what, ht_tensor *place, ht_tensor *values,
                              const ht_selection *selection)
{
    if (values->body->number != NULL)
        return ht__fill_into(what, place, *values->body->number);
    if (!ht__check_together_as(what, "x", place, "values", values))
        return ht_error_get(NULL);
    values = fit_values(what, values, place, selection);
    if (values == NULL)
        return ht_error_get(NULL);
    return ht__replace_values(
        what, "x", place,
        ht__broadcast_to(what, "values", values, place->body->ndim, place->body->shape));
}

static ht_status write_plain(const char *what, ht_tensor *x, int count, const ht_index key[],
                             ht_tensor *values)
{
    ht_selection selection;
    ht_tensor *place = ht__key_view(what, x, count, key, &selection);

    return place != NULL ? write_values(what, place, values, &selection) : ht_error_get(NULL);
}

/* x[key] += values where the key names each place once. */
static ht_status add_plain(const char *what, ht_tensor *x, int count, const ht_index key[],
                           ht_tensor *values)
{
    ht_tensor *sum = ht__getitem(what, x, count, key);

    if (sum == NULL)
        return ht_error_get(NULL);
    if (values->body->number != NULL)
        sum = ht__add_number(what, sum, *values->body->number);
    else if (ht__check_together_as(what, "x", x, "values", values))
        sum = ht_add(sum, ht__broadcast_to(what, "values", drop_leading(values, sum->body->ndim),
                                           sum->body->ndim, sum->body->shape));
    else
        sum = NULL;
    return sum != NULL && ht__check_result(what, "x", x, sum) == HT_SUCCESS
               ? write_plain(what, x, count, key, sum)
               : ht_error_get(NULL);
}

/* Fits values to the rows of the place. */
static ht_tensor *fit_row_values(const char *what, ht_tensor *values, const ht_tensor *place,
                                 const ht_row_index *rows, const ht_selection *selection)
{
    const int ndim = ht_tensor_ndim(place) - rows->axes + ht_tensor_ndim(rows->at[0]);

    if (values->body->number != NULL)
        return ht__number_like(what, place, *values->body->number, place->body->dtype);
    if (!ht__check_together_as(what, "x", place, "values", values))
        return NULL;
    values = drop_leading(values, ndim);
    if (values != NULL && selection->mirrored != HT_NONE)
        return flip_values(what, values, ndim, ht__rows_axis(rows, selection->mirrored));
    return values;
}

/* Whether this is x[mask] = number, the mask in x's own slabs but not in elements that are written
 * before it is read, and x in no graph. */
static bool fills_by_mask(const ht_tensor *x, int count, const ht_index key[],
                          const ht_tensor *values)
{
    const bool one = count == 1 && key[0].kind == HT_INDEX_TENSOR;
    const ht_tensor *mask = one ? key[0].tensor : NULL;

    return values->body->number != NULL && x != NULL && mask != NULL &&
           mask->body->dtype == HT_BOOL && ht__body_same_shape(x->body, mask->body) &&
           ht__body_same_slabs(x->body, mask->body) &&
           (x->body == mask->body || x->body->storage != mask->body->storage) && /* on all ranks */
           !ht__has_history(x);
}

/* Chosen element by element, in one pass and without a list of places. */
static ht_status fill_by_mask(const char *what, ht_tensor *x, ht_tensor *mask, ht_number number)
{
    ht_operand operands[4] = {{0}};

    if (!ht__check_together_as(what, "x", x, "an index", mask) ||
        ht__check_in_place(what, "x", x, NULL) != HT_SUCCESS ||
        !ht__check_number(what, x->body->comm, "value", x->body->dtype, number))
        return ht_error_get(NULL);
    ht__storage_touch(x->body->storage);
    operands[0] = operands[3] = ht__operand(x->body);
    operands[1] = ht__operand(mask->body);
    operands[2].number = &number;
    return ht__elementwise(what, HT_KERNEL_WHERE, x->body->dtype, x->body, 4, operands, NULL);
}

static ht_status write_rows(const char *what, ht_tensor *x, int count, const ht_index key[],
                            ht_tensor *values, bool add)
{
    ht_index plain[HT_KEY_ITEMS];
    ht_selection selection;
    ht_row_index rows;
    ht_tensor *place;

    if (HT_IS_NULL(x, what, "x") || !ht__key_rows(what, x, count, key, plain, &count, &rows))
        return ht_error_get(NULL);
    if (rows.axes == 0)
        return add ? add_plain(what, x, count, plain, values)
                   : write_plain(what, x, count, plain, values);
    if (add && ht__check_result(what, "x", x, values) != HT_SUCCESS)
        return ht_error_get(NULL);
    place = ht__key_view(what, x, count, plain, &selection);
    values = place != NULL ? fit_row_values(what, values, place, &rows, &selection) : NULL;
    if (values == NULL)
        return ht_error_get(NULL);
    return ht__put_rows(what, place, &rows, values, add);
}

static ht_status write_key(const char *what, ht_tensor *x, int count, const ht_index key[],
                           ht_tensor *values, bool add)
{
    HT_NAMED(what);
    ht_scope *scope;
    ht_status status;

    if (HT_IS_NULL(values, what, "values"))
        return ht_error_get(NULL);
    scope = ht_scope_open();
    if (key != NULL && !add && fills_by_mask(x, count, key, values))
        status = fill_by_mask(what, x, key[0].tensor, *values->body->number);
    else if (key != NULL && ht__key_has_tensors(count, key))
        status = write_rows(what, x, count, key, values, add);
    else if (add)
        status = add_plain(what, x, count, key, values);
    else
        status = write_plain(what, x, count, key, values);
    ht_scope_close(scope);
    return status;
}

ht_status ht_setitem_(ht_tensor *x, int count, const ht_index key[], ht_tensor *values)
{
    return write_key("ht_setitem_", x, count, key, values, false);
}

ht_status ht_add_at_(ht_tensor *x, int count, const ht_index key[], ht_tensor *values)
{
    return write_key("ht_add_at_", x, count, key, values, true);
}

ht_tensor *ht_take(ht_tensor *x, ht_tensor *indices, int axis)
{
    static const char what[] = "ht_take";
    HT_NAMED(what);
    ht_index key[HT_MAX_NDIM];

    if (HT_IS_NULL(x, what, "x") || HT_IS_NULL(indices, what, "indices"))
        return NULL;
    if (!ht__dtype_is_exact(indices->body->dtype) || indices->body->dtype == HT_BOOL) {
        HT_FAIL(x->body->comm, HT_ERR_DTYPE, "%s: indices are %s, expected integers", what,
                ht_dtype_name(indices->body->dtype));
        return NULL;
    }
    if (axis == HT_NONE) {
        x = ht_reshape(x, HT_SHAPE(-1));
        axis = 0;
    }
    if (x == NULL || !ht__check_axis(what, x, &axis))
        return NULL;
    for (int i = 0; i < axis; i++)
        key[i] = HT_ALL;
    key[axis] = ht_index_tensor(indices);
    return ht__getitem(what, x, axis + 1, key);
}
