/* SPDX-License-Identifier: MIT
 *
 * One layer of a recurrent network in one direction. */
#ifndef HT_NN_FUNCTIONAL_RECURRENT_LAYER_H
#define HT_NN_FUNCTIONAL_RECURRENT_LAYER_H

#include "ht/kernels/nn.h"
#include "nn/functional/functional.h"

/* Tensors are not owned. All rows of the batch are those of x, on each rank. */
typedef struct ht_recurrent_layer {
    const char *what; /* the public function */
    ht_cell cell;
    bool reverse;           /* from the last step to the first */
    ht_tensor *x;           /* (L, N, in), contiguous, split along axis 1 or not at all */
    ht_tensor *h, *c;       /* (N, recurrent), (N, hidden), contiguous: the states before the first
                                 step; c: of LSTM. recurrent is hidden, or L is 1 and there are no
                                 lengths */
    ht_tensor *lengths;     /* (N) of int64, contiguous, or NULL */
    ht_tensor *w_ih, *w_hh; /* (gates hidden, in), (gates hidden, recurrent) */
    ht_tensor *b_ih, *b_hh; /* (gates hidden), or NULL */
} ht_recurrent_layer;

/* How many gates a cell has. */
int ht__cell_gates(ht_cell cell);

/* The states h after each step, (L, N, hidden), and for LSTM one more row, c after the last step:
 * the first step if `reverse` is set. Scoped; NULL after an error. */
ht_tensor *ht__recurrent_layer(const ht_recurrent_layer *layer);

#endif
