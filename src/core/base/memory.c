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

/* The blocks of the calling thread. Its address is a call, so each function asks for it once. */
typedef struct kept {
    block *free[BLOCK_CLASSES];
    size_t bytes;
    bool is_known; /* the thread, whose end frees them */
} kept;

static _Thread_local kept mine;
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
    mine.is_known = false;
    mine.bytes = 0;
    for (int i = 0; i < BLOCK_CLASSES; i++) {
        while (mine.free[i] != NULL) {
            block *first = mine.free[i];

            mine.free[i] = first->next;
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

/* A block that was freed, with its content; NULL: there is none. */
static inline void *take(size_t bytes)
{
    size_t class = block_class(bytes);
    kept *own = &mine;
    block *first = class < BLOCK_CLASSES ? own->free[class] : NULL;

    if (first == NULL)
        return NULL;
    if (fail_rank >= 0 && should_fail(false))
        out_of_memory(bytes);
    own->free[class] = first->next;
    own->bytes -= (class + 1) * BLOCK_STEP;
    return first;
}

static void *make(size_t bytes)
{
    size_t class = block_class(bytes);

    return ht__alloc(class < BLOCK_CLASSES ? (class + 1) * BLOCK_STEP : bytes);
}

void *ht__block_alloc(size_t bytes)
{
    void *first = take(bytes);

    return first != NULL ? memset(first, 0, bytes) : make(bytes);
}

void *ht__block_copy(const void *of, size_t bytes)
{
    void *first = take(bytes);

    return memcpy(first != NULL ? first : make(bytes), of, bytes);
}

static void know_thread(kept *own)
{
    pthread_once(&once, set_up);
    pthread_setspecific(thread_key, own);
    own->is_known = true;
}

void ht__block_free(void *memory, size_t bytes)
{
    size_t class = block_class(bytes);
    kept *own = &mine;
    block *first = memory;

    if (memory == NULL || ht__quarantine(memory))
        return;
    if (!KEEP_BLOCKS || class >= BLOCK_CLASSES || own->bytes >= KEPT_BYTES) {
        free(memory);
        return;
    }
    if (!own->is_known)
        know_thread(own);
    first->next = own->free[class];
    own->free[class] = first;
    own->bytes += (class + 1) * BLOCK_STEP;
}
