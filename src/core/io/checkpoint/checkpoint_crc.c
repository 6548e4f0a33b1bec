/* SPDX-License-Identifier: MIT
 *
 * Checksums of tensors. Each rank computes the checksum of its part. The CRC-32 of the tensor
 * follows from those of its parts in order (zlib's crc32_combine). So a file has the same checksums
 * for any number of ranks that write or read it. */
#include "core/io/checkpoint/checkpoint.h"

#include <zlib.h>

static uint32_t crc_of(const ht_body *body)
{
    const unsigned char *at = ht__body_data(body);
    size_t left = (size_t)body->lsize * ht_dtype_size(body->dtype);
    uLong crc = crc32(0, NULL, 0);

    while (left > 0) {
        uInt step = left < 1 << 30 ? (uInt)left : 1 << 30;

        crc = crc32(crc, at, step);
        at += step;
        left -= step;
    }
    return (uint32_t)crc;
}

/* The facts that each rank knows of a tensor. */
struct part {
    int64_t crc, bytes;
};

static void combine(ht_entry *entry, const struct part *parts, int count, int ranks)
{
    uLong crc = crc32(0, NULL, 0);

    entry->crc = (uint32_t)parts[0].crc;
    entry->alike = true;
    for (int r = 0; r < ranks; r++) {
        const struct part *part = &parts[(size_t)r * (size_t)count];

        entry->alike = entry->alike && part->crc == parts[0].crc;
        crc = crc32_combine(crc, (uLong)part->crc, (z_off_t)part->bytes);
    }
    if (entry->x->body->split == HT_NONE)
        return;
    entry->crc = (uint32_t)crc;
    entry->alike = false;
}

ht_status ht__entries_checksum(ht_entries *entries, const ht_target *target)
{
    ht_comm *comm = target->comm;
    struct part *mine = ht__alloc((size_t)entries->count * sizeof *mine);
    struct part *all = ht__alloc((size_t)entries->count * (size_t)comm->size * sizeof *all);
    ht_status status;
    int count = 0;

    for (int i = 0; i < entries->count; i++) {
        const ht_tensor *x = entries->items[i].x;

        if (x == NULL)
            continue;
        mine[count].crc = crc_of(x->body);
        mine[count++].bytes = x->body->lsize * (int64_t)ht_dtype_size(x->body->dtype);
    }
    status = ht__comm_allgather_i64(comm, (int64_t *)(void *)mine, 2 * count,
                                    (int64_t *)(void *)all, target->what);
    for (int i = 0, t = 0; i < entries->count && status == HT_SUCCESS; i++) {
        if (entries->items[i].x != NULL)
            combine(&entries->items[i], &all[t++], count, comm->size);
    }
    ht__free(all);
    ht__free(mine);
    return status;
}
