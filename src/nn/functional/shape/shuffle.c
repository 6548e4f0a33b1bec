/* SPDX-License-Identifier: MIT
 *
 * Shuffles of pixels and channels: axes are parted, exchanged and merged. */
#include <string.h>

#include "core/tensor/tensor.h"
#include "ht/manipulations.h"
#include "ht/padding.h"

static bool check_axes(const char *what, const ht_tensor *x, int least)
{
    if (HT_IS_NULL(x, what, "x"))
        return false;
    if (x->body->ndim >= least && x->body->ndim + 2 <= HT_MAX_NDIM)
        return true;
    HT_FAIL(x->body->comm, HT_ERR_SHAPE, "%s: x is %s, expected %d to %d axes", what,
            ht__shape_str(x->body->ndim, x->body->shape), least, HT_MAX_NDIM - 2);
    return false;
}

/* `divisor` parts axis `axis` of x. */
static bool check_divisor(const char *what, const ht_tensor *x, int axis, int64_t divisor)
{
    if (divisor >= 1 && x->body->shape[axis] % divisor == 0)
        return true;
    HT_FAIL(x->body->comm, HT_ERR_SHAPE,
            "%s: length of axis %d of x %s is invalid, expected a multiple of %lld", what, axis,
            ht__shape_str(x->body->ndim, x->body->shape), (long long)divisor);
    return false;
}

static bool check_factor(const char *what, const ht_tensor *x, int64_t factor)
{
    if (factor >= 1 && factor <= INT32_MAX)
        return true;
    HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: factor is %lld, expected at least 1", what,
            (long long)factor);
    return false;
}

/* x in the shape of its leading axes and `count` more, with these in another order, and then
 * merged into `merged`. */
static ht_tensor *rearrange(ht_tensor *x, int leading, int count, const int64_t parted[],
                            const int order[], int merged_count, const int64_t merged[])
{
    int64_t shape[HT_MAX_NDIM + 2];
    int axes[HT_MAX_NDIM + 2];

    memcpy(shape, x->body->shape, (size_t)leading * sizeof *shape);
    memcpy(shape + leading, parted, (size_t)count * sizeof *shape);
    for (int i = 0; i < leading + count; i++)
        axes[i] = i < leading ? i : leading + order[i - leading];
    x = ht_permute(ht_reshape(x, leading + count, shape), leading + count, axes);
    memcpy(shape + leading, merged, (size_t)merged_count * sizeof *shape);
    return ht_reshape(x, leading + merged_count, shape);
}

ht_tensor *ht_pixel_shuffle(ht_tensor *x, int64_t factor)
{
    const int64_t r = factor;
    const int64_t *s;
    int leading;

    if (!check_axes("ht_pixel_shuffle", x, 3) || !check_factor("ht_pixel_shuffle", x, r))
        return NULL;
    leading = x->body->ndim - 3;
    if (!check_divisor("ht_pixel_shuffle", x, leading, r * r))
        return NULL;
    s = x->body->shape + leading;
    return rearrange(x, leading, 5, (int64_t[]){s[0] / (r * r), r, r, s[1], s[2]},
                     (int[]){0, 3, 1, 4, 2}, 3, (int64_t[]){s[0] / (r * r), s[1] * r, s[2] * r});
}

ht_tensor *ht_pixel_unshuffle(ht_tensor *x, int64_t factor)
{
    const int64_t r = factor;
    const int64_t *s;
    int leading;

    if (!check_axes("ht_pixel_unshuffle", x, 3) || !check_factor("ht_pixel_unshuffle", x, r))
        return NULL;
    leading = x->body->ndim - 3;
    if (!check_divisor("ht_pixel_unshuffle", x, leading + 1, r) ||
        !check_divisor("ht_pixel_unshuffle", x, leading + 2, r))
        return NULL;
    s = x->body->shape + leading;
    return rearrange(x, leading, 5, (int64_t[]){s[0], s[1] / r, r, s[2] / r, r},
                     (int[]){0, 2, 4, 1, 3}, 3, (int64_t[]){s[0] * r * r, s[1] / r, s[2] / r});
}

ht_tensor *ht_channel_shuffle(ht_tensor *x, int64_t groups)
{
    int64_t parted[HT_MAX_NDIM + 2];
    int order[HT_MAX_NDIM + 2], count;

    if (!check_axes("ht_channel_shuffle", x, 3) ||
        !check_divisor("ht_channel_shuffle", x, 1, groups))
        return NULL;
    count = x->body->ndim; /* the channels as two axes, without the batch */
    parted[0] = groups;
    parted[1] = x->body->shape[1] / groups;
    order[0] = 1;
    order[1] = 0;
    for (int i = 2; i < count; i++) {
        parted[i] = x->body->shape[i];
        order[i] = i;
    }
    return rearrange(x, 1, count, parted, order, count - 1, x->body->shape + 1);
}
