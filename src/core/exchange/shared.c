/* SPDX-License-Identifier: MIT
 *
 * The exchange through shared memory. All ranks of a node can read its buffers, so nothing is sent
 * inside the node. A buffer is divided into slices. When all ranks of the node have started, each
 * slice is summed once, by the tree, from all buffers into the results of the rank that carries it.
 * Then every rank copies all slices into its buffer. Ranks take the slices that they carry first,
 * then any others that are still free. If ranks share cores, the running rank so does the work of
 * sleeping ones. Bytes read: n per rank to sum, n to copy.
 *
 * With several nodes the carriers of a slice turn the sum of the node into the sum of all, by
 * messages between them, in place. Other slices are summed or copied in the meantime.
 * Small buffers outside of shared memory pass through the engine's own blocks.
 * Data that are not complete yet are summed slice by slice, up to the point that all ranks of the
 * node have filled.
 *
 * A block is used by one operation at a time. Its counters tell how often a rank has started
 * (ready) and a slice was taken (claimed), summed in the node (reduced) and summed over all (done).
 * A rank starts use u only after it has copied the results of use u - 1: when all are ready, the
 * results are free. */
#include "core/exchange/path.h"

#include <string.h>

/* Slices begin at cache lines. On one node each rank carries one, on several many short ones, so
 * that nodes need not wait for each other's last. */
static void cut(const ht_exchange *exchange, ht_exchange_op *op)
{
    int64_t line = HT_LINE / (int64_t)op->element, each = op->n / exchange->carriers + 1;
    int64_t segment = (int64_t)(exchange->segment_bytes / op->element), count = 1;

    if (exchange->comm->nodes > 1)
        count = each / segment + 1 < HT_SLICES ? each / segment + 1 : HT_SLICES;
    if (op->kind != OP_SUM) {
        ht__half_cut_shared(exchange, op, count);
        return;
    }
    op->slice = (each / count + line) / line * line;
    op->slices = (int)((op->n - 1) / op->slice + 1);
}

static int64_t slice_begin(const ht_exchange_op *op, int slice)
{
    int64_t begin = slice * op->slice;

    return begin < op->n ? begin : op->n;
}

static shared_slice *state_of(const ht_exchange *exchange, const ht_exchange_op *op, int slice)
{
    return &op->block->parts[slice % exchange->carriers]->slices[slice / exchange->carriers];
}

static char *result_of(const ht_exchange *exchange, const ht_exchange_op *op, int slice)
{
    char *results = ht__block_results(op->block, slice % exchange->carriers);

    return results + (size_t)(slice / exchange->carriers * op->slice) * op->element;
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
    for (int r = 0; r < exchange->local_size; r++) {
        block->data[r] = (char *)ht__part_data(block->parts[r]) + offset;
    }
    memset(block->copied, 0, sizeof *block->copied * (size_t)op->slices);
    block->busy = true;
    op->launched = true;
    block->uses = op->use;
    atomic_store_explicit(&block->parts[exchange->local]->filled, op->filled, memory_order_relaxed);
    atomic_store_explicit(&block->parts[exchange->local]->ready, op->use, memory_order_release);
}

/* In the order operations were started, for any priority; the complete operation, if it has to be
 * copied. */
static bool can_launch(const ht_exchange *exchange, const ht_exchange_op *op)
{
    if (op->block->busy || op->block->uses + 1 != op->use)
        return false;
    return op->filled == op->n || ht__block_with(exchange, op->data) == op->block;
}

static void tell_filled(const ht_exchange *exchange, const ht_exchange_op *op)
{
    atomic_llong *filled = &op->block->parts[exchange->local]->filled;

    if (atomic_load_explicit(filled, memory_order_relaxed) < op->filled)
        atomic_store_explicit(filled, op->filled, memory_order_release);
}

/* Elements that all ranks of the node have filled. A rank that is in a later use by now has left no
 * slice of this one to be summed. */
static int64_t filled_by_all(const ht_exchange *exchange, const ht_exchange_op *op)
{
    int64_t least = op->filled;

    for (int r = 0; r < exchange->local_size; r++) {
        int64_t filled = atomic_load_explicit(&op->block->parts[r]->filled, memory_order_acquire);

        least = filled < least ? filled : least;
    }
    return least;
}

/* The choice of the path must not depend on pending exchanges: that differs between ranks. */
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
    cut(exchange, op);
    return true;
}

static bool all_ready(const ht_exchange *exchange, ht_exchange_op *op)
{
    while (op->arrived < exchange->local_size &&
           atomic_load_explicit(&op->block->parts[op->arrived]->ready, memory_order_acquire) >=
               op->use)
        op->arrived++;
    return op->arrived == exchange->local_size;
}

static bool claim(shared_slice *slice, uint64_t use)
{
    unsigned long long before = atomic_load_explicit(&slice->claimed, memory_order_relaxed);

    return before < use &&
           atomic_compare_exchange_strong_explicit(&slice->claimed, &before, use,
                                                   memory_order_relaxed, memory_order_relaxed);
}

/* Sums the data of the ranks of the node. */
static void sum_slice(const ht_exchange *exchange, const ht_exchange_op *op, int slice,
                      double scale)
{
    int64_t begin = slice_begin(op, slice), end = slice_begin(op, slice + 1);

    if (op->kind != OP_SUM)
        ht__half_collect(exchange, op, slice, result_of(exchange, op, slice), scale);
    else
        ht__sum_tree(op->dtype, result_of(exchange, op, slice), op->block->data,
                     exchange->local_size, begin, end - begin, scale);
}

/* Sums a slice of the first `filled` elements that no rank has taken; false: there is none. */
static bool sum_one(const ht_exchange *exchange, ht_exchange_op *op, int64_t filled)
{
    bool last = exchange->comm->nodes == 1;

    for (; op->tried < op->slices; op->tried++) {
        int slice = (exchange->local + op->tried) % op->slices;
        shared_slice *state = state_of(exchange, op, slice);

        if (slice_begin(op, slice + 1) > filled)
            return false;
        if (!claim(state, op->use))
            continue;
        sum_slice(exchange, op, slice, last ? op->scale : 1);
        atomic_store_explicit(last ? &state->done : &state->reduced, op->use, memory_order_release);
        op->tried++;
        return true;
    }
    return false;
}

/* One slice at a time on several nodes: in between, those before it are sent. */
static bool sum_unclaimed(const ht_exchange *exchange, ht_exchange_op *op)
{
    int64_t filled = op->tried < op->slices ? filled_by_all(exchange, op) : 0;
    bool summed = sum_one(exchange, op, filled), any = summed;

    while (summed && exchange->comm->nodes == 1)
        summed = sum_one(exchange, op, filled);
    return any;
}

static void copy_slice(const ht_exchange *exchange, const ht_exchange_op *op, int slice)
{
    int64_t begin = slice_begin(op, slice), end = slice_begin(op, slice + 1);

    if (op->kind != OP_SUM)
        ht__half_unpack(exchange, op, slice, result_of(exchange, op, slice));
    else
        memcpy(op->data + (size_t)begin * op->element, result_of(exchange, op, slice),
               (size_t)(end - begin) * op->element);
}

/* Also of a half those that have nothing for this rank: afterwards no rank reads its data. */
static bool copy_slices(const ht_exchange *exchange, ht_exchange_op *op)
{
    int before = op->copied;

    for (int i = 0; i < op->slices; i++) {
        int slice = (exchange->local + i) % op->slices;
        shared_slice *state = state_of(exchange, op, slice);

        if (op->block->copied[slice] ||
            atomic_load_explicit(&state->done, memory_order_acquire) != op->use)
            continue;
        copy_slice(exchange, op, slice);
        op->block->copied[slice] = true;
        op->copied++;
    }
    if (op->copied == before || op->kind != OP_SUM)
        return op->copied > before;
    while (op->whole < op->slices && op->block->copied[op->whole])
        op->whole++;
    atomic_store_explicit(&op->summed, slice_begin(op, op->whole), memory_order_release);
    return true;
}

bool ht__shared_progress(ht_exchange *exchange, ht_exchange_op *op)
{
    bool moved = false;

    if (!op->launched) {
        if (!can_launch(exchange, op))
            return false;
        launch(exchange, op);
        moved = true;
    }
    tell_filled(exchange, op);
    if (!all_ready(exchange, op))
        return moved;
    moved |= sum_unclaimed(exchange, op);
    moved |= copy_slices(exchange, op);
    if (op->copied == op->slices) {
        op->block->busy = false;
        ht__exchange_finish(exchange, op, HT_SUCCESS);
    }
    return moved;
}

void *ht__shared_carry(const ht_exchange *exchange, const ht_exchange_op *op, int64_t number,
                       int64_t *n)
{
    int slice = (int)number * exchange->carriers + exchange->local;

    if (atomic_load_explicit(&state_of(exchange, op, slice)->reduced, memory_order_acquire) !=
        op->use)
        return NULL;
    *n = op->kind != OP_SUM ? ht__half_length(exchange, op, slice)
                            : slice_begin(op, slice + 1) - slice_begin(op, slice);
    return result_of(exchange, op, slice);
}

void ht__shared_carried(const ht_exchange *exchange, const ht_exchange_op *op, int64_t number)
{
    int slice = (int)number * exchange->carriers + exchange->local;

    atomic_store_explicit(&state_of(exchange, op, slice)->done, op->use, memory_order_release);
}
