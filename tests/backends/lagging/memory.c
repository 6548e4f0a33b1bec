/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lagging.h"

#define ROOM  ((size_t)16 << 30)
#define ALIGN ((size_t)256)

/* A block that was freed, in order of nothing: blocks come in the few sizes of a cache. */
struct block {
    struct block *next;
    char *at;
    size_t bytes;
    bool used;
};

struct lag_memory {
    char *seen, *real; /* ROOM bytes each */
    size_t top;
    struct block *blocks;
    int device;
    const char *last; /* operation */
    lag_memory *next; /* of another device */
};

static lag_memory *all; /* for the fault handler */

/* The innermost public function among the callers, "" if no symbol names one. */
static const char *public_function(void *const frames[], int count)
{
    for (int i = 0; i < count; i++) {
        Dl_info info;

        if (dladdr(frames[i], &info) != 0 && info.dli_sname != NULL &&
            strncmp(info.dli_sname, "ht_", 3) == 0 && strncmp(info.dli_sname, "ht__", 4) != 0)
            return info.dli_sname;
    }
    return "";
}

static void complain(const lag_memory *memory)
{
    void *frames[48];
    char text[300];
    int count = backtrace(frames, 48), length;
    const char *within = public_function(frames, count);

    length = snprintf(
        text, sizeof text,
        "lag: the host touches memory of lag:%d%s%s; the last operation there was %s\n",
        memory->device, within[0] != '\0' ? " in " : "", within, memory->last);
    if (write(STDERR_FILENO, text, (size_t)length) < 0)
        _exit(1);
    backtrace_symbols_fd(frames, count, STDERR_FILENO);
}

/* A host access to device memory ends the process. */
static void fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    for (const lag_memory *memory = all; memory != NULL; memory = memory->next) {
        if (lag_memory_has(memory, info->si_addr))
            complain(memory);
    }
    signal(number, SIG_DFL);
    raise(number);
}

/* Installs the handler again each time, because test frameworks install theirs. */
void lag_memory_note(lag_memory *memory, const char *what)
{
    const struct sigaction action = {.sa_sigaction = fault, .sa_flags = SA_SIGINFO};

    memory->last = what;
    sigaction(SIGSEGV, &action, NULL);
}

lag_memory *lag_memory_new(int device)
{
    lag_memory *memory = calloc(1, sizeof *memory);
    int file = memfd_create("lag", 0);

    if (memory == NULL || file < 0 || ftruncate(file, (off_t)ROOM) != 0)
        return NULL;
    memory->real = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    memory->seen = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    close(file);
    if (memory->real == MAP_FAILED || memory->seen == MAP_FAILED)
        return NULL;
    memory->device = device;
    memory->next = all;
    all = memory;
    lag_memory_note(memory, "none");
    return memory;
}

void lag_memory_end(lag_memory *memory)
{
    while (memory->blocks != NULL) {
        struct block *block = memory->blocks;

        memory->blocks = block->next;
        free(block);
    }
    munmap(memory->real, ROOM);
    munmap(memory->seen, ROOM);
    for (lag_memory **at = &all; *at != NULL; at = &(*at)->next) {
        if (*at != memory)
            continue;
        *at = memory->next;
        break;
    }
    free(memory);
}

void *lag_memory_alloc(lag_memory *memory, size_t bytes)
{
    struct block *block;

    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    for (block = memory->blocks; block != NULL; block = block->next) {
        if (!block->used && block->bytes == bytes) {
            block->used = true;
            return block->at;
        }
    }
    block = bytes <= ROOM - memory->top ? malloc(sizeof *block) : NULL;
    if (block == NULL)
        return NULL;
    *block = (struct block){memory->blocks, memory->seen + memory->top, bytes, true};
    memory->blocks = block;
    memory->top += bytes;
    return block->at;
}

void lag_memory_free(lag_memory *memory, void *at)
{
    for (struct block *block = memory->blocks; block != NULL; block = block->next) {
        if (block->at == at)
            block->used = false;
    }
}

bool lag_memory_has(const lag_memory *memory, const void *at)
{
    return (uintptr_t)at - (uintptr_t)memory->seen < ROOM;
}

void *lag_memory_real(const lag_memory *memory, const void *at)
{
    return memory->real + ((const char *)at - memory->seen);
}
