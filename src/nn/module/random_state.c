/* SPDX-License-Identifier: MIT
 *
 * Everything that decides which random numbers come next, as a value: seeds, draws, and how often
 * each layer of a tree that draws has drawn. */
#include <string.h>

#include "core/ops/ops.h"
#include "ht/factories.h"
#include "ht/nn.h"
#include "ht/random.h"
#include "nn/module/init.h"
#include "nn/module/module.h"

static const char loading[] = "ht_nn_random_load_state_dict";

/* A seed and the number of the next draw: a row of each rank, which may have seeds of its own. */
enum { SEED, DRAW, PAIR };

static void set_pair(ht_value *map, const char *key, ht_comm *comm, uint64_t seed, uint64_t draw)
{
    const int64_t shape[] = {comm->size, PAIR};
    ht_tensor *x = ht_empty_ext(2, shape, HT_INT64, 0, ht__device_cpu(), comm);
    int64_t *mine = x != NULL ? ht_tensor_mutable_data(x) : NULL;

    if (mine != NULL) {
        mine[SEED] = (int64_t)seed;
        mine[DRAW] = (int64_t)draw;
    }
    ht_value_set(map, key, ht_value_tensor(x));
}

/* Layers with a counter, in the order of the tree. */
struct counters {
    ht_comm *comm;
    ht_value *map; /* written, or read */
    uint64_t **places;
    int64_t *largest; /* of the ranks that saved */
    int64_t *same;    /* this rank's, where as many ranks saved */
    int count;
    const char *missing;
    ht_status status; /* of reading */
};

static const char *key_of(const char *path)
{
    return path[0] != '\0' ? path : "(root)";
}

static uint64_t *counter_of(ht_module *module)
{
    return module->type->counter != NULL ? module->type->counter(module) : NULL;
}

/* Ranks may differ: one that had no rows did not run its layers. */
static void save_counter(const char *path, ht_module *module, void *user)
{
    struct counters *counters = user;
    const uint64_t *counter = counter_of(module);
    int64_t ranks = counters->comm->size;
    ht_tensor *x;

    if (counter == NULL)
        return;
    x = ht_empty_ext(1, &ranks, HT_INT64, 0, ht__device_cpu(), counters->comm);
    if (x != NULL)
        *(uint64_t *)ht_tensor_mutable_data(x) = *counter;
    ht_value_set(counters->map, key_of(path), ht_value_tensor(x));
}

/* Draws on HT_COMM_SELF, which differ, and on `comm`: a row of each rank. */
enum { DRAWS_SELF, DRAWS_COMM, DRAWS };

static void save_draws(ht_value *map, ht_comm *comm)
{
    const int64_t shape[] = {comm->size, DRAWS};
    ht_tensor *x = ht_empty_ext(2, shape, HT_INT64, 0, ht__device_cpu(), comm);
    int64_t *mine = x != NULL ? ht_tensor_mutable_data(x) : NULL;

    if (mine != NULL) {
        mine[DRAWS_SELF] = (int64_t)ht__random_draws(HT_COMM_SELF);
        mine[DRAWS_COMM] = (int64_t)ht__random_draws(comm);
    }
    ht_value_set(map, "draws", ht_value_tensor(x));
}

/* As load_counters below. States of older versions have one count for all communicators. */
static ht_status load_draws(const ht_value *state, ht_comm *comm, uint64_t of_world)
{
    ht_tensor *x = ht_value_as_tensor(ht_value_get(state, "draws"));
    int64_t largest[DRAWS] = {(int64_t)of_world, (int64_t)of_world}, own[DRAWS];
    bool fits = x != NULL && x->body->dtype == HT_INT64 && x->body->ndim == 2 &&
                x->body->shape[1] == DRAWS;
    const int64_t *rows = fits ? ht_tensor_data(x) : NULL;
    ht_status status;

    fits = fits && (rows != NULL || x->body->lsize == 0);
    for (int k = 0; k < DRAWS && fits; k++) {
        largest[k] = 0;
        for (int64_t i = 0; i < x->body->lshape[0]; i++)
            largest[k] = rows[DRAWS * i + k] > largest[k] ? rows[DRAWS * i + k] : largest[k];
    }
    memcpy(own, largest, sizeof own);
    status = ht__comm_allreduce_i64(comm, largest, DRAWS, HT_OP_MAX, loading);
    if (status != HT_SUCCESS)
        return status;
    if (fits && x->body->shape[0] == comm->size && x->body->lshape[0] == 1)
        largest[DRAWS_SELF] = own[DRAWS_SELF];
    ht__random_set_draws(HT_COMM_SELF, (uint64_t)largest[DRAWS_SELF]);
    if (comm != HT_COMM_WORLD)
        ht__random_set_draws(comm, (uint64_t)largest[DRAWS_COMM]);
    return HT_SUCCESS;
}

ht_value *ht_nn_random_state_dict(ht_module *module, ht_comm *comm)
{
    struct counters counters = {.comm = comm};
    ht_value *map = ht_value_map();
    uint64_t seed, draw;

    if (HT_IS_NULL(module, "ht_nn_random_state_dict", "module") ||
        HT_IS_NULL(comm, "ht_nn_random_state_dict", "comm"))
        return NULL;
    counters.map = ht_value_map();
    ht_random_get_state(&seed, &draw);
    set_pair(map, "random", comm, seed, draw);
    ht__nn_init_get_state(&seed, &draw);
    set_pair(map, "init", comm, seed, draw);
    ht__module_walk(ht__module_unwrapped(module), save_counter, &counters);
    ht_value_set(map, "counters", counters.map);
    save_draws(map, comm);
    return ht__value_complete(map);
}

static void load_counter(const char *path, ht_module *module, void *user)
{
    struct counters *counters = user;
    uint64_t *place = counter_of(module);
    ht_tensor *x = ht_value_as_tensor(ht_value_get(counters->map, key_of(path)));
    size_t room = (size_t)(counters->count + 1);
    const int64_t *counts;

    if (place == NULL)
        return;
    if (x == NULL || ht_tensor_dtype(x) != HT_INT64 || ht_tensor_ndim(x) != 1) {
        if (counters->missing == NULL)
            counters->missing = module->path;
        return;
    }
    counters->places = ht__realloc(counters->places, room * sizeof *counters->places);
    counters->largest = ht__realloc(counters->largest, room * sizeof *counters->largest);
    counters->same = ht__realloc(counters->same, room * sizeof *counters->same);
    x = ht__on_host(loading, x, HT_INT64);
    if (x == NULL) {
        counters->status = ht_error_get(NULL);
        return;
    }
    counts = ht__body_data(x->body);
    counters->places[counters->count] = place;
    counters->largest[counters->count] = 0;
    for (int64_t i = 0; i < x->body->lsize; i++) {
        if (counts[i] > counters->largest[counters->count])
            counters->largest[counters->count] = counts[i];
    }
    counters->same[counters->count] = -1;
    if (ht_tensor_shape(x)[0] == counters->comm->size && x->body->lsize == 1)
        counters->same[counters->count] = counts[0];
    counters->count++;
}

/* A pair as it was saved: this rank's own where as many ranks saved. */
struct pair {
    bool is_own;
    int64_t own[PAIR];
    int64_t largest[PAIR], least; /* of the rows here; ~ the least seed */
};

/* States of older versions have one pair for all ranks. */
static ht_status get_pair(const ht_value *state, const char *key, ht_comm *comm, struct pair *pair)
{
    ht_tensor *x = ht_value_as_tensor(ht_value_get(state, key));
    bool fits = x != NULL && x->body->dtype == HT_INT64, rows;
    const int64_t *pairs;

    rows = fits && x->body->ndim == 2 && x->body->shape[1] == PAIR;
    if (!rows && !(fits && ht_tensor_size(x) == PAIR && x->body->lsize == PAIR))
        return HT_FAIL(comm, HT_ERR_FORMAT, "%s: the state has no \"%s\" with a seed and a draw",
                       loading, key);
    x = ht__on_host(loading, x, HT_INT64);
    if (x == NULL)
        return ht_error_get(NULL);
    pairs = ht__body_data(x->body);
    *pair = (struct pair){.largest = {INT64_MIN, INT64_MIN}, .least = INT64_MIN};
    pair->is_own = x->body->lsize == PAIR && (!rows || x->body->shape[0] == comm->size);
    if (pair->is_own)
        memcpy(pair->own, pairs, sizeof pair->own);
    for (int64_t i = 0; i < x->body->lsize; i += PAIR) {
        for (int k = 0; k < PAIR; k++)
            pair->largest[k] = pairs[i + k] > pair->largest[k] ? pairs[i + k] : pair->largest[k];
        pair->least = ~pairs[i + SEED] > pair->least ? ~pairs[i + SEED] : pair->least;
    }
    return HT_SUCCESS;
}

/* The numbers of a state, read and checked by this rank alone. */
static ht_status read_state(ht_module *module, const ht_value *state, struct counters *counters,
                            struct pair *random, struct pair *init)
{
    ht_status status;

    if (HT_IS_NULL(module, loading, "module") || HT_IS_NULL(state, loading, "state"))
        return ht_error_get(NULL);
    status = get_pair(state, "random", counters->comm, random);
    if (status == HT_SUCCESS)
        status = get_pair(state, "init", counters->comm, init);
    if (status != HT_SUCCESS)
        return status;
    counters->map = ht_value_get(state, "counters");
    ht__module_walk(ht__module_unwrapped(module), load_counter, counters);
    if (counters->missing != NULL)
        return HT_FAIL(counters->comm, HT_ERR_FORMAT, "%s: the state has no counter of \"%s\"",
                       loading, counters->missing);
    return counters->status;
}

/* On another number of ranks, all ranks continue with the seed that they shared, after the largest
 * draw. */
static ht_status share_pair(ht_comm *comm, const char *key, struct pair *pair)
{
    int64_t all[] = {pair->largest[SEED], pair->largest[DRAW], pair->least};
    ht_status status = ht__comm_allreduce_i64(comm, all, 3, HT_OP_MAX, loading);

    if (status == HT_SUCCESS && !pair->is_own && all[SEED] != ~all[2])
        status = ht__error_set(HT_ERR_FORMAT,
                               "%s: \"%s\" of the state has seeds that differ between ranks, "
                               "expected as many ranks as saved it, or one seed",
                               loading, key);
    if (status == HT_SUCCESS && !pair->is_own)
        memcpy(pair->own, all, sizeof pair->own);
    return ht__agree(loading, comm, status);
}

/* On another number of ranks every rank continues after all draws that were made. */
static ht_status set_counters(struct counters *counters)
{
    ht_status status = ht__comm_allreduce_i64(counters->comm, counters->largest, counters->count,
                                              HT_OP_MAX, loading);

    for (int i = 0; i < counters->count && status == HT_SUCCESS; i++)
        *counters->places[i] = (uint64_t)(counters->same[i] >= 0 ? counters->same[i]
                                                                 : counters->largest[i]);
    return status;
}

ht_status ht_nn_random_load_state_dict(ht_module *module, const ht_value *state, ht_comm *comm)
{
    struct counters counters = {.comm = comm};
    struct pair random, init;
    ht_scope *scope;
    ht_status status;
    bool held;

    if (HT_IS_NULL(comm, loading, "comm"))
        return ht_error_get(NULL);
    scope = ht_scope_open();
    held = ht__agree_begin();
    status = read_state(module, state, &counters, &random, &init);
    ht_scope_close(scope);
    status = ht__agree_end(loading, comm, held, status);
    if (status == HT_SUCCESS)
        status = share_pair(comm, "random", &random);
    if (status == HT_SUCCESS)
        status = share_pair(comm, "init", &init);
    if (status == HT_SUCCESS)
        status = set_counters(&counters);
    if (status == HT_SUCCESS) {
        ht_random_set_state((uint64_t)random.own[SEED], (uint64_t)random.own[DRAW]);
        status = load_draws(state, comm, (uint64_t)random.own[DRAW]);
        ht__nn_init_set_state((uint64_t)init.own[SEED], (uint64_t)init.own[DRAW]);
    }
    ht__free(counters.places);
    ht__free(counters.largest);
    ht__free(counters.same);
    return status;
}
