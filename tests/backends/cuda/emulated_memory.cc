/* SPDX-License-Identifier: MIT
 *
 * Memory of the emulated runtime, on devices and pinned, and copies. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <vector>

#include "emulated_runtime.h"

static std::map<const char *, size_t> memory[MAX_DEVICES], pinned;

static bool holds(const std::map<const char *, size_t> &blocks, const void *at)
{
    auto next = blocks.upper_bound(static_cast<const char *>(at));

    if (next == blocks.begin())
        return false;
    --next;
    return static_cast<const char *>(at) < next->first + next->second;
}

static bool is_remote(const void *at)
{
    for (const auto &blocks : memory)
        if (holds(blocks, at))
            return true;
    return false;
}

int ht_cuda_get_memory(int index, ht_cuda_memory *bytes)
{
    ALONE;
    const size_t total = (size_t)emulated_setting("EMULATED_MEMORY", 1 << 30);

    *bytes = {total, total - emulated_devices[index].used - emulated_devices[index].kept,
              emulated_devices[index].used, emulated_devices[index].peak};
    return 0;
}

static bool has_room(const emulated_device &device, size_t bytes)
{
    return device.used + device.kept + bytes <=
           (size_t)emulated_setting("EMULATED_MEMORY", 1 << 30);
}

bool emulated_take(int device, size_t bytes)
{
    if (!has_room(emulated_devices[device], bytes))
        return false;
    emulated_devices[device].used += bytes;
    return true;
}

/* What is in it shows when it is read before it is written. */
int ht_cuda_malloc(void **made, size_t bytes, void *handle)
{
    ALONE;
    stream *s = static_cast<stream *>(handle);
    emulated_device *device = &emulated_devices[s->device];
    const size_t room = (bytes + 255) / 256 * 256;

    if (s->device != emulated_current)
        return BAD_STREAM;
    if (room <= device->kept)
        device->kept -= room;
    else if (!has_room(*device, room))
        return emulated_last_error = NO_MEMORY;
    *made = aligned_alloc(256, room);
    if (*made == NULL)
        return emulated_last_error = NO_MEMORY;
    memset(*made, 0xa5, room);
    memory[emulated_current][static_cast<char *>(*made)] = room;
    device->used += room;
    device->peak = device->used > device->peak ? device->used : device->peak;
    return device->error;
}

/* The stream's earlier work still has it. */
int ht_cuda_free(void *at, void *handle)
{
    ALONE;
    stream *s = static_cast<stream *>(handle);
    auto block = memory[s->device].find(static_cast<char *>(at));

    if (s->device != emulated_current || block == memory[s->device].end())
        return BAD_STREAM;
    emulated_wait(s, s->given);
    emulated_devices[s->device].used -= block->second;
    emulated_devices[s->device].kept += block->second;
    memory[s->device].erase(block);
    free(at);
    return 0;
}

int ht_cuda_trim(void *handle)
{
    ALONE;
    stream *s = static_cast<stream *>(handle);

    emulated_wait(s, s->given);
    emulated_devices[s->device].kept = 0;
    return emulated_devices[s->device].error;
}

/* The count begins anew with each value. */
static bool copy_fails(void)
{
    static long counted_for, copies;
    const long wanted = emulated_setting("EMULATED_COPY_FAULT", 0);

    if (wanted != counted_for)
        copies = 0;
    counted_for = wanted;
    return wanted > 0 && ++copies == wanted;
}

/* The host would wait for a larger copy to memory that is not pinned, or from it. */
int ht_cuda_copy(void *to, const void *from, size_t bytes, void *handle)
{
    ALONE;
    stream *s = static_cast<stream *>(handle);
    const bool from_program = !is_remote(from) && !holds(pinned, from);
    const bool to_program = !is_remote(to) && !holds(pinned, to);

    if (s->device != emulated_current)
        return BAD_STREAM;
    if (emulated_error_now() != 0)
        return emulated_error_now();
    if (!(is_remote(from) && is_remote(to)) && copy_fails())
        return emulated_last_error = COPY_FAILED;
    if ((from_program || to_program) && bytes > 65536 && getenv("EMULATED_PINNED") == NULL)
        return NOT_STAGED;
    if (from_program) {
        const char *first = static_cast<const char *>(from);
        const std::vector<char> staged(first, first + bytes);

        emulated_give(s, [=] { std::copy(staged.begin(), staged.end(), static_cast<char *>(to)); });
    } else {
        emulated_give(s, [=] { memmove(to, from, bytes); });
    }
    if (to_program)
        emulated_wait(s, s->given);
    return emulated_error_now();
}

int ht_cuda_copy_peer(void *to, int to_index, const void *from, int from_index, size_t bytes,
                      void *handle)
{
    ALONE;
    stream *s = static_cast<stream *>(handle);

    if (s->device != emulated_current)
        return BAD_STREAM;
    if (!holds(memory[to_index], to) || !holds(memory[from_index], from))
        return BAD_DEVICE;
    emulated_give(s, [=] { memmove(to, from, bytes); });
    return emulated_error_now();
}

int ht_cuda_keep_memory(int index, uint64_t)
{
    return index < MAX_DEVICES ? 0 : BAD_DEVICE;
}

int ht_cuda_get_bus(int index, char text[HT_CUDA_BUS_ROOM])
{
    const int host = emulated_is("EMULATED_HOST", "own") ? (int)getpid() : 0;

    snprintf(text, HT_CUDA_BUS_ROOM, "%d:%02x:00.0", host, (unsigned)index);
    return index < MAX_DEVICES ? 0 : BAD_DEVICE;
}

int ht_cuda_share(int index, int other)
{
    ALONE;
    return index < MAX_DEVICES && other < MAX_DEVICES ? 0 : BAD_DEVICE;
}

int ht_cuda_host_malloc(void **made, size_t bytes)
{
    ALONE;
    size_t all = bytes;

    for (const auto &block : pinned)
        all += block.second;
    *made = all <= (size_t)emulated_setting("EMULATED_PINNED", LONG_MAX) ? malloc(bytes) : NULL;
    if (*made == NULL)
        return emulated_last_error = NO_MEMORY;
    pinned[static_cast<char *>(*made)] = bytes;
    return 0;
}

int ht_cuda_host_free(void *at)
{
    ALONE;
    pinned.erase(static_cast<char *>(at));
    free(at);
    return 0;
}

bool ht_cuda_is_pinned(const void *at)
{
    ALONE;
    return holds(pinned, at);
}
