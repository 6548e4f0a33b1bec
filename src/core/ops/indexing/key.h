/* SPDX-License-Identifier: MIT
 *
 * The part of a tensor that a key names. */
#ifndef HT_CORE_OPS_INDEXING_KEY_H
#define HT_CORE_OPS_INDEXING_KEY_H

#include "core/ops/ops.h"
#include "ht/key.h"

/* As many items as a key can have that is one: an index for each axis, new ones, an ellipsis. */
enum { HT_KEY_ITEMS = 2 * HT_MAX_NDIM + 1 };

typedef struct ht_selection {
    ht_body *view; /* owned by the caller */
    int held;      /* its axis of length 1 that an integer left, as x is split there; HT_NONE */
    int mirrored;  /* its split axis, if the key wants that in the other direction; HT_NONE */
} ht_selection;

/* How many axes of x a key without tensors has no index for; -1 after an error. */
int ht__key_axes_left(const char *what, const ht_body *x, int count, const ht_index key[]);

/* False after an error. No tensors among the items. */
bool ht__key_select(const char *what, const ht_body *x, int count, const ht_index key[],
                    ht_selection *selection);

/* Turns a key with tensors into one without, of up to HT_KEY_ITEMS items, and the rows that the
 * tensors name (key_rows.c); rows->axes is 0 where all tensors were integers. */
static inline bool ht__key_has_tensors(int count, const ht_index key[])
{
    for (int i = 0; i < count; i++) {
        if (key[i].kind == HT_INDEX_TENSOR)
            return true;
    }
    return false;
}

struct ht_row_index;
bool ht__key_rows(const char *what, ht_tensor *x, int count, const ht_index key[],
                  ht_index plain[HT_KEY_ITEMS], int *plain_count, struct ht_row_index *rows);

/* The elements that a key without tensors selects. The result is a view of x unless elements have to
 * move. */
ht_tensor *ht__key_view(const char *what, ht_tensor *x, int count, const ht_index key[],
                        ht_selection *selection);

/* ht_getitem in the words of `what`; of a key without tensors; and of any. */
ht_tensor *ht__getitem_plain(const char *what, ht_tensor *x, int count, const ht_index key[]);
ht_tensor *ht__getitem(const char *what, ht_tensor *x, int count, const ht_index key[]);

#endif
