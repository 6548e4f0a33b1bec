/* SPDX-License-Identifier: MIT
 *
 * The shared memory of the exchange: blocks in windows that all ranks of a node map. If ranks do
 * not share memory, or there is too little of it, a block belongs to this rank alone, and its
 * buffers travel by messages. */
#include "core/base/environment.h"
#include "core/exchange/path.h"
#include "ht/log.h"

#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

static size_t round_up(size_t bytes)
{
    return (bytes + HT_LINE - 1) / HT_LINE * HT_LINE;
}

/* The first cache line in this memory. Mappings begin at pages: it is the same one for all ranks.
 */
static void *first_line(void *memory)
{
    return (void *)round_up((uintptr_t)memory);
}

void *ht__part_data(shared_part *part)
{
    return part + 1;
}

void *ht__block_results(const shared_block *block, int local)
{
    return (char *)ht__part_data(block->parts[local]) + round_up(block->bytes);
}

/* Each slice begins at a cache line; those of a half have as much of each rank's part, rounded up
 * twice. */
size_t ht__block_room(const ht_exchange *exchange, size_t bytes)
{
    return round_up(bytes / (size_t)exchange->carriers + 1) + (HT_SLICES + 1) * HT_LINE +
           round_up(2 * sizeof(double[2]) * (size_t)exchange->size);
}

/* Open MPI keeps windows in files of this folder, and when one is too large for it, some ranks fail
 * and the others wait for ever. So one rank per node looks first, and tells. */
static bool has_room(const ht_exchange *exchange, size_t bytes_per_rank)
{
    const char *folder = ht__env_text(HT_ENV_OMPI_MCA_osc_sm_backing_directory);
    struct statvfs room;
    int enough = 1;

    if (statvfs(folder != NULL ? folder : "/dev/shm", &room) == 0) {
        double free_bytes = (double)room.f_bavail * (double)room.f_frsize;

        enough = free_bytes > 1.25 * (double)bytes_per_rank * exchange->local_size + (1 << 20);
    }
    MPI_Bcast(&enough, 1, MPI_INT, 0, exchange->node);
    /* Either all nodes share a block or none: they exchange with each other in different ways. */
    MPI_Allreduce(MPI_IN_PLACE, &enough, 1, MPI_INT, MPI_MIN, exchange->mpi);
    return enough;
}

static bool window_new(ht_exchange *exchange, shared_block *block)
{
    MPI_Aint bytes = (MPI_Aint)(HT_LINE + sizeof(shared_part) + round_up(block->bytes) +
                                ht__block_room(exchange, block->bytes));
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
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, exchange->mpi);
    if (failed) {
        block->window = MPI_WIN_NULL; /* of some ranks: freeing it would wait for the others */
        return false;
    }

    block->parts = ht__alloc(sizeof *block->parts * (size_t)exchange->local_size);
    block->data = ht__alloc(sizeof *block->data * (size_t)exchange->local_size);
    block->copied = ht__alloc(sizeof *block->copied * HT_SLICES * (size_t)exchange->carriers);
    for (int r = 0; r < exchange->local_size; r++) {
        MPI_Aint length;
        int unit;
        void *base;

        MPI_Win_shared_query(block->window, r, &length, &unit, &base);
        block->parts[r] = first_line(base);
    }
    memset(block->parts[exchange->local], 0, sizeof(shared_part));
    MPI_Barrier(exchange->node);
    return true;
}

static shared_block *block_new(ht_exchange *exchange, size_t bytes)
{
    shared_block *block = ht__alloc(sizeof *block);

    block->bytes = bytes;
    block->window = MPI_WIN_NULL;
    if (exchange->node == MPI_COMM_NULL || !window_new(exchange, block)) {
        block->plain = ht__alloc(round_up(bytes) + HT_LINE);
        if (exchange->node != MPI_COMM_NULL)
            ht_log_write0(HT_LOG_WARN,
                          "cannot allocate %zu bytes of shared memory; messages are used instead",
                          bytes);
    }
    ht__gate_lock();
    block->next = exchange->blocks;
    exchange->blocks = block;
    ht__gate_unlock();
    return block;
}

static void open_small(ht_exchange *exchange)
{
    for (int i = 0; i < HT_SMALL_BLOCKS; i++) {
        exchange->small[i] = block_new(exchange, HT_SMALL_BYTES);
        exchange->small[i]->in_use = true;
    }
}

/* Whether the ranks of each node share memory, and some node has more than one; the same answer on
 * all ranks. A node made by HT_RANKS_PER_NODE may be spread over machines. */
static bool nodes_share(const ht_exchange *exchange)
{
    MPI_Comm machine;
    int size, answers[2];

    MPI_Comm_split_type(exchange->node, MPI_COMM_TYPE_SHARED, exchange->local, MPI_INFO_NULL,
                        &machine);
    MPI_Comm_size(machine, &size);
    MPI_Comm_free(&machine);
    answers[0] = size == exchange->local_size && size >> HT_SUM_LEVELS == 0;
    answers[1] = -exchange->local_size;
    MPI_Allreduce(MPI_IN_PLACE, answers, 2, MPI_INT, MPI_MIN, exchange->mpi);
    return answers[0] && answers[1] < -1;
}

void ht__memory_open(ht_exchange *exchange)
{
    const char *wanted = ht__env_text(HT_ENV_HT_EXCHANGE);

    exchange->node = MPI_COMM_NULL;
    if (exchange->size == 1 || (wanted != NULL && strcmp(wanted, "messages") == 0))
        return;
    MPI_Comm_split(exchange->mpi, exchange->comm->node, exchange->rank, &exchange->node);
    if (nodes_share(exchange)) {
        open_small(exchange);
        return;
    }
    MPI_Comm_free(&exchange->node);
    if (wanted != NULL && strcmp(wanted, "shared") == 0)
        ht_log_write0(HT_LOG_WARN,
                      "HT_EXCHANGE=shared: no two ranks of a node share memory; messages are "
                      "used instead");
}

void *ht__block_memory(const ht_exchange *exchange, const shared_block *block)
{
    if (block->plain != NULL)
        return first_line(block->plain);
    return ht__part_data(block->parts[exchange->local]);
}

/* Marks the blocks that all ranks have released, and whose operations are over. Ranks may have
 * released different ones so far; the list of blocks is the same on all of them. */
static void mark_released(ht_exchange *exchange)
{
    int count = 0, at = 0;
    int8_t *released;

    for (const shared_block *block = exchange->blocks; block != NULL; block = block->next)
        count++;
    released = ht__alloc((size_t)count + 1);
    for (const shared_block *block = exchange->blocks; block != NULL; block = block->next)
        released[at++] = !block->in_use && !block->busy && block->asked == block->uses;
    MPI_Allreduce(MPI_IN_PLACE, released, count, MPI_INT8_T, MPI_MIN, exchange->mpi);
    at = 0;
    for (shared_block *block = exchange->blocks; block != NULL; block = block->next)
        block->released = released[at++];
    ht__free(released);
}

/* The smallest block marked as released that has the room, and at most twice as much; or NULL. */
static shared_block *block_again(const ht_exchange *exchange, size_t bytes)
{
    shared_block *found = NULL;

    for (shared_block *block = exchange->blocks; block != NULL; block = block->next) {
        if (block->released && block->bytes >= bytes && block->bytes / 2 <= bytes &&
            (found == NULL || block->bytes < found->bytes))
            found = block;
    }
    return found;
}

/* All of its memory was released, and no operation is under way there. Small blocks do not count:
 * the exchange keeps them for itself. */
bool ht__memory_is_idle(const ht_exchange *exchange)
{
    bool idle = true;

    for (const shared_block *block = exchange->blocks; block != NULL; block = block->next) {
        bool small = false;

        for (int i = 0; i < HT_SMALL_BLOCKS; i++)
            small |= block == exchange->small[i];
        idle &= (small || !block->in_use) && !block->busy && block->asked == block->uses;
    }
    return idle;
}

static void block_free(shared_block *block)
{
    if (block->window != MPI_WIN_NULL)
        MPI_Win_free(&block->window);
    ht__free(block->parts);
    ht__free(block->data);
    ht__free(block->copied);
    ht__free(block->plain);
    ht__free(block);
}

/* Called before a new one is made, so that blocks of many sizes do not add up. */
static void free_released(ht_exchange *exchange)
{
    shared_block **at = &exchange->blocks, *ended = NULL;

    ht__gate_lock();
    while (*at != NULL) {
        shared_block *block = *at;

        if (block->released) {
            *at = block->next;
            block->next = ended;
            ended = block;
        } else {
            at = &block->next;
        }
    }
    ht__gate_unlock();
    while (ended != NULL) {
        shared_block *block = ended;

        ended = block->next;
        block_free(block);
    }
}

static shared_block *take_block(ht_exchange *exchange, size_t bytes)
{
    shared_block *block;

    mark_released(exchange);
    block = block_again(exchange, bytes);
    if (block == NULL) {
        free_released(exchange);
        block = block_new(exchange, bytes);
    }
    return block;
}

void *ht__exchange_memory(ht_exchange *exchange, size_t bytes)
{
    static const char what[] = "memory of the exchange";

    ht__begin(exchange->comm, (ht_call){.what = what, .count = (int64_t)bytes});

    const char *outer = ht__watch_guard(what);
    shared_block *block = take_block(exchange, bytes);

    ht__watch_unguard(outer);
    block->in_use = true;

    void *memory = ht__block_memory(exchange, block);

    memset(memory, 0, bytes);
    return memory;
}

shared_block *ht__block_with(const ht_exchange *exchange, const void *data)
{
    for (shared_block *block = exchange->blocks; block != NULL; block = block->next) {
        const char *memory = ht__block_memory(exchange, block);

        if ((const char *)data >= memory && (const char *)data < memory + block->bytes)
            return block;
    }
    return NULL;
}

void ht__exchange_memory_release(ht_exchange *exchange, void *memory)
{
    shared_block *block = ht__block_with(exchange, memory);

    if (block != NULL)
        block->in_use = false;
}

struct lent {
    ht_exchange *exchange;
    void *data;
};

static void free_memory(void *user)
{
    struct lent *lent = user;

    ht__exchange_memory_release(lent->exchange, lent->data);
    ht__free(lent);
}

ht_storage *ht__exchange_storage(ht_exchange *exchange, ht_device *device, size_t bytes)
{
    struct lent *lent = ht__alloc(sizeof *lent);

    *lent = (struct lent){exchange, ht__exchange_memory(exchange, bytes)};
    return ht__storage_lend(device, lent->data, free_memory, lent);
}

void ht__memory_end(ht_exchange *exchange)
{
    shared_block *oldest = NULL;

    /* Windows are freed in the order in which they were made, the same on all ranks. */
    while (exchange->blocks != NULL) {
        shared_block *block = exchange->blocks;

        exchange->blocks = block->next;
        block->next = oldest;
        oldest = block;
    }
    while (oldest != NULL) {
        shared_block *block = oldest;

        oldest = block->next;
        block_free(block);
    }
    if (exchange->node != MPI_COMM_NULL)
        MPI_Comm_free(&exchange->node);
}
