/* SPDX-License-Identifier: MIT
 *
 * The same program on one rank and on many: what has to be wrapped is wrapped, and what was decided
 * is in the log (HT_LOG=info). Source: ignite.distributed.auto_model, auto_optim, auto_dataloader.
 */
#ifndef HT_AUTO_H
#define HT_AUTO_H

#include "ht/data.h"
#include "ht/data_parallel.h"

HT_BEGIN_DECLS

/* Moves `module` to ht_get_device(), puts SyncBatchNorm in the place of BatchNorm (sync_bn, on more
 * than one rank of the world) and ht_nn_data_parallel_ext around it. One rank has the wrapper, too:
 * ignite gives the module itself there, and accumulation, weights of batches and requests to stop
 * would then mean something else than on many; ht_data_parallel_module is the module. On one rank a
 * module with nothing to train stays as it is, and where the current device is the first of several
 * accelerators it is ht_nn_device_parallel of it over all of them, which leaves `options` to the
 * program. `optimizer` as there (NULL: gradients are averaged during backward); it holds the
 * module's parameters. Both are retained, as by every wrapper: the caller still releases its own
 * references. options NULL: defaults; device_ids in them is an error, for the device is the current
 * one. Owned. Collective over the world, agrees. */
HT_API ht_module *ht_auto_model(ht_module *module, ht_optimizer *optimizer, bool sync_bn,
                                const ht_data_parallel_options *options);

/* Returns `optimizer`: ht_auto_model gives gradients that every optimizer can use as they are. */
HT_API ht_optimizer *ht_auto_optim(ht_optimizer *optimizer);

/* When the rows of a step cannot be dealt out evenly. */
typedef enum ht_batch_policy {
    HT_BATCH_EXACT,      /* an error that names the remainder */
    HT_BATCH_ROUND_DOWN, /* fewer rows in a step, at least one for each rank */
    HT_BATCH_ROUND_UP    /* more rows in a step */
} ht_batch_policy;

/* A loader whose options->batch_size counts the rows of a step on *all* ranks of the dataset's
 * communicator: each has batch_size / ranks of them, of its own shard. options NULL: defaults.
 * Owned. Collective, agrees. Errors: HT_ERR_ARGUMENT for rows that the ranks cannot share. */
HT_API ht_dataloader *ht_auto_dataloader(ht_dataset *dataset, const ht_dataloader_options *options,
                                         ht_batch_policy policy);

HT_END_DECLS
#endif
