/* SPDX-License-Identifier: MIT
 *
 * The same program on one rank and on many: models and loaders are wrapped where that is needed.
 * The log tells the decisions (HT_LOG=info). Source: ignite.distributed.auto_model, auto_optim,
 * auto_dataloader. */
#ifndef HT_AUTO_H
#define HT_AUTO_H

#include "ht/data.h"
#include "ht/data_parallel.h"

HT_BEGIN_DECLS

/* Moves `module` to ht_get_device() and wraps it by ht_nn_data_parallel_ext, over the world.
 *
 * One rank has the wrapper too, where ignite returns the module itself. Otherwise accumulation,
 * weights of batches and requests to stop would mean something else than on many ranks.
 * ht_data_parallel_module returns the module.
 *
 * There are two exceptions on one rank. A module without trainable parameters is returned
 * unchanged, retained once more. If the current device is the first of several accelerators, the
 * result is ht_nn_device_parallel(module) over all of them. The program then steps `optimizer` and
 * applies `options` itself.
 *
 * module: moved, and retained by the wrapper. The caller still releases its reference.
 * optimizer: retained by the wrapper; updates parameters of the module. NULL averages gradients
 * during backward.
 * sync_bn: true converts BatchNorm to SyncBatchNorm on more than one rank of the world.
 * options: NULL takes the defaults. device_ids must not be set, because the device is the current
 * one.
 * Collective over the world, agrees.
 * Result: owned.
 * Errors: HT_ERR_ARGUMENT for device_ids; those of ht_module_to_device, ht_nn_data_parallel_ext and
 * ht_nn_device_parallel. */
HT_API ht_module *ht_auto_model(ht_module *module, ht_optimizer *optimizer, bool sync_bn,
                                const ht_data_parallel_options *options);

/* Returns `optimizer` unchanged, because every optimizer can use the gradients of ht_auto_model. No
 * reference is added, and NULL stays NULL. Not collective. */
HT_API ht_optimizer *ht_auto_optim(ht_optimizer *optimizer);

/* Policies for a number of rows that the ranks cannot share evenly. */
typedef enum ht_batch_policy {
    HT_BATCH_EXACT,      /* HT_ERR_ARGUMENT, which names the remainder */
    HT_BATCH_ROUND_DOWN, /* fewer rows in a step, at least one for each rank */
    HT_BATCH_ROUND_UP    /* more rows in a step */
} ht_batch_policy;

/* Makes a loader whose options->batch_size counts the rows of a step on *all* ranks of the dataset.
 *
 * Each rank gets batch_size / ranks rows, from its own shard.
 *
 * dataset: the loader keeps a copy; the caller still releases its reference.
 * options: NULL takes the defaults.
 * policy: for a batch_size that the number of ranks does not divide.
 * Collective over the dataset's communicator, agrees.
 * Result: owned.
 * Errors: HT_ERR_ARGUMENT for rows that the ranks cannot share, and for a batch_size below 1; those
 * of ht_dataloader_new. */
HT_API ht_dataloader *ht_auto_dataloader(ht_dataset *dataset, const ht_dataloader_options *options,
                                         ht_batch_policy policy);

HT_END_DECLS
#endif
