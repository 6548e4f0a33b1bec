/* SPDX-License-Identifier: MIT
 *
 * One layer in one direction and its last states, with projection and lengths. */
#ifndef HT_NN_FUNCTIONAL_RECURRENT_DIRECTION_H
#define HT_NN_FUNCTIONAL_RECURRENT_DIRECTION_H

#include "ht/recurrent.h"
#include "nn/functional/recurrent/layer.h"

enum { HT_W_IH, HT_W_HH, HT_B_IH, HT_B_HH, HT_W_HR, HT_CELL_WEIGHTS };

/* Scoped tensors. */
typedef struct ht_recurrent_result {
    ht_tensor *y;     /* (L, N, out), states of rows that have ended included */
    ht_tensor *h, *c; /* (1, N, out), (1, N, hidden); c: of LSTM, else NULL */
} ht_recurrent_result;

/* Whether the weights of a cell fit x (L, N, in): HT_CELL_WEIGHTS tensors, of which those from B_IH
 * on may be NULL. Lays them out in place. features[]: hidden, and the length of h. */
bool ht__recurrent_weights(const char *what, ht_cell cell, ht_tensor **x, ht_tensor *weights[],
                           int64_t features[2]);

/* State number `index` of `states`, (count, N, features), or zeros where states is NULL: (N,
 * features), with the rows of x (L, N, in), contiguous. */
ht_tensor *ht__recurrent_state(const char *what, const ht_tensor *x, ht_tensor *states,
                               int64_t index, int64_t features);

/* Runs layer, whose weights are set from `weights`. mask: (L, N, 1), whether a row has this step;
 * NULL like the lengths. False after an error. */
bool ht__recurrent_direction(ht_recurrent_layer *layer, ht_tensor *const weights[], ht_tensor *mask,
                             ht_recurrent_result *result);

/* Whether it is one; HT_ERR_ARGUMENT else. */
bool ht__recurrent_check_nonlinearity(const char *what, ht_comm *comm,
                                      ht_nonlinearity nonlinearity);

#endif
