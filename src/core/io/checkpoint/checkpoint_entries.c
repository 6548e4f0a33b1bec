/* SPDX-License-Identifier: MIT
 *
 * A state as a flat list of entries, and back. Tensors are converted: in the file they are on the
 * host, row-major, of a dtype that HDF5 has, and split along axis 0 if at all. */
#include "core/io/checkpoint/checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ht/manipulations.h"

ht_entry *ht__entries_add(ht_entries *entries, const char *parent, const char *name)
{
    size_t room = strlen(parent) + strlen(name) + 2;
    ht_entry *entry;

    if (entries->count == entries->capacity) {
        entries->capacity = entries->capacity > 0 ? 2 * entries->capacity : 32;
        entries->items = ht__realloc(entries->items,
                                     (size_t)entries->capacity * sizeof *entries->items);
    }
    entry = &entries->items[entries->count++];
    *entry = (ht_entry){.path = ht__alloc(room)};
    snprintf(entry->path, room, "%s%s%s", parent, parent[0] != '\0' ? "/" : "", name);
    entry->name = entry->path + strlen(entry->path) - strlen(name);
    return entry;
}

void ht__entries_free(ht_entries *entries)
{
    for (int i = 0; i < entries->count; i++)
        ht__free(entries->items[i].path);
    ht__free(entries->items);
    *entries = (ht_entries){0};
}

/* Takes note of it; nothing is communicated yet. */
static ht_status set_tensor(ht_entry *entry, ht_tensor *x, const ht_target *target)
{
    ht_comm *comm = target->comm;
    const ht_body *body = x->body;

    entry->x = x;
    entry->dtype = body->dtype;
    entry->split = body->split;
    entry->local = body->comm == ht_comm_self() || (body->comm->size == 1 && comm->size > 1);
    if (body->comm->size > 1 && !ht__comm_compatible(body->comm, comm))
        return ht__error_set(HT_ERR_COMM, "%s: %s is on another communicator than the checkpoint",
                             target->what, entry->path);
    if (entry->local)
        entry->split = HT_NONE;
    return HT_SUCCESS;
}

/* To the form of the file. */
static ht_status convert(ht_entry *entry)
{
    ht_tensor *x = ht_to_device(entry->x, ht__device_cpu());

    x = ht_astype(x, ht__file_dtype(entry->dtype));
    if (entry->split != HT_NONE && entry->split != 0)
        x = ht_resplit(x, 0);
    entry->x = ht_contiguous(x);
    return entry->x != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

static ht_status check_key(const char *parent, const char *key, const ht_target *target)
{
    if (key[0] != '\0' && key[0] != '@' && strcmp(key, ".") != 0 && strchr(key, '/') == NULL)
        return HT_SUCCESS;
    return ht__error_set(HT_ERR_ARGUMENT,
                         "%s: the key \"%s\" in \"%s\" is empty, is \".\", begins with '@' or "
                         "contains '/'",
                         target->what, key, parent);
}

/* The number of maps and lists around the content of `parent`. */
static int depth_of(const char *parent)
{
    int depth = parent[0] != '\0';

    for (; *parent != '\0'; parent++)
        depth += *parent == '/';
    return depth;
}

static ht_status collect(ht_entries *entries, const char *parent, const char *name,
                         const ht_value *value, const ht_target *target);

static ht_status collect_items(ht_entries *entries, int place, const ht_value *value,
                               const ht_target *target)
{
    ht_status status = HT_SUCCESS;

    if (depth_of(entries->items[place].path) >= HT_CHECKPOINT_DEPTH)
        return ht__error_set(HT_ERR_ARGUMENT, "%s: the state has maps nested more than %d deep",
                             target->what, HT_CHECKPOINT_DEPTH);
    for (int i = 0; i < ht_value_count(value) && status == HT_SUCCESS; i++) {
        const char *parent = entries->items[place].path, *key = ht_value_key(value, i);
        char index[16];

        snprintf(index, sizeof index, "%d", i);
        if (key != NULL)
            status = check_key(parent, key, target);
        if (status == HT_SUCCESS)
            status = collect(entries, parent, key != NULL ? key : index, ht_value_at(value, i),
                             target);
    }
    return status;
}

static ht_status collect(ht_entries *entries, const char *parent, const char *name,
                         const ht_value *value, const ht_target *target)
{
    int place = entries->count;
    ht_entry *entry = ht__entries_add(entries, parent, name);

    entry->kind = ht_value_get_kind(value);
    switch (entry->kind) {
    case HT_VALUE_TENSOR:
        return set_tensor(entry, ht_value_as_tensor(value), target);
    case HT_VALUE_NUMBER:
        entry->number = ht_value_as_number(value);
        return HT_SUCCESS;
    default:
        entry->count = ht_value_count(value);
        return collect_items(entries, place, value, target);
    }
}

ht_status ht__entries_collect(ht_entries *entries, const ht_value *state, const ht_target *target)
{
    ht_status status = ht__agree(target->what, target->comm,
                                 collect(entries, "", "", state, target));

    if (status == HT_SUCCESS) /* the same on all ranks: converting may be collective */
        status = ht__entries_agree(entries, target);
    for (int i = 0; i < entries->count && status == HT_SUCCESS; i++) {
        if (entries->items[i].x != NULL)
            status = convert(&entries->items[i]);
    }
    return status;
}

/* From the form of the file to that of the program. */
static ht_tensor *restore(const ht_entry *entry)
{
    ht_tensor *x = entry->x;

    if (x->body->split != entry->split)
        x = ht_resplit(x, entry->split);
    if (entry->local)
        x = ht_tensor_local(x);
    return ht_astype(x, entry->dtype);
}

/* Entries that become values, from *next on. */
struct building {
    const ht_target *target;
    const ht_entries *entries;
    int next;
};

static ht_value *build(struct building *building);

static ht_value *build_map(struct building *building, const ht_entry *entry)
{
    ht_value *map = ht_value_map();

    for (int i = 0; i < entry->count; i++) {
        const char *name = building->entries->items[building->next].name;

        if (ht_value_set(map, name, build(building)) != HT_SUCCESS)
            return NULL;
    }
    return map;
}

/* In the order of names, which are places in the list: a file has them in another. */
static ht_value *build_list(struct building *building, const ht_entry *entry)
{
    ht_value **items = ht__alloc((size_t)entry->count * sizeof(void *)), *list = ht_value_list();
    bool good = true;

    for (int i = 0; i < entry->count && good; i++) {
        long place = strtol(building->entries->items[building->next].name, NULL, 10);
        ht_value *item = build(building);

        good = item != NULL;
        if (place >= 0 && place < entry->count)
            items[place] = item;
    }
    for (int i = 0; i < entry->count && good; i++) {
        good = items[i] != NULL && ht_value_append(list, items[i]) == HT_SUCCESS;
        if (items[i] == NULL)
            ht__error_set(HT_ERR_FORMAT, "%s: %s: the list \"%s\" has gaps", building->target->what,
                          building->target->path, entry->path);
    }
    ht__free(items);
    return good ? list : NULL;
}

/* The value of the next entry and all that is in it. */
static ht_value *build(struct building *building)
{
    const ht_entry *entry = &building->entries->items[building->next++];

    switch (entry->kind) {
    case HT_VALUE_NUMBER:
        return ht_value_number(entry->number);
    case HT_VALUE_TENSOR:
        return ht_value_tensor(restore(entry));
    case HT_VALUE_LIST:
        return build_list(building, entry);
    default:
        return build_map(building, entry);
    }
}

ht_value *ht__entries_value(const ht_entries *entries, const ht_target *target)
{
    struct building building = {.target = target, .entries = entries};

    return build(&building);
}

static uint64_t mix(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;

    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u; /* FNV-1a */
    return hash;
}

/* A hash of all fields that must be the same on all ranks. */
static int64_t hash_of(const ht_entry *entry)
{
    uint64_t hash = mix(0xcbf29ce484222325u, entry->path, strlen(entry->path));
    int kind[] = {(int)entry->kind, entry->count};
    int form[] = {(int)entry->dtype, entry->split, entry->local};

    hash = mix(hash, kind, sizeof kind);
    if (entry->kind == HT_VALUE_TENSOR) {
        hash = mix(hash, form, sizeof form);
        hash = mix(hash, entry->x->body->shape,
                   (size_t)entry->x->body->ndim * sizeof *entry->x->body->shape);
    }
    return (int64_t)(hash >> 1);
}

/* The first index at which the ranks' hashes differ; `count` when none does. */
static ht_status find_difference(const ht_entries *entries, int64_t count, int64_t *first,
                                 const ht_target *target)
{
    int64_t *low = ht__alloc(2 * (size_t)count * sizeof *low), *high = low + count;
    ht_status status;

    for (int i = 0; i < entries->count; i++)
        low[i] = high[i] = hash_of(&entries->items[i]);
    status = ht__comm_allreduce_i64(target->comm, low, (int)count, HT_OP_MIN, target->what);
    if (status == HT_SUCCESS)
        status = ht__comm_allreduce_i64(target->comm, high, (int)count, HT_OP_MAX, target->what);
    for (*first = 0; *first < count && low[*first] == high[*first];)
        ++*first;
    ht__free(low);
    return status;
}

ht_status ht__entries_agree(const ht_entries *entries, const ht_target *target)
{
    ht_comm *comm = target->comm;
    const char *what = target->what;
    int64_t count = entries->count, first;
    char name[256] = "its end";
    ht_status status = ht__comm_allreduce_i64(comm, &count, 1, HT_OP_MAX, what);

    if (status == HT_SUCCESS)
        status = find_difference(entries, count, &first, target);
    if (status != HT_SUCCESS || first == count)
        return status;
    if (first < entries->count)
        snprintf(name, sizeof name, "%s", entries->items[first].path);
    status = ht__comm_bcast_bytes(comm, name, sizeof name, 0, what);
    if (status != HT_SUCCESS)
        return status;
    return HT_FAIL(comm, HT_ERR_ARGUMENT,
                   "%s: the state differs between ranks, from \"%s\" of rank 0 on", what, name);
}
