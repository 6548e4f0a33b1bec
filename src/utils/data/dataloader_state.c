/* SPDX-License-Identifier: MIT
 *
 * The position of a loader in its epochs: saved as a value, and restored, also on another number of
 * ranks. */
#include "core/ops/ops.h"
#include "utils/data/data.h"

#include <string.h>

#include "ht/factories.h"

static const char loading[] = "ht_dataloader_load_state_dict";

enum { PART_FIELDS = sizeof(ht_deal_part) / sizeof(int64_t) };

static void set_number(ht_value *map, const char *key, int64_t number)
{
    ht_value_set(map, key, ht_value_number((double)number));
}

static void set_integers(ht_value *map, const char *key, int ndim, const int64_t shape[],
                         const void *integers)
{
    ht_value_set(map, key, ht_value_tensor(ht_array(integers, ndim, shape, HT_INT64, HT_LOCAL)));
}

/* Numbers that distinguish data sets. */
static const struct identity {
    const char *key, *meaning;
} identity[] = {
    {"rows", "rows"},
    {"row_bytes", "bytes a row"},
    {"unit_rows", "rows in a unit of chunks"},
};

enum { IDENTITIES = sizeof identity / sizeof *identity };

static void identify(const ht_dataloader *loader, int64_t numbers[IDENTITIES])
{
    const ht_dataset *dataset = loader->dataset;

    numbers[0] = dataset->rows;
    numbers[1] = ht__dataset_row_bytes(dataset);
    numbers[2] = ht__dataset_unit_rows(dataset, INT64_MAX);
}

ht_value *ht_dataloader_state_dict(const ht_dataloader *loader)
{
    int64_t numbers[IDENTITIES], one = 1;
    ht_deal deal = {0};
    ht_value *map;

    if (HT_IS_NULL(loader, "ht_dataloader_state_dict", "loader"))
        return NULL;
    map = ht_value_map();
    ht__deal_copy(&deal, &loader->deal);
    ht__deal_take(&deal, loader->batch * loader->options.batch_size);
    set_integers(map, "seed", 1, &one, &loader->options.seed);
    set_number(map, "epoch", loader->epoch);
    set_number(map, "ranks", deal.ranks);
    set_number(map, "shards", deal.shards);
    set_number(map, "window_bytes", deal.window_bytes);
    set_integers(map, "left", HT_SHAPE(deal.count, PART_FIELDS), deal.parts);
    identify(loader, numbers);
    for (int i = 0; i < IDENTITIES; i++)
        set_number(map, identity[i].key, numbers[i]);
    set_number(map, "shuffle", loader->options.shuffle);
    ht__deal_free(&deal);
    return ht__value_complete(map);
}

static ht_status get_number(ht_comm *comm, const ht_value *state, const char *key, int64_t *number)
{
    if (ht__value_whole(ht_value_get(state, key), number))
        return HT_SUCCESS;
    return HT_FAIL(comm, HT_ERR_FORMAT, "%s: the state has no number \"%s\" of at least 0", loading,
                   key);
}

/* In host memory, for a state on any device; while the scope is open. */
static const int64_t *get_integers(ht_comm *comm, const ht_value *state, const char *key, int ndim,
                                   int64_t last, int64_t *rows)
{
    ht_tensor *x = ht_value_as_tensor(ht_value_get(state, key));

    if (x != NULL && ht_tensor_dtype(x) == HT_INT64 && ht_tensor_ndim(x) == ndim &&
        ht_tensor_shape(x)[ndim - 1] == last && x->body->lsize == ht_tensor_size(x)) {
        *rows = ht_tensor_shape(x)[0];
        x = ht__on_host(loading, x, HT_INT64);
        return x != NULL ? ht__body_data(x->body) : NULL;
    }
    HT_FAIL(comm, HT_ERR_FORMAT,
            "%s: the state has no int64 tensor \"%s\" whose last axis has %lld", loading, key,
            (long long)last);
    return NULL;
}

static ht_status check_identity(const ht_dataloader *loader, const ht_value *state)
{
    ht_comm *comm = loader->dataset->comm;
    int64_t numbers[IDENTITIES], saved;

    identify(loader, numbers);
    for (int i = 0; i < IDENTITIES; i++) {
        ht_status status = get_number(comm, state, identity[i].key, &saved);

        if (status != HT_SUCCESS)
            return status;
        if (saved != numbers[i])
            return HT_FAIL(comm, HT_ERR_FORMAT,
                           "%s: the state is of a loader with %lld %s, but %s has %lld", loading,
                           (long long)saved, identity[i].meaning, loader->dataset->path,
                           (long long)numbers[i]);
    }
    ht_status status = get_number(comm, state, "shuffle", &saved);

    if (status != HT_SUCCESS || (saved != 0) == loader->options.shuffle)
        return status;
    return HT_FAIL(comm, HT_ERR_FORMAT, "%s: the state is of a loader that %s, but this one %s",
                   loading, saved ? "shuffles" : "does not shuffle", saved ? "does not" : "does");
}

/* Ranks in order, none left out, and rows that the shards have. */
static bool is_sound(const ht_deal *deal, int64_t rows)
{
    int64_t rank = -1;

    if (deal->ranks < 1 || deal->shards < 1 || deal->window_bytes < 1 ||
        deal->shards > INT64_MAX / (rows + 1)) /* their product is asked for */
        return false;
    for (int64_t i = 0; i < deal->count; i++) {
        const ht_deal_part *part = &deal->parts[i];

        if (part->rank != rank && part->rank != rank + 1)
            return false;
        rank = part->rank;
        if (part->shard < 0 || part->shard >= deal->shards || part->from < 0 ||
            part->from > part->to ||
            part->to > (part->shard + 1) * rows / deal->shards - part->shard * rows / deal->shards)
            return false;
    }
    return rank == deal->ranks - 1;
}

static ht_status read_deal(const ht_dataloader *loader, const ht_value *state, ht_deal *deal)
{
    ht_comm *comm = loader->dataset->comm;
    const int64_t *parts = get_integers(comm, state, "left", 2, PART_FIELDS, &deal->count);
    ht_status status = parts != NULL ? HT_SUCCESS : ht_error_get(NULL);

    if (status == HT_SUCCESS)
        status = get_number(comm, state, "ranks", &deal->ranks);
    if (status == HT_SUCCESS)
        status = get_number(comm, state, "shards", &deal->shards);
    if (status == HT_SUCCESS)
        status = get_number(comm, state, "window_bytes", &deal->window_bytes);
    if (status != HT_SUCCESS)
        return status;
    deal->parts = ht__alloc((size_t)deal->count * sizeof *deal->parts);
    memcpy(deal->parts, parts, (size_t)deal->count * sizeof *deal->parts);
    if (!is_sound(deal, loader->dataset->rows))
        return HT_FAIL(comm, HT_ERR_FORMAT, "%s: \"left\" of the state does not divide %lld rows",
                       loading, (long long)loader->dataset->rows);
    if (deal->ranks != comm->size)
        ht__deal_again(deal, comm->size);
    return HT_SUCCESS;
}

/* A shard that was read completely needs its file no more, and the file may have lost its name
 * since. */
static ht_status open_again(ht_dataloader *loader, const ht_deal *deal)
{
    ht_source *source = &loader->reader.source;
    bool in_memory = ht__deal_is_own(deal) && deal->window_bytes == loader->options.window_bytes &&
                     loader->options.remainder != HT_REMAINDER_PAD;

    ht__ring_stop(&loader->ring);
    return source->file < 0 && !in_memory ? ht__source_open(source) : HT_SUCCESS;
}

/* To the batch after the last one handed out: batches read ahead are discarded. */
static void stay(ht_dataloader *loader)
{
    ht_deal left = {0};

    ht__deal_copy(&left, &loader->deal);
    ht__deal_take(&left, loader->batch * loader->options.batch_size);
    ht__dataloader_seek(loader, loader->epoch, &left);
}

/* The content of a state, read and checked. */
struct position {
    uint64_t seed;
    int64_t epoch;
    ht_deal deal; /* owned */
};

static ht_status read_state(const ht_dataloader *loader, const ht_value *state,
                            struct position *position)
{
    ht_comm *comm = loader->dataset->comm;
    const int64_t *seed;
    int64_t one;
    ht_status status;

    if (HT_IS_NULL(state, loading, "state"))
        return ht_error_get(NULL);
    status = check_identity(loader, state);
    if (status == HT_SUCCESS)
        status = get_number(comm, state, "epoch", &position->epoch);
    if (status != HT_SUCCESS)
        return status;
    seed = get_integers(comm, state, "seed", 1, 1, &one);
    if (seed == NULL)
        return ht_error_get(NULL);
    position->seed = (uint64_t)*seed;
    return read_deal(loader, state, &position->deal);
}

/* States of different places would have ranks make different numbers of batches. */
static ht_status check_ranks(const ht_dataloader *loader, const struct position *position)
{
    ht_comm *comm = loader->dataset->comm;
    int64_t rows, mine[3] = {(int64_t)position->seed, position->epoch}, first[3];
    ht_status status;

    mine[2] = ht__deal_batches(&position->deal, &loader->options, comm->rank, &rows);
    memcpy(first, mine, sizeof first);
    status = ht__comm_bcast_bytes(comm, first, sizeof first, 0, loading);
    if (status == HT_SUCCESS && memcmp(first, mine, sizeof first) != 0)
        status = ht__error_set(HT_ERR_ARGUMENT,
                               "%s: rank 0 and rank %d load different states (epoch %lld with %lld "
                               "batches left, and epoch %lld with %lld)",
                               loading, comm->rank, (long long)first[1], (long long)first[2],
                               (long long)mine[1], (long long)mine[2]);
    return ht__agree(loading, comm, status);
}

ht_status ht_dataloader_load_state_dict(ht_dataloader *loader, const ht_value *state)
{
    struct position position = {0};
    ht_scope *scope;
    ht_status status;
    bool held;

    if (HT_IS_NULL(loader, loading, "loader"))
        return ht_error_get(NULL);

    scope = ht_scope_open();
    held = ht__agree_begin();
    status = read_state(loader, state, &position);
    ht_scope_close(scope);
    status = ht__agree_end(loading, loader->dataset->comm, held, status);
    if (status == HT_SUCCESS)
        status = check_ranks(loader, &position);
    if (status != HT_SUCCESS) {
        ht__deal_free(&position.deal);
        return status;
    }
    status = ht__agree(loading, loader->dataset->comm, open_again(loader, &position.deal));
    if (status != HT_SUCCESS) {
        ht__deal_free(&position.deal);
        stay(loader);
        return status;
    }
    loader->options.seed = position.seed;
    ht__dataloader_seek(loader, position.epoch, &position.deal);
    return HT_SUCCESS;
}
