/* SPDX-License-Identifier: MIT
 *
 * Axes in another order, and elements that are shifted, rotated, repeated and padded. These are
 * views, and copies into views of the result, which send elements to their new owners. */
#include <string.h>

#include "core/ops/indexing/key.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/manipulations.h"

ht_tensor *ht_moveaxis(ht_tensor *x, int count, const int from[], int to_count, const int to[])
{
    int order[HT_MAX_NDIM], next = 0;
    unsigned gone = 0, taken = 0;

    if (HT_IS_NULL(x, "ht_moveaxis", "x"))
        return NULL;
    if (count != to_count || count < 0 || (count > 0 && (from == NULL || to == NULL))) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                "ht_moveaxis: %d axes and %d places are given, expected lists of the same length",
                count, to_count);
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        int axis = from[i], place = to[i];

        if (!ht__check_axis_of("ht_moveaxis", "from", "x", x, &axis) ||
            !ht__check_axis_of("ht_moveaxis", "to", "x", x, &place))
            return NULL;
        if ((gone >> axis & 1) != 0 || (taken >> place & 1) != 0) {
            HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                    "ht_moveaxis: from or to has an axis twice, expected distinct axes");
            return NULL;
        }
        order[place] = axis;
        gone |= 1u << axis;
        taken |= 1u << place;
    }
    for (int i = 0; i < x->body->ndim; i++) {
        if ((taken >> i & 1) != 0)
            continue;
        while ((gone >> next & 1) != 0)
            next++;
        order[i] = next++;
    }
    return ht_permute(x, x->body->ndim, order);
}

static ht_tensor *roll_axis(ht_tensor *x, int64_t shift, int axis)
{
    const int64_t length = x->body->shape[axis];
    ht_tensor *parts[2];

    shift = length > 0 ? shift % length : 0;
    shift += shift < 0 ? length : 0;
    if (shift == 0)
        return ht_copy(x);
    parts[0] = ht_narrow(x, axis, length - shift, length);
    parts[1] = ht_narrow(x, axis, 0, length - shift);
    if (parts[0] == NULL || parts[1] == NULL)
        return NULL;
    return ht__concatenate("ht_roll", 2, parts, axis);
}

ht_tensor *ht_roll(ht_tensor *x, int64_t shift, int axis)
{
    HT_NAMED("ht_roll");
    ht_tensor *y;

    if (HT_IS_NULL(x, "ht_roll", "x"))
        return NULL;
    if (axis != HT_NONE)
        return ht__check_axis("ht_roll", x, &axis) ? roll_axis(x, shift, axis) : NULL;
    y = ht_reshape(x, HT_SHAPE(-1));
    y = y != NULL ? roll_axis(y, shift, 0) : NULL;
    y = y != NULL ? ht_reshape(y, x->body->ndim, x->body->shape) : NULL;
    y = y != NULL ? ht_resplit(y, x->body->split) : NULL;
    return ht__without_base(y); /* its memory is not shared */
}

ht_tensor *ht_rot90(ht_tensor *x, int64_t quarters, int axis0, int axis1)
{
    HT_NAMED("ht_rot90");

    if (HT_IS_NULL(x, "ht_rot90", "x") || !ht__check_axis_of("ht_rot90", "axis0", "x", x, &axis0) ||
        !ht__check_axis_of("ht_rot90", "axis1", "x", x, &axis1))
        return NULL;
    if (axis0 == axis1) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "ht_rot90: axis %d is given twice", axis0);
        return NULL;
    }
    switch ((quarters % 4 + 4) % 4) {
    case 1:
        x = ht__flip_axis("ht_rot90", x, axis1);
        return x != NULL ? ht_transpose(x, axis0, axis1) : NULL;
    case 2:
        return ht_flip(x, HT_AXES(axis0, axis1));
    case 3:
        x = ht__flip_axis("ht_rot90", x, axis0);
        return x != NULL ? ht_transpose(x, axis0, axis1) : NULL;
    default:
        return x;
    }
}

/* In halves, so that a split tensor is sent only a few times, however many copies there are. */
static ht_tensor *tile_axis(ht_tensor *x, int axis, int64_t times)
{
    ht_tensor *parts[3] = {NULL, NULL, x};

    if (times <= 1)
        return times == 1 ? x : ht_narrow(x, axis, 0, 0);
    parts[0] = parts[1] = tile_axis(x, axis, times / 2);
    return parts[0] != NULL ? ht__concatenate("ht_tile", 2 + times % 2, parts, axis) : NULL;
}

/* Before the first copy is made. */
static bool tiles_fit(const ht_body *x, int count, const int64_t times[])
{
    int64_t shape[HT_MAX_NDIM];

    for (int i = 0; i < x->ndim; i++) {
        const int64_t n = i < x->ndim - count ? 1 : times[i - (x->ndim - count)];

        if (__builtin_mul_overflow(x->shape[i], n, &shape[i]))
            shape[i] = INT64_MAX;
    }
    return ht__check_size("ht_tile", x->comm, x->dtype, x->ndim, shape, x->split);
}

ht_tensor *ht_tile(ht_tensor *x, int count, const int64_t times[])
{
    HT_NAMED("ht_tile");
    ht_tensor *y = x;
    bool copied = false;

    if (HT_IS_NULL(x, "ht_tile", "x") || (count > 0 && HT_IS_NULL(times, "ht_tile", "times")))
        return NULL;
    if (count < 0 || count > HT_MAX_NDIM) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "ht_tile: count is %d, expected 0 to %d", count,
                HT_MAX_NDIM);
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        if (times[i] >= 0)
            continue;
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "ht_tile: times has %lld, expected at least 0",
                (long long)times[i]);
        return NULL;
    }
    while (y != NULL && y->body->ndim < count)
        y = ht_expand_dims(y, 0);
    if (y == NULL || !tiles_fit(y->body, count, times))
        return NULL;
    for (int i = 0; i < count && y != NULL; i++) {
        y = tile_axis(y, y->body->ndim - count + i, times[i]);
        copied = times[i] > 1 || (copied && times[i] == 1);
    }
    return y != NULL && !copied ? ht_copy(y) : y;
}

/* The shape of the tensor around x, and the position of x in it. */
static bool check_widths(const ht_body *x, int count, const int64_t widths[], int64_t shape[],
                         ht_index key[])
{
    bool good = count >= 0 && count % 2 == 0 && count / 2 <= x->ndim;

    for (int i = 0; good && i < count; i++)
        good = widths[i] >= 0;
    if (!good) {
        HT_FAIL(x->comm, HT_ERR_ARGUMENT,
                "ht_pad: %d widths are given for x of shape %s, expected a pair for each of the "
                "last axes, and at least 0 each",
                count, ht__shape_str(x->ndim, x->shape));
        return false;
    }
    for (int i = 0; i < x->ndim; i++) {
        const int pair = 2 * (i - (x->ndim - count / 2));
        const int64_t before = pair >= 0 ? widths[pair] : 0;
        const int64_t after = pair >= 0 ? widths[pair + 1] : 0;
        int64_t end;

        if (__builtin_add_overflow(before, x->shape[i], &end) ||
            __builtin_add_overflow(end, after, &shape[i]))
            shape[i] = INT64_MAX;
        key[i] = ht_slice(before, end);
    }
    return ht__check_size("ht_pad", x->comm, x->dtype, x->ndim, shape, x->split);
}

/* In the slabs of x, unless the split axis is padded. */
static ht_body *padded_body(const ht_body *x, const int64_t shape[])
{
    const bool kept = x->split >= 0 && shape[x->split] == x->shape[x->split];

    return ht__body_new("ht_pad", x->comm, x->storage->device, x->dtype, x->ndim, shape, x->split,
                        kept ? x->bounds : NULL);
}

ht_tensor *ht_pad(ht_tensor *x, int count, const int64_t widths[], ht_number value)
{
    HT_NAMED("ht_pad");
    int64_t shape[HT_MAX_NDIM];
    ht_index key[HT_MAX_NDIM];
    ht_tensor *y;

    if (HT_IS_NULL(x, "ht_pad", "x") || (count > 0 && HT_IS_NULL(widths, "ht_pad", "widths")) ||
        !check_widths(x->body, count, widths, shape, key))
        return NULL;
    y = ht__tensor_new(padded_body(x->body, shape));
    if (y == NULL || ht__fill_into("ht_pad", y, value) != HT_SUCCESS ||
        ht_setitem_(y, x->body->ndim, key, x) != HT_SUCCESS)
        return NULL;
    return y;
}
