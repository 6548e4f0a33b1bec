/* SPDX-License-Identifier: MIT
 *
 * The halves of an all-reduce. The steps of the plan forwards give each rank its part of the sum;
 * backwards they give each rank's part to all.
 *
 * Parts follow the order of the ranks, but the ranks whose data a step moves are not neighbours. So
 * a segment, or a slice in shared memory, is packed: it has a piece of each part, from the same
 * place in it. The pieces follow an order of ranks in which all data of any step are contiguous
 * (exchange->rank_at). Zeros fill up the pieces of short parts. */
#include "core/exchange/path.h"

#include <string.h>

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Rounded up; of positive numbers. */
static int64_t quotient(int64_t a, int64_t b)
{
    return (a - 1) / b + 1;
}

void ht__exchange_part(const ht_exchange *exchange, int64_t n, int rank, int64_t *begin,
                       int64_t *count)
{
    int64_t part = n > 0 ? quotient(n, exchange->size) : 0;

    *begin = least(rank * part, n);
    *count = least(part, n - *begin);
}

static void cut(const ht_exchange *exchange, ht_exchange_op *op, int64_t most_pieces)
{
    op->part = quotient(op->n, exchange->size);
    op->piece = quotient(op->part, most_pieces);
}

void ht__half_cut(const ht_exchange *exchange, ht_exchange_op *op, int64_t segment)
{
    cut(exchange, op, quotient(op->n, segment));
    op->segment = op->piece * exchange->size;
    op->segments = quotient(op->part, op->piece);
}

/* The room for a carrier's slices. */
static size_t room_for(const ht_exchange *exchange, const ht_exchange_op *op)
{
    return (size_t)(quotient(op->slices, exchange->carriers) * op->slice) * op->element;
}

void ht__half_cut_shared(const ht_exchange *exchange, ht_exchange_op *op, int64_t count)
{
    do {
        cut(exchange, op, exchange->carriers * count);
        op->slice = op->piece * exchange->size;
        op->slices = (int)quotient(op->part, op->piece);
        count /= 2;
    } while (count > 0 && room_for(exchange, op) > ht__block_room(exchange, op->block->bytes));
}

/* Elements of each part that it has. */
static int64_t width_of(const ht_exchange_op *op, int64_t number)
{
    return least(op->piece, op->part - number * op->piece);
}

int64_t ht__half_length(const ht_exchange *exchange, const ht_exchange_op *op, int64_t number)
{
    return width_of(op, number) * exchange->size;
}

/* The data of the caller that belong to it, from a rank's part. */
static range piece_of(const ht_exchange *exchange, const ht_exchange_op *op, int rank,
                      int64_t number)
{
    int64_t begin, count, skipped;

    ht__exchange_part(exchange, op->n, rank, &begin, &count);
    skipped = least(number * op->piece, count);
    begin += skipped;
    return (range){begin, begin + least(op->piece, count - skipped)};
}

static char *place_in(const ht_exchange_op *op, int64_t number, const char *packed, int place)
{
    return (char *)packed + (size_t)(place * width_of(op, number)) * op->element;
}

static void fill_up(const ht_exchange_op *op, int64_t number, char *to, range piece)
{
    int64_t n = piece.end - piece.begin;

    memset(to + (size_t)n * op->element, 0, (size_t)(width_of(op, number) - n) * op->element);
}

static void pack(const ht_exchange *exchange, const ht_exchange_op *op, int64_t number,
                 const char *data, char *packed, int place)
{
    range piece = piece_of(exchange, op, exchange->rank_at[place], number);
    char *to = place_in(op, number, packed, place);

    memcpy(to, data + (size_t)piece.begin * op->element,
           (size_t)(piece.end - piece.begin) * op->element);
    fill_up(op, number, to, piece);
}

void ht__half_pack(const ht_exchange *exchange, const ht_exchange_op *op, int64_t number,
                   char *packed)
{
    if (op->kind == OP_GATHER) {
        pack(exchange, op, number, op->data, packed, exchange->places[exchange->local]);
        return;
    }
    for (int place = 0; place < exchange->size; place++)
        pack(exchange, op, number, op->data, packed, place);
}

void ht__half_unpack(const ht_exchange *exchange, const ht_exchange_op *op, int64_t number,
                     const char *packed)
{
    for (int place = 0; place < exchange->size; place++) {
        int rank = exchange->rank_at[place];
        range piece = piece_of(exchange, op, rank, number);

        if ((rank == exchange->rank) == (op->kind == OP_SCATTER))
            memcpy(op->data + (size_t)piece.begin * op->element,
                   place_in(op, number, packed, place),
                   (size_t)(piece.end - piece.begin) * op->element);
    }
}

static void sum(const ht_exchange *exchange, const ht_exchange_op *op, int64_t number, char *packed,
                double scale)
{
    for (int place = 0; place < exchange->size; place++) {
        range piece = piece_of(exchange, op, exchange->rank_at[place], number);
        char *to = place_in(op, number, packed, place);

        ht__sum_tree(op->dtype, to, op->block->data, exchange->local_size, piece.begin,
                     piece.end - piece.begin, scale);
        fill_up(op, number, to, piece);
    }
}

void ht__half_collect(const ht_exchange *exchange, const ht_exchange_op *op, int64_t number,
                      char *packed, double scale)
{
    if (op->kind == OP_SCATTER) {
        sum(exchange, op, number, packed, scale);
        return;
    }
    for (int r = 0; r < exchange->local_size; r++)
        pack(exchange, op, number, op->block->data[r], packed, exchange->places[r]);
}
