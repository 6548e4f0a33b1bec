/* SPDX-License-Identifier: MIT
 *
 * Divides a shard into windows and units. A shard that fits into the window stays in memory; for a
 * longer one there are two windows of half the size. */
#include "utils/data/data.h"

#define SEQUENTIAL_BYTES (INT64_C(16) << 20) /* no need to hold more without shuffling */
#define WINDOW_ROWS      (INT64_C(1) << 31)

static void cut(ht_plan *plan, const ht_dataset *dataset, int64_t bytes)
{
    int64_t row_bytes = ht__dataset_row_bytes(dataset), rows;

    if (row_bytes < 1)
        row_bytes = 1;
    rows = bytes / row_bytes < WINDOW_ROWS ? bytes / row_bytes : WINDOW_ROWS;
    plan->windows = 1;
    if (plan->rows > rows) {
        plan->windows = 2;
        if (!plan->shuffle && bytes > SEQUENTIAL_BYTES)
            rows = SEQUENTIAL_BYTES / row_bytes;
        rows = rows / 2 > 1 ? rows / 2 : 1;
    }
    plan->unit_rows = ht__dataset_unit_rows(dataset, rows > 1 ? rows : 1);
    plan->units = plan->rows == 0 ? 0
                                  : (plan->start + plan->rows - 1) / plan->unit_rows -
                                        plan->start / plan->unit_rows + 1;
    plan->window_units = plan->units;
    if (plan->windows == 1)
        return;
    plan->window_units = rows / plan->unit_rows;
    plan->windows = (plan->units + plan->window_units - 1) / plan->window_units;
}

ht_plan ht__plan_shard(const ht_dataset *dataset, const ht_dataloader_options *options,
                       const ht_deal *deal, int64_t shard)
{
    int64_t rows = dataset->rows, shards = deal->shards;
    ht_plan plan = {
        .start = shard * rows / shards,
        .rows = (shard + 1) * rows / shards - shard * rows / shards,
        .shuffle = options->shuffle,
        .seed = options->seed,
        .shard = (int)shard,
    };

    cut(&plan, dataset, deal->window_bytes);
    return plan;
}

bool ht__plan_same_cut(const ht_plan *a, const ht_plan *b)
{
    return a->start == b->start && a->rows == b->rows && a->unit_rows == b->unit_rows &&
           a->units == b->units && a->window_units == b->window_units && a->windows == b->windows &&
           a->shuffle == b->shuffle && a->shard == b->shard;
}
