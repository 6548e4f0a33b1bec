/* SPDX-License-Identifier: MIT
 *
 * One sample as a batch, for layers whose functions take batches; and results with indices. */
#ifndef HT_NN_LAYERS_WINDOW_SAMPLE_H
#define HT_NN_LAYERS_WINDOW_SAMPLE_H

#include "ht/windows.h"
#include "nn/functional/operands.h"

/* x if it has `axes`; with an axis of one sample in front if it has one fewer. NULL after
 * HT_ERR_SHAPE if it has another number, and HT_ERR_ARGUMENT for a sample whose split is neither
 * HT_NONE nor allowed by `split`, HT_SPLIT_NONE or HT_SPLIT_ANY. */
ht_tensor *ht__as_batch(const char *what, const char *name, ht_tensor *x, int axes,
                        ht_operand_split split);

/* y, the result of such a batch, without the axis of samples if x had none. NULL stays NULL. */
ht_tensor *ht__as_given(ht_tensor *y, const ht_tensor *x, int axes);

/* y, or a list of y and indices unless those are NULL. NULL if y is. */
ht_value *ht__with_indices(ht_tensor *y, ht_tensor *indices);

#endif
