/* SPDX-License-Identifier: MIT
 *
 * The exchange through shared memory, where all ranks are on one node. Buffers lie in memory that
 * all can read, so nothing is sent: a buffer of n elements is divided into one slice per rank; when
 * all ranks have started, each slice is summed once, by the tree, from everybody's buffer into the
 * result area of the rank it belongs to; then every rank copies all slices into its buffer. Ranks
 * take their own slice first and then those nobody has taken: where ranks share cores, the one that
 * runs does the work of those that sleep. Bytes read: n per rank to sum, n to copy.
 *
 * Small buffers from elsewhere pass through blocks of the engine's own.
 *
 * A block is used by one operation at a time. Counters in it say how often a rank has started
 * (ready) and a slice was taken (claimed) and summed (reduced). A rank starts use u only after it
 * has copied the results of use u - 1: when all are ready, the result areas are free. */
#include "exchange_path.h"

#include <string.h>

/* Slices begin at cache lines. */
static int64_t slice_length(const ht_exchange *exchange, const ht_exchange_op *op)
{
    int64_t line = HT_LINE / (int64_t)op->element;

    return (op->n / exchange->size + line) / line * line;
}

static int64_t slice_begin(const ht_exchange *exchange, const ht_exchange_op *op, int slice)
{
    int64_t begin = slice * slice_length(exchange, op);

    return begin < op->n ? begin : op->n;
}

static void launch(ht_exchange *exchange, ht_exchange_op *op)
{
    shared_block *block = op->block;
    char *mine = ht__block_memory(exchange, block);
    int64_t offset = 0;

    if (ht__block_with(exchange, op->data) == block)
        offset = op->data - mine;
    else
        memcpy(mine, op->data, (size_t)op->n * op->element);
    for (int r = 0; r < exchange->size; r++) {
        block->data[r] = (char *)ht__part_data(block->parts[r]) + offset;
        block->copied[r] = false;
    }
    block->busy = true;
    op->launched = true;
    block->uses = op->use;
    atomic_store_explicit(&block->parts[exchange->rank]->ready, op->use, memory_order_release);
}

/* The choice of the path must not depend on what is under way: that differs between ranks. */
static shared_block *block_for(ht_exchange *exchange, const ht_exchange_op *op)
{
    shared_block *block = ht__block_with(exchange, op->data);

    if (block == NULL && exchange->small[0] != NULL &&
        (size_t)op->n * op->element <= HT_SMALL_BYTES)
        block = exchange->small[exchange->smalls_started++ % HT_SMALL_BLOCKS];
    return block != NULL && block->plain == NULL ? block : NULL;
}

bool ht__shared_start(ht_exchange *exchange, ht_exchange_op *op)
{
    op->block = block_for(exchange, op);
    if (op->block == NULL)
        return false;
    op->use = ++op->block->asked;
    op->slices = (int)((op->n - 1) / slice_length(exchange, op) + 1);
    return true;
}

static bool all_ready(const ht_exchange *exchange, ht_exchange_op *op)
{
    while (op->arrived < exchange->size &&
           atomic_load_explicit(&op->block->parts[op->arrived]->ready, memory_order_acquire) >=
               op->use)
        op->arrived++;
    return op->arrived == exchange->size;
}

static void sum_slice(const ht_exchange *exchange, const ht_exchange_op *op, int slice)
{
    int64_t begin = slice_begin(exchange, op, slice), end = slice_begin(exchange, op, slice + 1);

    ht__sum_tree(op->dtype, ht__block_result(op->block, slice), op->block->data, exchange->size,
                 begin, end - begin, op->scale);
}

static void sum_unclaimed(const ht_exchange *exchange, ht_exchange_op *op)
{
    for (int i = 0; i < op->slices; i++) {
        int slice = (exchange->rank + i) % op->slices;
        shared_part *p = op->block->parts[slice];
        unsigned long long before = atomic_load_explicit(&p->claimed, memory_order_relaxed);

        if (before >= op->use ||
            !atomic_compare_exchange_strong_explicit(&p->claimed, &before, op->use,
                                                     memory_order_relaxed, memory_order_relaxed))
            continue;
        sum_slice(exchange, op, slice);
        atomic_store_explicit(&p->reduced, op->use, memory_order_release);
    }
    op->summed = true;
}

static bool copy_slices(const ht_exchange *exchange, ht_exchange_op *op)
{
    int before = op->copied;

    for (int i = 0; i < op->slices; i++) {
        int slice = (exchange->rank + i) % op->slices;
        int64_t begin = slice_begin(exchange, op, slice),
                end = slice_begin(exchange, op, slice + 1);
        shared_part *p = op->block->parts[slice];

        if (op->block->copied[slice] ||
            atomic_load_explicit(&p->reduced, memory_order_acquire) != op->use)
            continue;
        memcpy(op->data + (size_t)begin * op->element, ht__block_result(op->block, slice),
               (size_t)(end - begin) * op->element);
        op->block->copied[slice] = true;
        op->copied++;
    }
    return op->copied > before;
}

bool ht__shared_progress(ht_exchange *exchange, ht_exchange_op *op)
{
    bool moved = false;

    if (!op->launched) {
        /* In the order they were started, whatever their priority. */
        if (op->block->busy || op->block->uses + 1 != op->use)
            return false;
        launch(exchange, op);
        moved = true;
    }
    if (!all_ready(exchange, op))
        return moved;
    if (!op->summed)
        sum_unclaimed(exchange, op);
    if (!copy_slices(exchange, op))
        return moved;
    if (op->copied == op->slices) {
        op->block->busy = false;
        ht__exchange_finish(exchange, op, HT_SUCCESS);
    }
    return true;
}
