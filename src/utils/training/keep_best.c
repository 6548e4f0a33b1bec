/* SPDX-License-Identifier: MIT
 *
 * The best models by a metric: a short sorted list of files. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/tensor/tensor.h"
#include "ht/callbacks.h"

static const char what[] = "ht_keep_best_step";

struct kept {
    double metric;
    int64_t epoch;
    char *path; /* owned */
};

struct ht_keep_best {
    ht_object base;
    ht_comm *comm; /* retained */
    char *prefix;  /* owned */
    int keep;
    bool maximize;
    ht_save_fn *save;
    void *user;
    struct kept *files; /* owned; best first */
    int count;
};

static void forget_files(ht_keep_best *best)
{
    for (int i = 0; i < best->count; i++)
        ht__free(best->files[i].path);
    best->count = 0;
}

static void destroy(void *object)
{
    ht_keep_best *best = object;

    forget_files(best);
    ht__free(best->files);
    ht__free(best->prefix);
    ht_release(best->comm);
    ht__object_fini(best);
    ht__free(best);
}

static ht_kind kind = {.name = "keep best", .destroy = destroy};

ht_keep_best *ht_keep_best_new(const char *prefix, int keep, bool maximize, ht_save_fn *save,
                               void *user, ht_comm *comm)
{
    ht_keep_best *best;

    if (prefix == NULL || save == NULL || comm == NULL || keep < 1) {
        HT_FAIL(comm, HT_ERR_ARGUMENT,
                "ht_keep_best_new: keep is %d, expected at least 1, and prefix, save and comm "
                "that are not NULL",
                keep);
        return NULL;
    }
    best = ht__alloc(sizeof *best);
    ht__object_init(best, &kind);
    best->comm = ht_retain(comm);
    best->prefix = ht__strdup(prefix);
    best->keep = keep;
    best->maximize = maximize;
    best->save = save;
    best->user = user;
    return best;
}

/* The earlier epoch of equals is the better one. */
static bool is_better(const ht_keep_best *best, double metric, int64_t epoch,
                      const struct kept *than)
{
    if (metric == than->metric)
        return epoch < than->epoch;
    return best->maximize ? metric > than->metric : metric < than->metric;
}

/* Its place among the kept files. */
static int place(const ht_keep_best *best, double metric, int64_t epoch)
{
    int at = best->count;

    while (at > 0 && is_better(best, metric, epoch, &best->files[at - 1]))
        at--;
    return at;
}

static void insert(ht_keep_best *best, int at, double metric, int64_t epoch)
{
    size_t room = strlen(best->prefix) + 32;
    struct kept kept = {.metric = metric, .epoch = epoch, .path = ht__alloc(room)};

    best->files = ht__realloc(best->files, ((size_t)best->count + 1) * sizeof *best->files);
    snprintf(kept.path, room, "%s-%" PRId64 ".h5", best->prefix, epoch);
    memmove(best->files + at + 1, best->files + at,
            (size_t)(best->count - at) * sizeof *best->files);
    best->files[at] = kept;
    best->count++;
}

static void forget(ht_keep_best *best, int at)
{
    ht__free(best->files[at].path);
    memmove(best->files + at, best->files + at + 1,
            (size_t)(--best->count - at) * sizeof *best->files);
}

static int find_epoch(const ht_keep_best *best, int64_t epoch)
{
    int at = 0;

    while (at < best->count && best->files[at].epoch != epoch)
        at++;
    return at;
}

static ht_status drop_worst(ht_keep_best *best)
{
    const struct kept *worst = &best->files[best->count - 1];
    ht_status status = HT_SUCCESS;

    if (best->comm->rank == 0 && unlink(worst->path) != 0 && errno != ENOENT)
        status = ht__error_set(HT_ERR_IO, "%s: cannot remove %s: %s", what, worst->path,
                               strerror(errno));
    forget(best, best->count - 1);
    return status;
}

/* Ranks that decide differently would save alone. */
static ht_status check_ranks(ht_keep_best *best, double metric, int64_t epoch)
{
    struct {
        double metric;
        int64_t epoch;
    } mine = {metric, epoch}, first = mine;
    ht_status status = ht__comm_bcast_bytes(best->comm, &first, sizeof first, 0, what);

    if (status == HT_SUCCESS && memcmp(&first, &mine, sizeof first) != 0)
        status = ht__error_set(HT_ERR_ARGUMENT,
                               "%s: the metric of epoch %" PRId64 " is %.17g on rank 0, that of "
                               "epoch %" PRId64 " is %.17g on rank %d, expected the same on all "
                               "ranks",
                               what, first.epoch, first.metric, epoch, metric, best->comm->rank);
    return ht__agree(what, best->comm, status);
}

/* The program's own function, which may fail on one rank and may not say why. */
static ht_status save(ht_keep_best *best, const char *path)
{
    ht_status status = best->save(path, best->user);

    if (status != HT_SUCCESS && ht_error_get(NULL) == HT_SUCCESS)
        ht__error_set(status, "%s: saving %s failed: %s", what, path, ht_status_name(status));
    return ht__agree(what, best->comm, status);
}

ht_status ht_keep_best_step(ht_keep_best *best, double metric, int64_t epoch)
{
    ht_status status;
    int at, before;

    if (HT_IS_NULL(best, what, "best"))
        return ht_error_get(NULL);
    status = check_ranks(best, metric, epoch);
    if (status != HT_SUCCESS)
        return status;
    at = place(best, metric, epoch);
    before = find_epoch(best, epoch);
    if (isnan(metric) || at >= best->keep || at > before)
        return HT_SUCCESS; /* a worse run of an epoch leaves the better one's file */
    insert(best, at, metric, epoch);
    status = save(best, best->files[at].path);
    if (status != HT_SUCCESS) { /* the earlier file stays */
        forget(best, at);
        return status;
    }
    if (before < best->count - 1)
        forget(best, before + 1); /* its file is the new one */
    status = best->count > best->keep ? drop_worst(best) : HT_SUCCESS;
    return ht__agree(what, best->comm, status);
}

int ht_keep_best_count(const ht_keep_best *best)
{
    return best != NULL ? best->count : 0;
}

const char *ht_keep_best_path(const ht_keep_best *best, int index)
{
    return best != NULL && index >= 0 && index < best->count ? best->files[index].path : NULL;
}

ht_value *ht_keep_best_state_dict(const ht_keep_best *best)
{
    ht_value *list = ht_value_list();

    if (HT_IS_NULL(best, "ht_keep_best_state_dict", "best"))
        return NULL;
    for (int i = 0; i < best->count; i++) {
        ht_value *map = ht_value_map();

        ht_value_set(map, "metric", ht_value_number(best->files[i].metric));
        ht_value_set(map, "epoch", ht_value_number((double)best->files[i].epoch));
        ht_value_append(list, map);
    }
    return list;
}

static ht_status check_state(const ht_keep_best *best, const ht_value *state)
{
    bool good = ht_value_get_kind(state) == HT_VALUE_LIST && ht_value_count(state) <= best->keep;
    int64_t epoch;

    for (int i = 0; i < ht_value_count(state) && good; i++) {
        const ht_value *map = ht_value_at(state, i);

        good = ht_value_get_kind(ht_value_get(map, "metric")) == HT_VALUE_NUMBER &&
               !isnan(ht_value_as_number(ht_value_get(map, "metric"))) &&
               ht__value_whole(ht_value_get(map, "epoch"), &epoch);
    }
    if (good)
        return HT_SUCCESS;
    return HT_FAIL(best->comm, HT_ERR_FORMAT,
                   "ht_keep_best_load_state_dict: the state is not a list of at most %d maps with "
                   "\"metric\" and \"epoch\"",
                   best->keep);
}

ht_status ht_keep_best_load_state_dict(ht_keep_best *best, const ht_value *state)
{
    ht_status status;

    if (HT_IS_NULL(best, "ht_keep_best_load_state_dict", "best") ||
        HT_IS_NULL(state, "ht_keep_best_load_state_dict", "state"))
        return ht_error_get(NULL);
    status = check_state(best, state);
    if (status != HT_SUCCESS)
        return status;
    forget_files(best);
    for (int i = 0; i < ht_value_count(state); i++) {
        const ht_value *map = ht_value_at(state, i);
        double metric = ht_value_as_number(ht_value_get(map, "metric"));
        int64_t epoch = (int64_t)ht_value_as_number(ht_value_get(map, "epoch"));

        insert(best, place(best, metric, epoch), metric, epoch);
    }
    return HT_SUCCESS;
}
