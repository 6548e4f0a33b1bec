/* SPDX-License-Identifier: MIT
 *
 * A bounded ring of batches between the reading thread and the program. Batch k lives in slot k mod
 * size. The program has at most the oldest, and the thread fills the one after the newest. Each
 * side waits on its condition, without polling. Without a thread the batch is made when it is
 * requested. */
#include "utils/data/data.h"

#include "core/timeline/timeline.h"
#include "ht/log.h"

void ht__ring_init(ht_ring *ring, ht_reader *reader, bool threaded)
{
    *ring = (ht_ring){.reader = reader, .threaded = threaded, .size = 1};
    if (threaded)
        ring->size = reader->options->queue + 1;
    ring->slots = ht__alloc((size_t)ring->size * sizeof *ring->slots);
    pthread_mutex_init(&ring->lock, NULL);
    pthread_cond_init(&ring->not_empty, NULL);
    pthread_cond_init(&ring->not_full, NULL);
}

void ht__ring_free(ht_ring *ring)
{
    ht__ring_stop(ring);
    for (int i = 0; i < ring->size; i++)
        ht__made_free(&ring->slots[i], ring->reader->dataset->count);
    ht__free(ring->slots);
    pthread_cond_destroy(&ring->not_full);
    pthread_cond_destroy(&ring->not_empty);
    pthread_mutex_destroy(&ring->lock);
}

/* The slot to fill next, once there is one; NULL: stop. */
static ht_made *wait_for_slot(ht_ring *ring)
{
    ht_made *slot;

    pthread_mutex_lock(&ring->lock);
    while (!ring->stop && ring->made - ring->released >= ring->size)
        pthread_cond_wait(&ring->not_full, &ring->lock);
    slot = ring->stop ? NULL : &ring->slots[ring->made % ring->size];
    pthread_mutex_unlock(&ring->lock);
    return slot;
}

static void *read_on(void *user)
{
    ht_ring *ring = user;
    ht_made *slot;
    bool failed = false;

    ht__timeline_name_thread("loader");
    while (!failed && (slot = wait_for_slot(ring)) != NULL) {
        ht__reader_next(ring->reader, slot);
        failed = slot->status != HT_SUCCESS;
        pthread_mutex_lock(&ring->lock);
        ring->made++;
        pthread_cond_signal(&ring->not_empty);
        pthread_mutex_unlock(&ring->lock);
        if (!failed)
            ht__reader_ahead(ring->reader);
    }
    return NULL;
}

static void start(ht_ring *ring)
{
    int error = pthread_create(&ring->thread, NULL, read_on, ring);

    ring->running = error == 0;
    if (error == 0)
        return;
    ring->threaded = false;
    ht_log_write(HT_LOG_WARN,
                 "cannot start a thread (error %d); the loader reads in the calling thread", error);
}

ht_made *ht__ring_take(ht_ring *ring)
{
    if (ring->threaded && !ring->running)
        start(ring);

    ht_made *slot = &ring->slots[ring->released % ring->size];

    if (!ring->threaded) {
        ht__reader_next(ring->reader, slot);
        if (slot->status == HT_SUCCESS)
            ht__reader_ahead(ring->reader);
        return slot;
    }
    pthread_mutex_lock(&ring->lock);
    while (ring->made == ring->released)
        pthread_cond_wait(&ring->not_empty, &ring->lock);
    pthread_mutex_unlock(&ring->lock);
    return slot;
}

void ht__ring_release(ht_ring *ring)
{
    if (!ring->running) /* one that was stopped is empty */
        return;
    pthread_mutex_lock(&ring->lock);
    ring->released++;
    pthread_cond_signal(&ring->not_full);
    pthread_mutex_unlock(&ring->lock);
}

void ht__ring_stop(ht_ring *ring)
{
    if (!ring->running)
        return;
    atomic_store(&ring->reader->stop, true);
    pthread_mutex_lock(&ring->lock);
    ring->stop = true;
    pthread_cond_signal(&ring->not_full);
    pthread_mutex_unlock(&ring->lock);
    pthread_join(ring->thread, NULL);
    ring->running = ring->stop = false;
    ring->made = ring->released = 0;
    atomic_store(&ring->reader->stop, false);
}
