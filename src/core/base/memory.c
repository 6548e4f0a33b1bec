/* SPDX-License-Identifier: MIT
 *
 * Small memory: headers of objects, nodes, lists. Fixed-size blocks come from free lists of the
 * thread, so that a training step in its steady state never reaches malloc. The lists are bounded,
 * because a thread may free any number of blocks that others allocated. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "core/base/environment.h"

#define BLOCK_STEP    64
#define BLOCK_CLASSES 16                 /* up to 1 KiB */
#define KEPT_BYTES    ((size_t)32 << 20) /* that a thread keeps at most */

/* Sanitizers see uses after free only if blocks really go back to malloc. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KEEP_BLOCKS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KEEP_BLOCKS 0
#endif
#endif
#ifndef KEEP_BLOCKS
#define KEEP_BLOCKS 1
#endif

typedef struct block {
    struct block *next;
} block;

static _Thread_local block *free_blocks[BLOCK_CLASSES];
static _Thread_local size_t kept_bytes;
static _Thread_local bool thread_is_known;
static pthread_key_t thread_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static long fail_rank = -1; /* HT_DEBUG_FAIL_ALLOC=rank:n, or rank:n:tensors */
static bool fail_tensors;   /* only memory of tensors counts */
static atomic_long fail_countdown;

/* Another end of the thread (that of its scopes) may free memory after this one. Then ends run
 * again until no end is left. */
static void release_thread_blocks(void *unused)
{
    (void)unused;
    thread_is_known = false;
    kept_bytes = 0;
    for (int i = 0; i < BLOCK_CLASSES; i++) {
        while (free_blocks[i] != NULL) {
            block *first = free_blocks[i];

            free_blocks[i] = first->next;
            free(first);
        }
    }
}

static void set_up(void)
{
    const char *text = ht__env_text(HT_ENV_HT_DEBUG_FAIL_ALLOC);
    char of[8] = "";
    long rank, n;

    pthread_key_create(&thread_key, release_thread_blocks);
    if (text != NULL && sscanf(text, "%ld:%ld:%7s", &rank, &n, of) >= 2)
        ht__alloc_fail(rank, n, strcmp(of, "tensors") == 0);
}

long ht__alloc_fail(long rank, long n, bool tensors)
{
    long left = atomic_exchange(&fail_countdown, n);

    fail_rank = rank;
    fail_tensors = tensors;
    return left;
}

static bool should_fail(bool tensor)
{
    if (fail_rank < 0 || fail_rank != ht__process.rank || (fail_tensors && !tensor))
        return false;
    return atomic_fetch_sub(&fail_countdown, 1) == 1;
}

bool ht__alloc_should_fail(void)
{
    return should_fail(true);
}

static _Noreturn void out_of_memory(size_t bytes)
{
    char text[128];

    snprintf(text, sizeof text, "out of memory: %zu bytes for an internal structure", bytes);
    ht__abort(HT_ERR_MEMORY, text);
}

void *ht__alloc(size_t bytes)
{
    pthread_once(&once, set_up);

    void *memory = should_fail(false) ? NULL : calloc(1, bytes > 0 ? bytes : 1);
    if (memory == NULL)
        out_of_memory(bytes);
    return memory;
}

void *ht__realloc(void *memory, size_t bytes)
{
    pthread_once(&once, set_up);

    void *moved = should_fail(false) ? NULL : realloc(memory, bytes > 0 ? bytes : 1);
    if (moved == NULL)
        out_of_memory(bytes);
    return moved;
}

void ht__free(void *memory)
{
    if (!ht__quarantine(memory))
        free(memory);
}

char *ht__strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;

    return memcpy(ht__alloc(bytes), text, bytes);
}

static size_t block_class(size_t bytes)
{
    return (bytes + BLOCK_STEP - 1) / BLOCK_STEP - 1;
}

void *ht__block_alloc(size_t bytes)
{
    size_t class = block_class(bytes);

    if (class >= BLOCK_CLASSES)
        return ht__alloc(bytes);
    if (free_blocks[class] == NULL)
        return ht__alloc((class + 1) * BLOCK_STEP);
    if (fail_rank >= 0 && should_fail(false))
        out_of_memory(bytes);

    block *first = free_blocks[class];
    free_blocks[class] = first->next;
    kept_bytes -= (class + 1) * BLOCK_STEP;
    return memset(first, 0, bytes);
}

void ht__block_free(void *memory, size_t bytes)
{
    size_t class = block_class(bytes);

    if (memory == NULL || ht__quarantine(memory))
        return;
    if (!KEEP_BLOCKS || class >= BLOCK_CLASSES || kept_bytes >= KEPT_BYTES) {
        free(memory);
        return;
    }
    if (!thread_is_known) {
        pthread_once(&once, set_up);
        pthread_setspecific(thread_key, &thread_is_known);
        thread_is_known = true;
    }
    block *first = memory;
    first->next = free_blocks[class];
    free_blocks[class] = first;
    kept_bytes += (class + 1) * BLOCK_STEP;
}
