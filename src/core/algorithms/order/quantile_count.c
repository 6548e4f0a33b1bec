/* SPDX-License-Identifier: MIT
 *
 * Elements at places in order, found by counting. A pass counts how many elements have each value
 * of the first digits of their keys (some thousand values). This tells which value the place falls
 * into. The next pass counts the next digits of the elements with this value, and so on. Long lines
 * take 2 passes for float32 and 4 for float64. Only short lines that are not split are sorted. */
#include <string.h>

#include "core/algorithms/order/order.h"
#include "core/algorithms/order/quantile.h"
#include "core/base/half.h"
#include "core/collective/collective.h"
#include "ht/kernels/order.h"

enum {
    LONG_LINE = 1 << 18,   /* elements of a line from which on counts of 16 bits are as quick */
    MOST_COUNTS = 1 << 21, /* at a time */
};

/* The number of a key, whose digits are the highest bits (ht/kernels/order.h). */
static double number_of(ht_dtype dtype, uint64_t key)
{
    const int unused = 64 - 8 * (int)ht_dtype_size(dtype);
    const uint64_t sign = (uint64_t)1 << 63;
    const uint64_t bits = (key & sign ? key ^ sign : ~key) >> unused;
    double value;

    if (dtype == HT_BOOL || dtype == HT_UINT8)
        return (double)(key >> unused);
    if (ht_dtype_is_integer(dtype))
        return (double)((int64_t)(key ^ sign) >> unused);
    if (dtype == HT_FLOAT32)
        return (double)ht__bits_to_float((uint32_t)bits);
    if (dtype != HT_FLOAT64)
        return dtype == HT_FLOAT16 ? (double)ht__float16_to_float((uint16_t)bits)
                                   : (double)ht__bfloat16_to_float((uint16_t)bits);
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Lines that are counted together, those of x (lines, count) from `first` on. comm NULL: they are
 * here as a whole. */
typedef struct counting {
    const ht_quantiles *r;
    ht_comm *comm;
    ht_tensor *x; /* on the host, dense */
    int64_t first, lines, count;
    uint64_t *keys; /* owned; (lines, targets): the known digits of each */
    int64_t *less;  /* this many elements precede those that begin so */
    int64_t *counts;
} counting;

/* The digit that each place falls into, by the counts of all ranks. */
static void choose_digits(counting *c, int used, int bits)
{
    const int64_t targets = c->r->targets, digits = (int64_t)1 << bits;

    for (int64_t line = 0; line < c->lines; line++) {
        const int64_t *shared = NULL;
        uint64_t begins = 0;

        for (int64_t t = line * targets; t < (line + 1) * targets; t++) {
            int64_t digit = 0;

            if (shared == NULL || c->keys[t] != begins)
                shared = c->counts + (t << bits);
            begins = c->keys[t];
            while (digit + 1 < digits &&
                   c->less[t] + shared[digit] <= c->r->places[t - line * targets])
                c->less[t] += shared[digit++];
            c->keys[t] |= (uint64_t)digit << (64 - used - bits);
        }
    }
}

static ht_status count_digits(counting *c, int used, int bits)
{
    const int64_t all = c->lines * c->r->targets << bits;
    const int64_t word = (int64_t)sizeof(int64_t), n = c->count;
    ht_digits_call call = {
        .call.operands = 3,
        .keys = ht__operand_bytes(c->keys, c->lines * c->r->targets * word, HT_READ),
        .x = ht__operand_part(c->x->body, c->first * n, c->lines * n, HT_READ),
        .counts = ht__operand_bytes(c->counts, all * word, HT_WRITE),
        .used = used,
        .bits = bits,
        .lines = c->lines,
        .count = n,
        .targets = c->r->targets};
    ht_status status;

    memset(c->counts, 0, (size_t)all * sizeof *c->counts);
    status = HT_RUN(c->x, HT_KERNEL_DIGITS, &call, c->r->what);
    if (status == HT_SUCCESS && c->comm != NULL)
        status = ht__comm_allreduce_i64(c->comm, c->counts, (int)all, HT_OP_SUM, c->r->what);
    if (status == HT_SUCCESS)
        choose_digits(c, used, bits);
    return status;
}

static int digit_bits(const ht_quantiles *r)
{
    int bits = r->n >= LONG_LINE ? 16 : r->n >= HT_SHORT_LINE ? 11 : 8;

    while (bits > 4 && r->targets << bits > MOST_COUNTS)
        bits--;
    return bits;
}

ht_status ht__quantiles_count(const ht_quantiles *r, ht_tensor *x, ht_comm *comm, double *values)
{
    const int64_t lines = x->body->shape[0];
    const int width = 8 * (int)ht_dtype_size(x->body->dtype), most = digit_bits(r);
    const int64_t block = MOST_COUNTS / (r->targets << most) > 0
                              ? MOST_COUNTS / (r->targets << most)
                              : 1;
    const int64_t held = (block < lines ? block : lines) * r->targets;
    counting c = {.r = r, .comm = comm, .x = x, .count = x->body->shape[1]};
    ht_status status = HT_SUCCESS;

    c.keys = ht__alloc((size_t)held * (2 + ((size_t)1 << most)) * sizeof *c.keys);
    c.less = (int64_t *)(c.keys + held);
    c.counts = c.less + held;
    for (; c.first < lines && status == HT_SUCCESS; c.first += block) {
        int bits;

        c.lines = lines - c.first < block ? lines - c.first : block;
        memset(c.keys, 0, (size_t)(2 * held) * sizeof *c.keys);
        for (int used = 0; used < width && status == HT_SUCCESS; used += bits) {
            bits = width - used < most ? width - used : most;
            status = count_digits(&c, used, bits);
        }
        for (int64_t t = 0; t < c.lines * r->targets; t++)
            values[c.first * r->targets + t] = number_of(x->body->dtype, c.keys[t]);
    }
    ht__free(c.keys);
    return status;
}

ht_status ht__quantiles_sort(const ht_quantiles *r, ht_tensor *x, double *values)
{
    const ht_order order = {r->what, false, false, HT_KEEP_ALL};
    ht_sorted sorted = {NULL, NULL};
    ht_tensor *host = NULL;

    if (ht__sort_local(&order, x, 1, 0, &sorted))
        host = ht__on_host(r->what, sorted.values, HT_FLOAT64);
    if (host == NULL)
        return ht_error_get(NULL);
    for (int64_t i = 0; i < x->body->shape[0] * r->targets; i++)
        values[i] = ((double *)ht__body_data(
            host->body))[i / r->targets * r->n + r->places[i % r->targets]];
    return HT_SUCCESS;
}
