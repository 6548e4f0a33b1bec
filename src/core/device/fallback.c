/* SPDX-License-Identifier: MIT
 *
 * Runs a kernel on the host that a device does not have. Operands are copied there, and written
 * ones back, unless the host reaches them. This is slow but correct: a backend can grow kernel by
 * kernel. */
#include <string.h>

#include "core/device/device.h"

bool ht__fallback_is_error;

typedef struct moved {
    void *remote, *host; /* of the first byte */
    size_t bytes, got;
    bool written;
} moved;

typedef struct stand_in {
    ht_device *device;
    moved *moved; /* owned */
    int count, room;
    ht_status status;
} stand_in;

static void to_host(ht_kernel_operand *operand, void *user)
{
    stand_in *s = user;
    moved *m;

    if (s->status != HT_SUCCESS)
        return;
    if (s->count == s->room) {
        s->room = 2 * s->room + 8;
        s->moved = ht__realloc(s->moved, (size_t)s->room * sizeof *s->moved);
    }
    m = &s->moved[s->count];
    *m = (moved){.remote = (char *)operand->data + operand->begin,
                 .bytes = (size_t)(operand->end - operand->begin),
                 .written = operand->written};
    m->host = ht__device_alloc(ht__device_cpu(), m->bytes > 0 ? m->bytes : 1, &m->got);
    if (m->host == NULL) {
        s->status = HT_ERR_MEMORY;
        return;
    }
    s->count++;
    if (m->bytes > 0 && s->device->backend->memory_copy(s->device->stream, m->host, m->remote,
                                                        m->bytes, HT_COPY_DEVICE_TO_HOST) != 0)
        s->status = HT_ERR_DEVICE;
    operand->data = (char *)m->host - operand->begin;
}

static void back(stand_in *s)
{
    for (int i = 0; i < s->count; i++) {
        const moved *m = &s->moved[i];

        if (s->status == HT_SUCCESS && m->written &&
            ht__device_put(s->device, m->remote, m->host, m->bytes) != 0)
            s->status = HT_ERR_DEVICE;
        ht__device_free(ht__device_cpu(), m->host, m->got);
    }
    ht__free(s->moved);
}

static ht_status run_in_place(ht_comm *comm, ht_device *device, const ht_kernel_call *call,
                              ht_kernel_fn *run)
{
    if (ht__device_wait(device) != 0 || run(NULL, call) != 0)
        return ht__kernel_failed(comm, call->what);
    return HT_SUCCESS;
}

ht_status ht__run_on_host(ht_comm *comm, ht_device *device, const ht_kernel_call *call,
                          ht_kernel_fn *run)
{
    stand_in s = {.device = device, .status = HT_SUCCESS};
    ht_kernel_call *own;

    if (device->backend->host_memory)
        return run_in_place(comm, device, call, run);
    own = ht__alloc(call->bytes);
    memcpy(own, call, call->bytes);
    ht__call_operands(own, to_host, &s);
    if (ht__device_wait(device) != 0 && s.status == HT_SUCCESS) /* once, for all operands */
        s.status = HT_ERR_DEVICE;
    if (s.status == HT_SUCCESS && run(NULL, own) != 0)
        s.status = HT_ERR_DEVICE;
    back(&s);
    ht__free(own);
    if (s.status == HT_ERR_MEMORY)
        return HT_FAIL_HERE(comm, HT_ERR_MEMORY,
                            "%s: out of memory on the host, where the kernel runs for %s",
                            call->what, device->name);
    return s.status == HT_SUCCESS ? HT_SUCCESS : ht__kernel_failed(comm, call->what);
}
