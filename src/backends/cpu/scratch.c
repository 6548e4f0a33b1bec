/* SPDX-License-Identifier: MIT
 *
 * One block for each thread, freed when the thread ends. */
#include "core/base/base.h"
#include "config.h"

#include <pthread.h>
#include <stdlib.h>

#include "backends/cpu/scratch.h"

typedef struct scratch {
    void *memory;
    size_t bytes;
} scratch;

static _Thread_local scratch mine;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_key(void)
{
    pthread_key_create(&key, free);
}

static void *no_memory(size_t bytes)
{
    ht__error_set(HT_ERR_MEMORY, "out of memory: %zu bytes of scratch memory for a kernel", bytes);
    return NULL;
}

void *ht__cpu_scratch(size_t bytes)
{
    if (bytes > SIZE_MAX - 63 || ht__alloc_should_fail())
        return no_memory(bytes);
    if (bytes == 0)
        bytes = 1; /* NULL means out of memory */
    if (bytes <= mine.bytes)
        return mine.memory;

    pthread_once(&once, make_key);
    free(mine.memory);
    mine.bytes = ht__cpu_scratch_part(bytes);
    mine.memory = aligned_alloc(64, mine.bytes);
    pthread_setspecific(key, mine.memory);
    if (mine.memory != NULL)
        return mine.memory;
    mine.bytes = 0;
    return no_memory(bytes);
}
