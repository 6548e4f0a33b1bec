/* SPDX-License-Identifier: MIT
 *
 * What a key names of a tensor. */
#ifndef HT_CORE_OPS_KEY_H
#define HT_CORE_OPS_KEY_H

#include "core/ops/ops.h"
#include "ht/key.h"

/* As many items as a key can have that is one: an index for each axis, new ones, an ellipsis. */
enum { HT_KEY_ITEMS = 2 * HT_MAX_NDIM + 1 };

typedef struct ht_selection {
    ht_body *view; /* owned by who asked */
    int held;      /* its axis of length 1 that an integer left, as x is split there; HT_NONE */
    int mirrored;  /* its split axis, if the key wants that in the other direction; HT_NONE */
} ht_selection;

/* False after an error. */
bool ht__key_select(const char *what, const ht_body *x, int count, const ht_index key[],
                    ht_selection *selection);

/* ht_getitem in the words of `what`. */
ht_tensor *ht__getitem(const char *what, ht_tensor *x, int count, const ht_index key[]);

#endif
