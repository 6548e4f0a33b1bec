/* SPDX-License-Identifier: MIT
 *
 * The header of a collective call: its arguments as numbers, of which the ranks take the largest.
 * The result tells all ranks whether one of them failed, and whether their arguments are equal. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/comm/mpi.h"

/* In the order in which they are compared. Each travels with its negative, so that one maximum
 * gives both ends of what the ranks pass; a rank that failed passes less than any. */
enum { NAME, ROOT, REDUCTION, DTYPE, COUNT, ROWS, COUNTS, FIELDS, FAILED = 2 * FIELDS };

_Static_assert(FAILED + 1 == HT_HEADER_VALUES, "a header holds all fields");

static const char *const calls[] = {
    "ht_bcast",     "ht_reduce",     "ht_allreduce",   "ht_scan",    "ht_exscan",     "ht_alltoall",
    "ht_alltoallv", "ht_alltoallw",  "ht_ibcast",      "ht_ireduce", "ht_iallreduce", "ht_iscan",
    "ht_iexscan",   "ht_iallgather", "ht_iallgatherv", "ht_igather", "ht_igatherv",   "ht_iscatter",
    "ht_iscatterv", "ht_ialltoall",  "ht_ialltoallv"};

static int64_t name_index(const char *what)
{
    int64_t index = 0;

    while (index < (int64_t)(sizeof calls / sizeof *calls) && strcmp(calls[index], what) != 0)
        index++;
    return index;
}

int64_t ht__call_key(const ht_comm *comm, const ht_call *call)
{
    uint64_t key = 0;

    if (call->counts == NULL || call->sides == HT_SIDES_DEAL)
        return 0;
    for (int r = 0; r < comm->size; r++)
        key = (key ^ (uint64_t)call->counts[r]) * 0x9e3779b97f4a7c15u;
    return (int64_t)(key >> 1); /* has a negative */
}

ht_header ht__header(const ht_comm *comm, const ht_call *call, ht_status mine)
{
    const int64_t fields[FIELDS] = {name_index(call->what),  call->root,  (int64_t)call->op,
                                    (int64_t)call->dtype,    call->count, call->rows,
                                    ht__call_key(comm, call)};
    ht_header header;

    for (int i = 0; i < FIELDS; i++) {
        header.value[2 * i] = mine == HT_SUCCESS ? fields[i] : INT64_MIN;
        header.value[2 * i + 1] = mine == HT_SUCCESS ? -fields[i] : INT64_MIN;
    }
    header.value[FAILED] = mine == HT_SUCCESS ? 0 : comm->size - comm->rank;
    return header;
}

int ht__header_failed(const ht_comm *comm, const ht_header *header)
{
    return comm->size - (int)header->value[FAILED];
}

bool ht__header_call(const ht_header *header, ht_call *call)
{
    if (header->value[2 * NAME] == INT64_MIN)
        return false;
    call->root = (int)header->value[2 * ROOT];
    call->op = (ht_reduce_op)header->value[2 * REDUCTION];
    call->dtype = (ht_dtype)header->value[2 * DTYPE];
    call->count = header->value[2 * COUNT];
    call->rows = header->value[2 * ROWS];
    return true;
}

static const char *field_text(int field, int64_t value, char text[32])
{
    switch (field) {
    case NAME:
        return value < (int64_t)(sizeof calls / sizeof *calls) ? calls[value] : "another call";
    case REDUCTION:
        return ht__op_name((ht_reduce_op)value);
    case DTYPE:
        return ht_dtype_name((ht_dtype)value);
    default:
        snprintf(text, 32, "%" PRId64, value);
        return text;
    }
}

static ht_status differ(const char *what, int field, int64_t low, int64_t high)
{
    static const ht_status codes[FIELDS] = {HT_ERR_STATE, HT_ERR_ARGUMENT, HT_ERR_ARGUMENT,
                                            HT_ERR_DTYPE, HT_ERR_SHAPE,    HT_ERR_SHAPE,
                                            HT_ERR_SHAPE};
    static const char *const names[FIELDS] = {
        "the call",           "root",  "op", "the dtype", "the number of elements",
        "the number of rows", "counts"};
    char of_low[32], of_high[32];

    if (field == COUNTS)
        return ht__error_set(codes[field],
                             "%s: the counts of rows differ between ranks, expected the same on "
                             "all ranks (HT_DEBUG_COLLECTIVE=1 names them)",
                             what);

    return ht__error_set(codes[field],
                         "%s: %s is %s on one rank and %s on another, expected the same on all "
                         "ranks (HT_DEBUG_COLLECTIVE=1 names them)",
                         field == NAME ? "collective calls" : what, names[field],
                         field_text(field, low, of_low), field_text(field, high, of_high));
}

ht_status ht__header_compare(const char *what, const ht_header *header)
{
    for (int i = 0; i < FIELDS; i++) {
        int64_t high = header->value[2 * i], low = -header->value[2 * i + 1];

        if (high != low)
            return differ(what, i, low, high);
    }
    return HT_SUCCESS;
}
