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

#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

enum { LINE = 64 };

/* First in each rank's part of a block; then its data, then its slice of the result. */
typedef struct part {
    _Alignas(LINE) atomic_ullong ready;
    _Alignas(LINE) atomic_ullong claimed;
    _Alignas(LINE) atomic_ullong reduced;
} part;

struct shared_block {
    shared_block *next;
    int id;
    MPI_Win window;
    size_t bytes;      /* of data, per rank */
    part **parts;      /* owned; one per rank */
    const void **data; /* owned; scratch for the addresses of one operation */
    bool *copied;      /* owned; slices the present operation has copied */
    uint64_t asked;    /* operations started */
    uint64_t uses;     /* operations launched */
    bool in_use;       /* handed out */
    bool busy;         /* an operation of this rank is under way in it */
    void *plain;       /* memory of this rank alone, where sharing is not possible */
};

static size_t round_up(size_t bytes)
{
    return (bytes + LINE - 1) / LINE * LINE;
}

/* The first cache line in this memory. Mappings begin at pages: it is the same one for all ranks.
 */
static void *first_line(void *memory)
{
    return (void *)round_up((uintptr_t)memory);
}

static char *data_of(part *p)
{
    return (char *)(p + 1);
}

static char *result_of(const shared_block *block, int rank)
{
    return data_of(block->parts[rank]) + round_up(block->bytes);
}

/* Open MPI keeps windows in files of this folder, and when one is too large for it, some ranks fail
 * and the others wait for ever. So one rank per node looks first, and tells. */
static bool has_room(const ht_exchange *exchange, size_t bytes_per_rank)
{
    const char *folder = getenv("OMPI_MCA_osc_sm_backing_directory");
    struct statvfs room;
    int enough = 1;

    if (statvfs(folder != NULL ? folder : "/dev/shm", &room) == 0) {
        double free_bytes = (double)room.f_bavail * (double)room.f_frsize;

        enough = free_bytes > 1.25 * (double)bytes_per_rank * exchange->size + (1 << 20);
    }
    MPI_Bcast(&enough, 1, MPI_INT, 0, exchange->node);
    return enough;
}

static bool window_new(ht_exchange *exchange, shared_block *block)
{
    size_t slice = round_up(block->bytes / (size_t)exchange->size + 1) + LINE;
    MPI_Aint bytes = (MPI_Aint)(LINE + sizeof(part) + round_up(block->bytes) + slice);
    MPI_Info info;
    char *mine = NULL;

    if (!has_room(exchange, (size_t)bytes))
        return false;
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
    MPI_Comm_set_errhandler(exchange->node, MPI_ERRORS_RETURN);
    int failed = MPI_Win_allocate_shared(bytes, 1, info, exchange->node, &mine, &block->window) !=
                 MPI_SUCCESS;

    MPI_Info_free(&info);
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, exchange->node);
    if (failed)
        return false;

    block->parts = ht__alloc(sizeof *block->parts * (size_t)exchange->size);
    block->data = ht__alloc(sizeof *block->data * (size_t)exchange->size);
    block->copied = ht__alloc(sizeof *block->copied * (size_t)exchange->size);
    for (int r = 0; r < exchange->size; r++) {
        MPI_Aint length;
        int unit;
        void *base;

        MPI_Win_shared_query(block->window, r, &length, &unit, &base);
        block->parts[r] = first_line(base);
    }
    memset(mine, 0, (size_t)bytes);
    MPI_Barrier(exchange->node);
    return true;
}

static shared_block *block_new(ht_exchange *exchange, size_t bytes)
{
    shared_block *block = ht__alloc(sizeof *block);

    block->id = exchange->block_count++;
    block->bytes = bytes;
    block->window = MPI_WIN_NULL;
    if (exchange->node == MPI_COMM_NULL || !window_new(exchange, block)) {
        block->plain = ht__alloc(round_up(bytes) + LINE);
        if (exchange->node != MPI_COMM_NULL)
            ht_log_write0(HT_LOG_WARN, "no shared memory of %zu bytes: messages are used", bytes);
    }
    block->next = exchange->blocks;
    exchange->blocks = block;
    return block;
}

static void open_small(ht_exchange *exchange)
{
    for (int i = 0; i < HT_SMALL_BLOCKS; i++) {
        exchange->small[i] = block_new(exchange, HT_SMALL_BYTES);
        exchange->small[i]->in_use = true;
    }
}

void ht__shared_open(ht_exchange *exchange)
{
    const char *wanted = getenv("HT_EXCHANGE");
    int size;

    exchange->node = MPI_COMM_NULL;
    if (exchange->size == 1 || (wanted != NULL && strcmp(wanted, "messages") == 0))
        return;
    MPI_Comm_split_type(exchange->mpi, MPI_COMM_TYPE_SHARED, exchange->rank, MPI_INFO_NULL,
                        &exchange->node);
    MPI_Comm_size(exchange->node, &size);
    if (size == exchange->size && size >> HT_SUM_LEVELS == 0) {
        open_small(exchange);
        return;
    }
    MPI_Comm_free(&exchange->node);
    if (wanted != NULL && strcmp(wanted, "shared") == 0)
        ht_log_write0(HT_LOG_WARN, "HT_EXCHANGE=shared: the ranks are on several nodes, messages "
                                   "are used");
}

static void *memory_of(const ht_exchange *exchange, const shared_block *block)
{
    if (block->plain != NULL)
        return first_line(block->plain);
    return data_of(block->parts[exchange->rank]);
}

/* A released block of this size, or NULL. Ranks may have released different ones so far. */
static shared_block *block_again(ht_exchange *exchange, size_t bytes)
{
    shared_block *found = NULL;
    int64_t ids[2] = {-1, 1};

    for (shared_block *block = exchange->blocks; block != NULL; block = block->next) {
        if (!block->in_use && block->bytes == bytes)
            found = block;
    }
    if (found != NULL) {
        ids[0] = found->id;
        ids[1] = -found->id;
    }
    MPI_Allreduce(MPI_IN_PLACE, ids, 2, MPI_INT64_T, MPI_MAX, exchange->mpi);
    return ids[0] == -ids[1] ? found : NULL;
}

void *ht__exchange_memory(ht_exchange *exchange, size_t bytes)
{
    shared_block *block = block_again(exchange, bytes);

    if (block == NULL)
        block = block_new(exchange, bytes);
    block->in_use = true;

    void *memory = memory_of(exchange, block);

    memset(memory, 0, bytes);
    return memory;
}

static shared_block *block_with(const ht_exchange *exchange, const void *data)
{
    for (shared_block *block = exchange->blocks; block != NULL; block = block->next) {
        const char *memory = memory_of(exchange, block);

        if ((const char *)data >= memory && (const char *)data < memory + block->bytes)
            return block;
    }
    return NULL;
}

void ht__exchange_memory_release(ht_exchange *exchange, void *memory)
{
    shared_block *block = block_with(exchange, memory);

    if (block != NULL)
        block->in_use = false;
}

/* Slices begin at cache lines. */
static int64_t slice_length(const ht_exchange *exchange, const ht_exchange_op *op)
{
    int64_t line = LINE / (int64_t)op->element;

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
    char *mine = memory_of(exchange, block);
    int64_t offset = op->data - mine;

    if (block_with(exchange, op->data) != block) {
        offset = 0;
        memcpy(mine, op->data, (size_t)op->n * op->element);
    }
    for (int r = 0; r < exchange->size; r++) {
        block->data[r] = data_of(block->parts[r]) + offset;
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
    shared_block *block = block_with(exchange, op->data);

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

    ht__sum_tree(op->dtype, result_of(op->block, slice), op->block->data, exchange->size, begin,
                 end - begin, op->scale);
}

static void sum_unclaimed(const ht_exchange *exchange, ht_exchange_op *op)
{
    for (int i = 0; i < op->slices; i++) {
        int slice = (exchange->rank + i) % op->slices;
        part *p = op->block->parts[slice];
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
        part *p = op->block->parts[slice];

        if (op->block->copied[slice] ||
            atomic_load_explicit(&p->reduced, memory_order_acquire) != op->use)
            continue;
        memcpy(op->data + (size_t)begin * op->element, result_of(op->block, slice),
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

void ht__shared_end(ht_exchange *exchange)
{
    shared_block *oldest = NULL;

    /* Windows are freed in the order they were made, on all ranks alike. */
    while (exchange->blocks != NULL) {
        shared_block *block = exchange->blocks;

        exchange->blocks = block->next;
        block->next = oldest;
        oldest = block;
    }
    while (oldest != NULL) {
        shared_block *block = oldest;

        oldest = block->next;
        if (block->window != MPI_WIN_NULL)
            MPI_Win_free(&block->window);
        ht__free(block->parts);
        ht__free(block->data);
        ht__free(block->copied);
        ht__free(block->plain);
        ht__free(block);
    }
    if (exchange->node != MPI_COMM_NULL)
        MPI_Comm_free(&exchange->node);
}
