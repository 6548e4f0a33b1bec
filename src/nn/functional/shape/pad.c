/* SPDX-License-Identifier: MIT
 *
 * Padding in all modes: elements are taken by index along each axis. */
#include <string.h>

#include "core/tensor/tensor.h"
#include "ht/indexing.h"
#include "ht/manipulations.h"
#include "ht/padding.h"
#include "nn/functional/constants.h"

static int64_t at_most_0(int64_t a)
{
    return a < 0 ? a : 0;
}

static int64_t at_least_0(int64_t a)
{
    return a > 0 ? a : 0;
}

/* The most elements that a side of an axis of this length can have. */
static int64_t largest(ht_pad_mode mode, int64_t length)
{
    switch (mode) {
    case HT_PAD_REFLECT:
        return length - 1;
    case HT_PAD_CIRCULAR:
        return length;
    case HT_PAD_REPLICATE:
        return length > 0 ? INT64_MAX / 4 : 0;
    case HT_PAD_CONSTANT:
        break;
    }
    return INT64_MAX / 4;
}

static bool check_axis(const ht_body *x, int axis, const int64_t pair[2], ht_pad_mode mode)
{
    const int64_t length = x->shape[axis];
    const int64_t kept = length + at_most_0(pair[0]) + at_most_0(pair[1]);
    const int64_t most = largest(mode, mode == HT_PAD_CIRCULAR ? kept : length);

    if (pair[0] < -length || pair[1] < -length || kept < 0) {
        HT_FAIL(x->comm, HT_ERR_ARGUMENT,
                "ht_pad_ext: widths of axis %d are %s, expected to remove at most its length, %lld",
                axis, ht__shape_str(2, pair), (long long)length);
        return false;
    }
    if (pair[0] <= most && pair[1] <= most)
        return true;
    HT_FAIL(x->comm, HT_ERR_ARGUMENT, "ht_pad_ext: widths of axis %d are %s, expected at most %lld",
            axis, ht__shape_str(2, pair), (long long)most);
    return false;
}

static bool check(const ht_tensor *x, int count, const int64_t widths[], ht_pad_mode mode)
{
    const int first = x->body->ndim - count / 2;

    if ((unsigned)mode > HT_PAD_CIRCULAR) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "ht_pad_ext: mode is %d, expected an ht_pad_mode",
                (int)mode);
        return false;
    }
    if (count < 0 || count % 2 != 0 || first < 0) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                "ht_pad_ext: count is %d, expected an even number of at most %d", count,
                2 * x->body->ndim);
        return false;
    }
    if (count > 0 && HT_IS_NULL(widths, "ht_pad_ext", "widths"))
        return false;
    for (int i = 0; i < count / 2; i++) {
        if (!check_axis(x->body, first + i, &widths[2 * i], mode))
            return false;
    }
    return true;
}

/* The element at place i, which may lie outside of 0 to length - 1. */
static int64_t source(ht_pad_mode mode, int64_t i, int64_t length)
{
    if (mode == HT_PAD_REPLICATE)
        return i < 0 ? 0 : i < length ? i : length - 1;
    if (mode == HT_PAD_CIRCULAR)
        return i < 0 ? i + length : i < length ? i : i - length;
    return i < 0 ? -i : i < length ? i : 2 * (length - 1) - i;
}

static ht_tensor *take(ht_tensor *x, int axis, const int64_t pair[2], ht_pad_mode mode)
{
    const int64_t length = x->body->shape[axis], count = length + pair[0] + pair[1];
    int64_t shape[HT_MAX_NDIM], *index;
    ht_tensor *indices;

    memcpy(shape, x->body->shape, sizeof shape);
    shape[axis] = count;
    if (!ht__check_size("ht_pad_ext", x->body->comm, x->body->dtype, x->body->ndim, shape,
                        x->body->split))
        return NULL;
    index = ht__alloc((size_t)(count + 1) * sizeof *index);
    for (int64_t j = 0; j < count; j++)
        index[j] = source(mode, j - pair[0], length);
    indices = ht__constant_indices(x, 1, &count, index);
    ht__free(index);
    return ht_take(x, indices, axis);
}

/* Without the elements that negative widths cut off. */
static ht_tensor *crop(ht_tensor *x, int axis, const int64_t pair[2])
{
    if (pair[0] >= 0 && pair[1] >= 0)
        return x;
    return ht_narrow(x, axis, -at_most_0(pair[0]), x->body->shape[axis] + at_most_0(pair[1]));
}

ht_tensor *ht_pad_ext(ht_tensor *x, int count, const int64_t widths[], ht_pad_mode mode,
                      ht_number value)
{
    int64_t rest[2 * HT_MAX_NDIM];
    bool taken = false;
    int first;

    if (HT_IS_NULL(x, "ht_pad_ext", "x") || !check(x, count, widths, mode))
        return NULL;
    first = x->body->ndim - count / 2;
    for (int i = 0; i < count / 2 && x != NULL; i++) {
        const int64_t *pair = &widths[2 * i];

        rest[2 * i] = at_least_0(pair[0]);
        rest[2 * i + 1] = at_least_0(pair[1]);
        if (mode == HT_PAD_CONSTANT || mode == HT_PAD_CIRCULAR) /* of the remaining part */
            x = crop(x, first + i, pair);
        if (mode == HT_PAD_CIRCULAR)
            pair = &rest[2 * i];
        if (x == NULL || mode == HT_PAD_CONSTANT || (pair[0] == 0 && pair[1] == 0))
            continue;
        x = take(x, first + i, pair, mode);
        taken = true;
    }
    if (x != NULL && mode == HT_PAD_CONSTANT) {
        HT_NAMED("ht_pad_ext");
        return ht_pad(x, count, rest, value);
    }
    return x == NULL || taken ? x : ht_copy(x);
}
