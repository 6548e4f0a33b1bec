/* SPDX-License-Identifier: MIT
 *
 * Which rank reads which rows of an epoch. At its start each rank has a shard. The rest of an
 * interrupted epoch can be dealt out again to any number of ranks: the remainders of all shards are
 * concatenated and cut into equal runs. */
#include "utils/data/data.h"

#include <string.h>

static void add_part(ht_deal *deal, int64_t rank, int64_t shard, int64_t from, int64_t to)
{
    /* Room is doubled at powers of two, the first of them 1. */
    if ((deal->count & (deal->count - 1)) == 0) {
        size_t room = deal->count > 0 ? 2 * (size_t)deal->count : 1;

        deal->parts = ht__realloc(deal->parts, room * sizeof *deal->parts);
    }
    deal->parts[deal->count++] = (ht_deal_part){rank, shard, from, to};
}

void ht__deal_whole(ht_deal *deal, int64_t ranks, int64_t rows, int64_t window_bytes)
{
    ht__deal_free(deal);
    deal->ranks = deal->shards = ranks;
    deal->window_bytes = window_bytes;
    for (int64_t r = 0; r < ranks; r++)
        add_part(deal, r, r, 0, (r + 1) * rows / ranks - r * rows / ranks);
}

void ht__deal_copy(ht_deal *deal, const ht_deal *from)
{
    ht__deal_free(deal);
    *deal = *from;
    deal->parts = ht__alloc((size_t)from->count * sizeof *deal->parts);
    memcpy(deal->parts, from->parts, (size_t)from->count * sizeof *deal->parts);
}

void ht__deal_free(ht_deal *deal)
{
    ht__free(deal->parts);
    *deal = (ht_deal){0};
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A part that is used up stays: what a rank began its epoch with is what it pads with. */
void ht__deal_take(ht_deal *deal, int64_t rows)
{
    int64_t rank = -1, wanted = 0;

    for (int64_t i = 0; i < deal->count; i++) {
        ht_deal_part *part = &deal->parts[i];

        if (part->rank != rank)
            wanted = rows;
        rank = part->rank;

        int64_t taken = least(wanted, part->to - part->from);

        part->from += taken;
        wanted -= taken;
    }
}

void ht__deal_again(ht_deal *deal, int64_t ranks)
{
    ht_deal old = *deal;
    int64_t rows = 0, from = 0, i = 0;

    for (int64_t k = 0; k < old.count; k++)
        rows += old.parts[k].to - old.parts[k].from;
    deal->ranks = ranks;
    deal->parts = NULL;
    deal->count = 0;
    for (int64_t r = 0; r < ranks; r++) {
        int64_t wanted = (r + 1) * rows / ranks - r * rows / ranks;

        if (wanted == 0)
            add_part(deal, r, old.shards - 1, 0, 0);
        while (wanted > 0) {
            const ht_deal_part *part = &old.parts[i];
            int64_t taken = least(wanted, part->to - part->from - from);

            if (taken > 0)
                add_part(deal, r, part->shard, part->from + from, part->from + from + taken);
            wanted -= taken;
            from += taken;
            if (part->from + from == part->to) {
                from = 0;
                i++;
            }
        }
    }
    ht__free(old.parts);
}

bool ht__deal_is_own(const ht_deal *deal)
{
    bool own = deal->shards == deal->ranks && deal->count == deal->ranks;

    for (int64_t i = 0; i < deal->count && own; i++)
        own = deal->parts[i].shard == deal->parts[i].rank;
    return own;
}

int64_t ht__deal_first(const ht_deal *deal, int64_t rank)
{
    int64_t low = 0, high = deal->count;

    while (low < high) {
        int64_t middle = (low + high) / 2;

        if (deal->parts[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t ht__deal_batches(const ht_deal *deal, const ht_dataloader_options *options, int64_t rank,
                         int64_t *rows)
{
    int64_t size = options->batch_size, most = 0, fewest = INT64_MAX, batches;

    *rows = 0;
    for (int64_t i = 0; i < deal->count;) {
        int64_t of = deal->parts[i].rank, left = 0;

        for (; i < deal->count && deal->parts[i].rank == of; i++)
            left += deal->parts[i].to - deal->parts[i].from;
        most = left > most ? left : most;
        fewest = least(left, fewest);
        if (of == rank)
            *rows = left;
    }
    batches = (most + size - 1) / size;
    if (options->remainder == HT_REMAINDER_DROP) {
        batches = fewest / size;
        *rows = batches * size;
    } else if (options->remainder == HT_REMAINDER_PAD) {
        *rows = most;
    }
    return batches;
}
