/* SPDX-License-Identifier: MIT
 *
 * Links of an engine. The ranks tell each other their devices. If all are of one backend and no two
 * are the same, each rank opens its end, and if all could, they join. Every step is agreed on, so
 * that all ranks have the link or none has. Without it the exchange serves, and no error is raised.
 */
#include "core/exchange/link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/comm/mpi.h"
#include "core/exchange/path.h"
#include "ht/log.h"

static const char joining[] = "joining the devices of the ranks";

/* The device of a rank: its backend, and a text of the backend's; "": none that can be joined. */
typedef struct place {
    char backend[16];
    char device[HT_LINK_DEVICE];
} place;

struct ht_link {
    ht_link *next;
    const ht_exchange *exchange; /* not owned */
    ht_device *device;           /* not owned */
    place *places;               /* owned; of all ranks */
    void *handle;                /* owned; the backend's; NULL: they could not be joined */
};

bool ht__link_is_possible(const ht_exchange *exchange, const ht_device *device)
{
    const ht_backend *backend = device->backend;

    return exchange->size > 1 && backend->link != NULL && !backend->host_memory &&
           backend->event_new != NULL;
}

static place place_of(const ht_exchange *exchange, const ht_device *device)
{
    place mine = {"", ""};

    if (!ht__link_is_possible(exchange, device) ||
        device->backend->link->device_text(device->stream, mine.device) != 0)
        return (place){"", ""};
    snprintf(mine.backend, sizeof mine.backend, "%s", device->backend->name);
    return mine;
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const place *)a)->device, ((const place *)b)->device);
}

/* NULL: the devices can be joined; else why not. */
static const char *obstacle(const ht_exchange *exchange, const place *places)
{
    const size_t size = (size_t)exchange->size;
    const char *found = NULL;
    place *sorted;

    for (size_t r = 0; r < size; r++) {
        if (places[r].backend[0] == '\0')
            return "a rank has no device that can be joined";
        if (strcmp(places[r].backend, places[0].backend) != 0)
            return "the ranks have devices of several kinds";
    }
    sorted = ht__alloc(size * sizeof *sorted);
    memcpy(sorted, places, size * sizeof *sorted);
    qsort(sorted, size, sizeof *sorted, compare);
    for (size_t r = 1; r < size; r++) {
        if (compare(&sorted[r - 1], &sorted[r]) == 0)
            found = "several ranks share a device";
    }
    ht__free(sorted);
    return found;
}

/* Whether all ranks have done it. An error of this rank goes to the log. */
static bool all_have(const ht_link *link, bool mine)
{
    int64_t all = mine;
    const char *message;

    if (!mine) {
        ht__error_last(&message);
        ht_log_write(HT_LOG_INFO, "%s: %s", joining, message);
        ht_error_clear();
    }
    return ht__comm_allreduce_i64(link->exchange->comm, &all, 1, HT_OP_MIN, joining) ==
               HT_SUCCESS &&
           all != 0;
}

static bool open_on_all(ht_link *link)
{
    const ht_device *device = link->device;
    ht_link_order order = ht__order_new(link->exchange);
    const bool opened = device->backend->link->open(device->stream, &order, &link->handle) == 0;

    ht__order_free(&order);
    return all_have(link, opened);
}

static bool join_on_all(ht_link *link)
{
    const ht_link_calls *calls = link->device->backend->link;
    unsigned char id[HT_LINK_ID] = {0};
    bool joined = link->exchange->rank != 0 || calls->id(id) == 0;
    const char *outer;

    if (!all_have(link, joined) ||
        ht__comm_bcast_bytes(link->exchange->comm, id, sizeof id, 0, joining) != HT_SUCCESS)
        return false;
    outer = ht__watch_guard(joining);
    joined = calls->join(link->handle, id) == 0;
    ht__watch_unguard(outer);
    return all_have(link, joined);
}

static void close_handle(ht_link *link)
{
    if (link->handle != NULL)
        link->device->backend->link->close(link->handle);
    link->handle = NULL;
}

static void tell(const ht_link *link, const char *why_not)
{
    if (link->exchange->rank != 0)
        return;
    if (link->handle != NULL)
        ht_log_write(HT_LOG_INFO, "gradients on %s of %d ranks: the devices sum them",
                     link->places[0].backend, link->exchange->size);
    else
        ht_log_write(HT_LOG_INFO, "gradients on devices of %d ranks: the host sums them: %s",
                     link->exchange->size, why_not);
}

/* Errors on the way are not the program's. */
static ht_link *make(ht_exchange *exchange, ht_device *device, place *places)
{
    ht_link *link = ht__alloc(sizeof *link);
    const char *why_not = obstacle(exchange, places);
    ht_error_kept before;

    ht__error_set_aside(&before);
    *link = (ht_link){exchange->links, exchange, device, places, NULL};
    exchange->links = link;
    if (why_not == NULL && !(open_on_all(link) && join_on_all(link))) {
        close_handle(link);
        why_not = "joining the devices failed";
    }
    if (link->handle != NULL)
        atomic_fetch_add(&device->links, 1);
    tell(link, why_not);
    ht_error_clear();
    ht__error_put_back(&before);
    return link;
}

/* All ranks have the same links in the same order, because all make them here. */
static ht_link *find(const ht_exchange *exchange, const place *places)
{
    ht_link *link = exchange->links;

    while (link != NULL &&
           memcmp(link->places, places, (size_t)exchange->size * sizeof *places) != 0)
        link = link->next;
    return link;
}

ht_status ht__link_get(ht_exchange *exchange, ht_device *device, ht_link **found)
{
    const place mine = place_of(exchange, device);

    ht__begin(exchange->comm, (ht_call){.what = joining});

    place *places = ht__alloc((size_t)exchange->size * sizeof *places);
    ht_status status = ht__meta_gather_bytes(exchange->comm, exchange->comm->mpi, &mine,
                                             sizeof mine, places, joining);
    ht_link *link = status == HT_SUCCESS ? find(exchange, places) : NULL;

    *found = NULL;
    if (status != HT_SUCCESS || link != NULL)
        ht__free(places);
    else
        link = make(exchange, device, places);
    if (link != NULL && link->handle != NULL)
        *found = link;
    return status;
}

int ht__link_reserve(const ht_link *link, size_t bytes)
{
    return link->device->backend->link->reserve(link->handle, bytes) == 0 ? 0 : -1;
}

int ht__link_begin(ht_link_average *average, const ht_link *link, void *data, int64_t n,
                   ht_dtype dtype, double scale)
{
    const ht_backend *backend = link->device->backend;

    average->link = link;
    if (average->event == NULL && backend->event_new(link->device->stream, &average->event) != 0)
        return -1;
    average->under_way = backend->link->average(link->handle, dtype, data, n, scale,
                                                average->event) == 0;
    return average->under_way ? 0 : -1;
}

int ht__link_follow(ht_link_average *average)
{
    const ht_device *device = average->link->device;

    average->under_way = false;
    return device->backend->stream_wait(device->stream, average->event) == 0 ? 0 : -1;
}

int ht__link_end(ht_link_average *average)
{
    const ht_device *device = average->link != NULL ? average->link->device : NULL;
    int failed = 0;

    if (average->under_way && ht__device_wait_event(device, average->event) != 0)
        failed = -1;
    if (average->event != NULL)
        device->backend->event_free(average->event);
    *average = (ht_link_average){0};
    return failed;
}

void ht__links_end(ht_exchange *exchange)
{
    while (exchange->links != NULL) {
        ht_link *link = exchange->links;

        exchange->links = link->next;
        if (link->handle != NULL) {
            ht__device_wait_work(link->device); /* which follows its averages: with a deadline */
            atomic_fetch_sub(&link->device->links, 1);
        }
        close_handle(link);
        ht__free(link->places);
        ht__free(link);
    }
}

void ht__links_end_all(void)
{
    for (ht_exchange *exchange = ht__engines; exchange != NULL; exchange = exchange->next)
        ht__links_end(exchange);
}
