/* SPDX-License-Identifier: MIT
 *
 * The places of the set elements of a mask. */
#include "backends/cpu/level.h"
#include "ht/kernels/index.h"

/* The place of a line of the mask, and the indices of its first element. */
typedef struct line {
    const uint8_t *mask;
    int64_t index[HT_MAX_NDIM];
} line;

enum { BLOCK = 8 }; /* elements between two questions for the end */

/* No branch depends on random data: a place is written, and counts if the element is set. `left` is
 * the room there is. */
static int64_t find_in_vector(const ht_nonzero_call *c, int64_t *at, int64_t left)
{
    const uint8_t *mask = c->mask.data;
    const int64_t n = c->shape[0], step = c->stride[0], first = c->start[0];
    int64_t found = 0, i = 0;

    for (; i + BLOCK <= n && found + BLOCK <= left; i += BLOCK) {
        for (int k = 0; k < BLOCK; k++, mask += step) {
            at[found] = first + i + k;
            found += *mask != 0;
        }
    }
    for (; i < n && found < left; i++, mask += step) {
        at[found] = first + i;
        found += *mask != 0;
    }
    return found;
}

/* As find_in_vector, with the indices of all axes. */
static int64_t find_in_line(const ht_nonzero_call *c, const line *l, int64_t *at, int64_t left)
{
    const int last = c->ndim - 1;
    const int64_t n = c->shape[last], step = c->stride[last], first = c->start[last];
    int64_t found = 0;

    for (int64_t i = 0; i < n && found < left; i++) {
        int64_t *row = at + found * c->ndim;

        for (int axis = 0; axis < last; axis++)
            row[axis] = c->start[axis] + l->index[axis];
        row[last] = first + i;
        found += l->mask[i * step] != 0;
    }
    return found;
}

static bool next_line(const ht_nonzero_call *c, line *l)
{
    for (int axis = c->ndim - 2; axis >= 0; axis--) {
        l->mask += c->stride[axis];
        if (++l->index[axis] < c->shape[axis])
            return true;
        l->mask -= c->stride[axis] * c->shape[axis];
        l->index[axis] = 0;
    }
    return false;
}

static int nonzero(void *stream, const ht_kernel_call *call)
{
    const ht_nonzero_call *c = (const ht_nonzero_call *)call;
    line l = {.mask = c->mask.data};
    int64_t *at = c->at.data, found = 0;

    (void)stream;
    if (c->ndim == 1) {
        find_in_vector(c, at, c->count);
        return 0;
    }
    do
        found += find_in_line(c, &l, at + found * c->ndim, c->count - found);
    while (found < c->count && next_line(c, &l));
    return 0;
}

void HT_LEVEL_NAME(ht__fill_nonzero)(ht_kernel_table *k)
{
    k->at[HT_KERNEL_NONZERO][HT_BOOL] = nonzero;
}
