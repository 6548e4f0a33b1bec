/* SPDX-License-Identifier: MIT
 *
 * A loader for a given number of rows that all ranks take in a step. */
#include <inttypes.h>

#include "utils/data/data.h"
#include "ht/auto.h"
#include "ht/log.h"

static const char what[] = "ht_auto_dataloader";

/* Rows of a step to rows for each rank. */
static ht_status share(ht_comm *comm, int64_t *batch, ht_batch_policy policy)
{
    int64_t each = *batch / comm->size, left = *batch % comm->size;

    if ((unsigned)policy > HT_BATCH_ROUND_UP)
        return ht__error_set(HT_ERR_ARGUMENT, "%s: policy is %d, expected an ht_batch_policy", what,
                             (int)policy);
    if (left > 0 && policy == HT_BATCH_ROUND_UP && *batch < INT64_MAX - comm->size)
        each++;
    else if (each == 0 && policy == HT_BATCH_ROUND_DOWN)
        return ht__error_set(HT_ERR_ARGUMENT,
                             "%s: a batch of %" PRId64 " rows, rounded down, has no row for each "
                             "of %d ranks; take a batch_size of at least %d, or HT_BATCH_ROUND_UP",
                             what, *batch, comm->size, comm->size);
    else if (left > 0 && policy != HT_BATCH_ROUND_DOWN)
        return ht__error_set(HT_ERR_ARGUMENT,
                             "%s: %d ranks cannot share a batch of %" PRId64 " rows: %" PRId64
                             " each leaves a remainder of %" PRId64
                             "; take another batch_size, or a policy that rounds",
                             what, comm->size, *batch, each, left);
    *batch = each;
    return HT_SUCCESS;
}

ht_dataloader *ht_auto_dataloader(ht_dataset *dataset, const ht_dataloader_options *options,
                                  ht_batch_policy policy)
{
    ht_dataloader_options o = options != NULL ? *options : ht_dataloader_options_default();
    int64_t all = o.batch_size;
    ht_dataloader *loader;
    ht_status status;

    if (ht__dataset_missing(what, dataset))
        return NULL;
    if (o.size != sizeof o || all < 1) /* the loader's own errors */
        return ht__dataloader_new(what, dataset, &o, HT_SUCCESS);
    status = share(dataset->comm, &o.batch_size, policy);
    loader = ht__dataloader_new(what, dataset, &o, status);
    if (loader == NULL)
        return NULL;
    ht_log_write0(HT_LOG_INFO,
                  "%s: steps of %" PRId64 " rows%s: %" PRId64 " on each of %d rank%s, from its "
                  "own rows, %s",
                  what, o.batch_size * dataset->comm->size,
                  o.batch_size * dataset->comm->size != all ? " (rounded)" : "", o.batch_size,
                  dataset->comm->size, dataset->comm->size > 1 ? "s" : "",
                  o.shuffle ? "shuffled" : "in the file's order");
    return loader;
}
