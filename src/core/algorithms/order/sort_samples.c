/* SPDX-License-Identifier: MIT
 *
 * Few long lines, sorted by all ranks together. Each rank sorts its part of them. Then the ranks
 * find the key of the first element of each slab of the result, some bits at a time. They count how
 * many elements have each value of the next digit, which are places in sorted parts, and add the
 * counts. This takes one Allreduce for up to 8 bits, until the keys are known well enough. Equal
 * elements are taken in the order of the ranks.
 *
 * So each rank knows where each of its elements goes, and receives exactly its slab: one exchange
 * of elements, then a merge. In addition to x, a rank stores its elements at most twice: received
 * and merged. */
#include <string.h>

#include "core/algorithms/order/order.h"
#include "core/collective/collective.h"
#include "core/ops/ops.h"
#include "ht/factories.h"
#include "ht/kernels/order.h"
#include "ht/manipulations.h"

enum { MOST_COUNTS = 1 << 16 }; /* of one Allreduce; more where there are more slabs to begin */

typedef struct samples {
    const ht_order *order;
    ht_comm *comm;
    int64_t lines, count, n;     /* count: elements of a line here; n: of all ranks */
    int64_t keep;                /* of these */
    ht_tensor *values, *indices; /* owned; in order, on the host: (lines, count), local */
    int64_t *cut; /* owned; (lines, size + 1): where each rank's part of a line begins */
} samples;

/* The places that slabs but the first begin with, and that behind the last, each of each line. Here
 * the elements begin ... end - 1 have a key that begins as `key` does, and on all ranks `less` are
 * before these. */
typedef struct search {
    int64_t targets, *place, *begin, *end, *less;
    uint64_t *key;
    int64_t *memory; /* owned; all of these */
} search;

static search search_new(const samples *s)
{
    const int slabs = s->comm->size;
    search find = {.targets = s->lines * slabs};

    find.memory = ht__alloc((size_t)(6 * find.targets) * sizeof *find.memory);
    find.place = find.memory;
    find.begin = find.place + find.targets;
    find.end = find.begin + find.targets;
    find.less = find.end + find.targets;
    find.key = (uint64_t *)(find.less + find.targets);
    for (int64_t t = 0; t < find.targets; t++) {
        int64_t start, count;

        ht_comm_chunk(s->comm, s->keep, (int)(t % slabs), &start, &count);
        find.place[t] = start + count;
        find.begin[t] = t / slabs * s->count;
        find.end[t] = find.begin[t] + s->count;
    }
    return find;
}

/* Whether the search is over: each place is that of the first of equal elements, or the end. */
static bool is_found(const search *find, int64_t n)
{
    for (int64_t t = 0; t < find->targets; t++) {
        if (find->place[t] < n && find->place[t] != find->less[t])
            return false;
    }
    return true;
}

/* Where the next digits 1 ... digits - 1 begin among this rank's elements, for each target. */
static ht_status place_digits(const samples *s, const search *find, int used, int bits,
                              int64_t *places)
{
    const int64_t digits = (int64_t)1 << bits, count = find->targets * (digits - 1);
    const int64_t bytes = count * (int64_t)sizeof(int64_t);
    int64_t *begin = ht__alloc((size_t)(4 * count) * sizeof *begin), *end = begin + count;
    uint64_t *keys = (uint64_t *)(end + count);
    ht_place_call place = {.call.operands = 5,
                           .begin = ht__operand_bytes(begin, bytes, HT_READ),
                           .end = ht__operand_bytes(end, bytes, HT_READ),
                           .keys = ht__operand_bytes(keys, 2 * bytes, HT_READ),
                           .x = ht__operand_part(s->values->body, 0, s->lines * s->count, HT_READ),
                           .place = ht__operand_bytes(places, bytes, HT_WRITE),
                           .descending = s->order->descending,
                           .count = count,
                           .size = s->lines * s->count};
    ht_status status;

    for (int64_t i = 0; i < count; i++) {
        const int64_t t = i / (digits - 1);
        const uint64_t digit = (uint64_t)(i % (digits - 1) + 1);

        begin[i] = find->begin[t];
        end[i] = find->end[t];
        memcpy(keys + 2 * i, find->key + 2 * t, 2 * sizeof *keys);
        keys[2 * i + used / 64] |= digit << (64 - used % 64 - bits);
    }
    status = HT_RUN(s->values, HT_KERNEL_PLACE, &place, s->order->what);
    ht__free(begin);
    return status;
}

/* `bits` more of each key. */
static ht_status narrow(const samples *s, search *find, int used, int bits)
{
    const int64_t digits = (int64_t)1 << bits;
    int64_t *places = ht__alloc((size_t)(2 * find->targets * digits) * sizeof *places);
    int64_t *counts = places + find->targets * digits;
    ht_status status = place_digits(s, find, used, bits, places);

    for (int64_t t = 0; t < find->targets && status == HT_SUCCESS; t++) {
        const int64_t *at = places + t * (digits - 1);

        for (int64_t d = 0; d < digits; d++)
            counts[t * digits + d] = (d + 1 < digits ? at[d] : find->end[t]) -
                                     (d > 0 ? at[d - 1] : find->begin[t]);
    }
    if (status == HT_SUCCESS)
        status = ht__comm_allreduce_i64(s->comm, counts, (int)(find->targets * digits), HT_OP_SUM,
                                        s->order->what);
    for (int64_t t = 0; t < find->targets && status == HT_SUCCESS; t++) {
        const int64_t *at = places + t * (digits - 1), *count = counts + t * digits;
        int64_t d = 0;

        while (d + 1 < digits && find->less[t] + count[d] <= find->place[t])
            find->less[t] += count[d++];
        find->key[2 * t + used / 64] |= (uint64_t)d << (64 - used % 64 - bits);
        find->end[t] = d + 1 < digits ? at[d] : find->end[t];
        find->begin[t] = d > 0 ? at[d - 1] : find->begin[t];
    }
    ht__free(places);
    return status;
}

/* Elements that are equal to the first one of a slab are taken in the order of the ranks. */
static ht_status share_equals(const samples *s, search *find)
{
    ht_tensor *before = ht_zeros_ext(1, &find->targets, HT_INT64, HT_NONE, ht__device_cpu(),
                                     ht_comm_self());
    int64_t *counts = before != NULL ? ht__body_data(before->body) : NULL;
    ht_status status;

    if (before == NULL)
        return ht_error_get(NULL);
    for (int64_t t = 0; t < find->targets; t++)
        counts[t] = find->end[t] - find->begin[t];
    status = ht__comm_sum(s->comm, before, HT_SUM_BEFORE, 1, s->order->what);
    counts = ht__body_data(before->body);
    for (int64_t t = 0; t < find->targets && status == HT_SUCCESS; t++) {
        const int64_t here = find->end[t] - find->begin[t];
        const int64_t wanted = find->place[t] - find->less[t] - counts[t];

        find->begin[t] += wanted < 0 ? 0 : wanted > here ? here : wanted;
    }
    return status;
}

static ht_status find_cuts(samples *s)
{
    const int size = s->comm->size, width = 8 * (int)ht_dtype_size(s->values->body->dtype);
    search find = search_new(s);
    ht_status status = HT_SUCCESS;
    int bits = 8;

    while (bits > 1 && find.targets << bits > MOST_COUNTS)
        bits /= 2;
    for (int used = 0; used < width && status == HT_SUCCESS && !is_found(&find, s->n); used += bits)
        status = narrow(s, &find, used, bits);
    if (status == HT_SUCCESS && !is_found(&find, s->n))
        status = share_equals(s, &find);
    for (int64_t line = 0; line < s->lines; line++) {
        int64_t *cut = s->cut + line * (size + 1);

        cut[0] = line * s->count;
        for (int rank = 0; rank < size; rank++) {
            const int64_t t = line * size + rank;

            cut[rank + 1] = find.place[t] < s->n ? find.begin[t] : cut[0] + s->count;
        }
    }
    ht__free(find.memory);
    return status;
}

/* ---- the exchange -------------------------------------------------------------------------- */

/* The elements for each rank: those of one line are contiguous already; those of several lines are
 * brought together. */
static ht_tensor *packed(const samples *s, ht_tensor *x)
{
    const int64_t size = s->comm->size, all = s->lines * s->count;
    const size_t bytes = ht_dtype_size(x->body->dtype);
    const char *from = ht__body_data(x->body);
    ht_tensor *y;
    char *to;

    if (s->lines == 1)
        return ht_reshape(x, 1, &all);
    y = ht_empty_ext(1, &all, x->body->dtype, HT_NONE, ht__device_cpu(), ht_comm_self());
    to = y != NULL ? ht__body_data(y->body) : NULL;
    for (int64_t i = 0; y != NULL && i < size * s->lines; i++) {
        const int64_t *cut = s->cut + i % s->lines * (size + 1) + i / s->lines;
        const size_t length = (size_t)(cut[1] - cut[0]) * bytes;

        if (length > 0)
            memcpy(to, from + cut[0] * (int64_t)bytes, length);
        to += length;
    }
    return y;
}

/* How many elements of each line go to each rank, and what comes instead: (size, lines). */
static ht_tensor *exchange_counts(const samples *s, int64_t edges[])
{
    const int size = s->comm->size;
    const int64_t all = size * s->lines;
    int64_t *rows = ht__alloc(((size_t)size + 1) * sizeof *rows), *counts;
    ht_tensor *send = ht_empty_ext(1, &all, HT_INT64, HT_NONE, ht__device_cpu(), ht_comm_self());
    ht_tensor *recv = NULL;

    counts = send != NULL ? ht__body_data(send->body) : NULL;
    for (int rank = 0; rank <= size; rank++)
        rows[rank] = rank * s->lines;
    for (int64_t i = 0; send != NULL && i < all; i++) {
        const int64_t *cut = s->cut + i % s->lines * (size + 1) + i / s->lines;

        counts[i] = cut[1] - cut[0];
        edges[i / s->lines + 1] += counts[i];
    }
    for (int rank = 0; rank < size; rank++)
        edges[rank + 1] += edges[rank];
    if (send != NULL)
        recv = ht__comm_deal(s->comm, send, rows, rows, s->order->what);
    ht__free(rows);
    return recv;
}

/* The places of the runs of each line in the received elements: (lines, size). */
static void place_runs(const samples *s, const int64_t counts[], int64_t came[], int64_t begin[],
                       int64_t end[])
{
    const int size = s->comm->size;
    int64_t at = 0;

    for (int rank = 0; rank < size; rank++) {
        came[rank] = at;
        for (int64_t line = 0; line < s->lines; line++) {
            begin[line * size + rank] = at;
            at += counts[rank * s->lines + line];
            end[line * size + rank] = at;
        }
    }
    came[size] = at;
}

static ht_tensor *result_of(const samples *s, ht_dtype dtype)
{
    return ht__tensor_new(ht__body_new(s->order->what, s->comm, ht__device_cpu(), dtype, 2,
                                       (int64_t[]){s->lines, s->keep}, 1, NULL));
}

static bool merge(const samples *s, ht_tensor *values, ht_tensor *indices, const int64_t begin[],
                  const int64_t end[], ht_sorted *sorted)
{
    const int64_t runs = s->lines * s->comm->size * (int64_t)sizeof(int64_t);
    ht_merge_call call = {.call.operands = 6,
                          .begin = ht__operand_bytes(begin, runs, HT_READ),
                          .end = ht__operand_bytes(end, runs, HT_READ),
                          .descending = s->order->descending,
                          .lines = s->lines,
                          .runs = s->comm->size};

    sorted->values = result_of(s, values->body->dtype);
    sorted->indices = indices != NULL ? result_of(s, HT_INT64) : NULL;
    if (sorted->values == NULL || (indices != NULL && sorted->indices == NULL))
        return false;
    call.count = sorted->values->body->lshape[1];
    call.size = values->body->lsize;
    call.x = ht__operand_of(values->body, HT_READ);
    call.y = ht__operand_of(sorted->values->body, HT_WRITE);
    call.x_index = ht__operand_if_any(indices, HT_READ);
    call.y_index = ht__operand_if_any(sorted->indices, HT_WRITE);
    return HT_RUN(values, HT_KERNEL_MERGE, &call, s->order->what) == HT_SUCCESS;
}

/* *x <- what comes for it. */
static bool deal(const samples *s, ht_tensor **x, const int64_t edges[], const int64_t came[])
{
    HT_STEP(*x, packed(s, *x));
    HT_STEP(*x, *x != NULL ? ht__comm_deal(s->comm, *x, edges, came, s->order->what) : NULL);
    return *x != NULL;
}

static bool exchange(samples *s, ht_sorted *sorted)
{
    const int size = s->comm->size;
    const size_t edge_count = (size_t)size + 1, runs = (size_t)(size * s->lines);
    int64_t *edges = ht__alloc((2 * edge_count + 2 * runs) * sizeof *edges);
    int64_t *came = edges + edge_count, *begin = came + edge_count, *end = begin + runs;
    ht_tensor *counts = exchange_counts(s, edges);
    bool good = counts != NULL;

    if (good) {
        place_runs(s, ht__body_data(counts->body), came, begin, end);
        good = deal(s, &s->values, edges, came);
    }
    if (good && s->order->indexed)
        good = deal(s, &s->indices, edges, came);
    good = good && merge(s, s->values, s->indices, begin, end, sorted);
    ht__free(edges);
    return good;
}

/* Parts on the host, in order, brought together. */
static bool bring_together(samples *s, ht_device *device, ht_sorted *sorted)
{
    bool good;

    s->keep = s->order->keep < s->n ? s->order->keep : s->n;
    s->cut = ht__alloc((size_t)(s->lines * (s->comm->size + 1)) * sizeof *s->cut);
    good = find_cuts(s) == HT_SUCCESS && exchange(s, sorted);
    ht__free(s->cut);
    if (!good)
        return false;
    sorted->values = ht_to_device(sorted->values, device);
    if (sorted->values != NULL && s->order->indexed)
        sorted->indices = ht_to_device(sorted->indices, device);
    return sorted->values != NULL && (!s->order->indexed || sorted->indices != NULL);
}

/* The local part in order; only values and indices of it are kept. */
static bool sort_own(samples *s, ht_tensor *lines)
{
    ht_scope *step = ht_scope_open();
    ht_sorted local = {NULL, NULL};

    if (ht__sort_local(s->order, ht_tensor_local(lines), 1, lines->body->split_start, &local)) {
        s->values = ht_retain(ht__on_host(s->order->what, local.values, lines->body->dtype));
        if (s->order->indexed)
            s->indices = ht_retain(ht__on_host(s->order->what, local.indices, HT_INT64));
    }
    ht_scope_close(step);
    return s->values != NULL && (!s->order->indexed || s->indices != NULL);
}

bool ht__sort_samples(const ht_order *order, ht_tensor *lines, ht_sorted *sorted)
{
    const ht_body *body = lines->body;
    samples s = {.order = order, .comm = body->comm, .lines = body->lshape[0], .n = body->shape[1]};
    bool good = sort_own(&s, lines);

    if (good) {
        s.count = s.values->body->shape[1];
        good = bring_together(&s, body->storage->device, sorted);
    }
    ht_release(s.values);
    ht_release(s.indices);
    return good;
}
