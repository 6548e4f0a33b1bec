/* SPDX-License-Identifier: MIT
 *
 * Storages: counted memory of one device, shared by all views of it. Only this file knows its
 * address and version, so that data with a pending write cannot be read. */

#include <assert.h>

#include "core/tensor/tensor.h"

/* The parts of a storage that stay while its memory is released temporarily. */
typedef struct absence {
    ht_guard guard; /* over all of it */
    const char *name;
    size_t bytes;
} absence;

typedef struct memory {
    ht_storage base;
    void *data;
    absence *absence; /* owned; NULL: its memory is there */
    ht_guard *guards; /* not owned; mostly none */
    atomic_uint version;
    size_t capacity;
    bool lent;
    void (*free)(void *user);
    void *user;
} memory;

static void destroy(void *object)
{
    memory *storage = object;

    while (storage->guards != NULL)
        ht__guard_clear(storage->guards);
    ht__block_free(storage->absence, sizeof *storage->absence);
    if (!storage->lent)
        ht__device_free(storage->base.device, storage->data, storage->capacity);
    else if (storage->free != NULL)
        storage->free(storage->user);
    ht__object_fini(storage);
    ht__block_free(storage, sizeof *storage);
}

static ht_kind kind = {.name = "storage", .destroy = destroy};

static memory *new_storage(ht_device *device, void *data)
{
    memory *storage = ht__block_alloc(sizeof *storage);

    ht__object_init(storage, &kind);
    storage->base.device = device;
    storage->data = data;
    return storage;
}

ht_storage *ht__storage_new(ht_device *device, size_t bytes)
{
    size_t capacity = 0;
    void *data = NULL;
    memory *storage;

    if (bytes > 0) {
        data = ht__device_alloc(device, bytes, &capacity);
        if (data == NULL)
            return NULL;
    }
    storage = new_storage(device, data);
    storage->capacity = capacity;
    return &storage->base;
}

ht_storage *ht__storage_lend(ht_device *device, void *data, void (*free)(void *user), void *user)
{
    memory *storage = new_storage(device, data);

    storage->lent = true;
    storage->free = free;
    storage->user = user;
    return &storage->base;
}

void ht__storage_touch(ht_storage *storage)
{
    atomic_fetch_add_explicit(&((memory *)storage)->version, 1, memory_order_relaxed);
}

void *ht__storage_raw(const ht_storage *storage)
{
    return ((const memory *)storage)->data;
}

void ht__body_extent(const ht_body *body, int64_t *begin, int64_t *end)
{
    int64_t first = body->offset, last = body->offset;
    int64_t element = (int64_t)ht_dtype_size(body->dtype);

    for (int i = 0; i < body->ndim && body->lsize > 0; i++) {
        int64_t reach = body->stride[i] * (body->lshape[i] - 1);

        first += reach < 0 ? reach : 0;
        last += reach > 0 ? reach : 0;
    }
    *begin = first * element;
    *end = (last + 1) * element;
}

bool ht__body_overlaps(const ht_body *a, const ht_body *b)
{
    bool same = a->storage == b->storage && a->offset == b->offset && a->dtype == b->dtype &&
                ht__same_shape(a->ndim, a->lshape, b->ndim, b->lshape);
    int64_t begin[2], end[2];

    if (a->storage != b->storage || a->lsize == 0 || b->lsize == 0)
        return false;
    for (int i = 0; same && i < a->ndim; i++)
        same = a->lshape[i] == 1 || a->stride[i] == b->stride[i];
    ht__body_extent(a, &begin[0], &end[0]);
    ht__body_extent(b, &begin[1], &end[1]);
    return !same && begin[0] < end[1] && begin[1] < end[0];
}

/* A guard takes itself away, mostly, and maybe others: then the list is walked again. While it is
 * asked it may get at the bytes itself. */
static void ask_guards(memory *storage, int64_t begin, int64_t end, bool in_parts)
{
    ht_guard *asked = NULL, *guard = storage->guards;

    while (guard != NULL) {
        if (guard->asked || guard->end <= begin || guard->begin >= end) {
            guard = guard->next;
            continue;
        }
        guard->asked = true;
        guard->asked_before = asked;
        asked = guard;
        guard->bring(guard->user, begin, end, in_parts);
        guard = storage->guards;
    }
    for (; asked != NULL; asked = asked->asked_before)
        asked->asked = false;
}

static memory *awaited(const ht_body *body)
{
    memory *storage = (memory *)body->storage;
    int64_t begin, end;

    if (storage->guards != NULL && !body->inside) {
        ht__body_extent(body, &begin, &end);
        ask_guards(storage, begin, end, false);
    }
    return storage;
}

static void *address(const memory *storage, const ht_body *body)
{
    char *data = storage->data;

    return data != NULL ? data + (size_t)body->offset * ht_dtype_size(body->dtype) : NULL;
}

void *ht__body_data(const ht_body *body)
{
    return address(awaited(body), body);
}

void *ht__body_first(const ht_body *body, int64_t n)
{
    memory *storage = (memory *)body->storage;
    int64_t element = (int64_t)ht_dtype_size(body->dtype);

    if (storage->guards != NULL && !body->inside)
        ask_guards(storage, body->offset * element, (body->offset + n) * element, true);
    return address(storage, body);
}

void ht__body_await(const ht_body *body)
{
    awaited(body);
}

unsigned ht__body_version(const ht_body *body)
{
    return atomic_load(&awaited(body)->version);
}

void ht__guard_set(ht_guard *guard, const ht_body *body)
{
    memory *storage = (memory *)body->storage;

    ht__guard_clear(guard);
    ht__body_extent(body, &guard->begin, &guard->end);
    guard->storage = body->storage;
    guard->next = storage->guards;
    storage->guards = guard;
}

void ht__guard_clear(ht_guard *guard)
{
    memory *storage = (memory *)guard->storage;
    ht_guard **at = storage != NULL ? &storage->guards : NULL;

    if (storage == NULL)
        return;
    while (*at != guard)
        at = &(*at)->next;
    *at = guard->next;
    guard->storage = NULL;
}

/* There is no address to give, for any handler of errors. */
static void tell(void *user, int64_t begin, int64_t end, bool in_parts)
{
    const absence *away = user;
    const char *message;

    (void)begin;
    (void)end;
    (void)in_parts;
    HT_FAIL(NULL, HT_ERR_STATE,
            "%s: its elements are accessed while its memory is released temporarily", away->name);
    ht__error_last(&message);
    ht__abort(HT_ERR_STATE, message);
}

void ht__storage_put_away(ht_storage *of, const char *name)
{
    memory *storage = (memory *)of;
    absence *away;

    assert(!storage->lent);
    if (storage->absence != NULL)
        return;
    ask_guards(storage, 0, INT64_MAX, false);
    away = storage->absence = ht__block_alloc(sizeof *away);
    away->name = name;
    away->bytes = storage->capacity;
    away->guard = (ht_guard){.bring = tell, .user = away, .end = INT64_MAX, .storage = of};
    away->guard.next = storage->guards;
    storage->guards = &away->guard;
    ht__device_free(of->device, storage->data, storage->capacity);
    storage->data = NULL;
    storage->capacity = 0;
}

bool ht__storage_bring_back(ht_storage *of)
{
    memory *storage = (memory *)of;
    absence *away = storage->absence;

    if (away == NULL)
        return true;
    if (away->bytes > 0) {
        storage->data = ht__device_alloc(of->device, away->bytes, &storage->capacity);
        if (storage->data == NULL)
            return false;
    }
    ht__guard_clear(&away->guard);
    storage->absence = NULL;
    ht__block_free(away, sizeof *away);
    return true;
}

const char *ht__storage_away(const ht_storage *storage)
{
    const absence *away = ((const memory *)storage)->absence;

    return away != NULL ? away->name : NULL;
}
