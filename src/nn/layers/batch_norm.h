/* SPDX-License-Identifier: MIT
 *
 * Shared by BatchNorm1d, 2d, 3d and SyncBatchNorm: one struct, so that one can become the other. */
#ifndef HT_NN_LAYERS_BATCH_NORM_H
#define HT_NN_LAYERS_BATCH_NORM_H

#include "nn/functional/norm/batch_norm.h"
#include "nn/module/init.h"

typedef struct ht_batch_norm_layer {
    ht_tensor *weight, *bias;              /* slots; NULL if the options leave them out */
    ht_tensor *running_mean, *running_var; /* slots; NULL without track_running_stats */
    ht_tensor *batches;                    /* slot: num_batches_tracked, int64 */
    ht_comm *comm;                         /* retained; of SyncBatchNorm, else NULL */
    int dims;                              /* what it was made for: 1, 2, 3; 0: any */
    int64_t features;
    ht_batch_norm_options options;
} ht_batch_norm_layer;

extern const ht_module_type ht__batch_norm_types[4]; /* [dims]; [0] is SyncBatchNorm */

/* The layer's struct; NULL when the module is neither a BatchNorm nor a SyncBatchNorm. */
ht_batch_norm_layer *ht__batch_norm_of(ht_module *module);

/* Another layer with the same tensors and mode. Owned; NULL after an error. */
ht_module *ht__batch_norm_remake(ht_module *module, int dims, ht_comm *comm);

#endif
