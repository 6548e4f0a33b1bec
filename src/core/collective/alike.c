/* SPDX-License-Identifier: MIT
 *
 * The comparison of numbers with rank 0's. */
#include "core/collective/collective.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef char number_text[32];

static void write_number(number_text text, const ht_alike *row)
{
    if (row->kind == HT_ALIKE_WHOLE)
        snprintf(text, sizeof(number_text), "%" PRId64, row->value.whole);
    else if (row->kind == HT_ALIKE_UNSIGNED)
        snprintf(text, sizeof(number_text), "%" PRIu64, row->value.unsigned_whole);
    else
        snprintf(text, sizeof(number_text), "%g", row->value.real);
}

static bool is_equal(const ht_alike *a, const ht_alike *b)
{
    return a->kind == HT_ALIKE_REAL ? a->value.real == b->value.real
                                    : a->value.whole == b->value.whole;
}

static ht_status compare(const char *what, const ht_comm *comm, const ht_alike *mine, uint64_t bits)
{
    ht_alike first = *mine;
    number_text theirs, ours;

    memcpy(&first.value, &bits, sizeof bits);
    if (is_equal(&first, mine))
        return HT_SUCCESS;
    write_number(theirs, &first);
    write_number(ours, mine);
    return ht__error_set(HT_ERR_ARGUMENT,
                         "%s: %s is %s on rank 0 and %s on rank %d, expected the same on all ranks",
                         what, mine->name, theirs, ours, comm->rank);
}

ht_status ht__agree_alike(const char *what, ht_comm *comm, const ht_alike rows[], int count)
{
    uint64_t *first = ht__alloc((size_t)count * sizeof *first);
    ht_status status;

    for (int i = 0; i < count; i++)
        memcpy(&first[i], &rows[i].value, sizeof first[i]);
    status = ht__comm_bcast_bytes(comm, first, (size_t)count * sizeof *first, 0, what);
    for (int i = 0; i < count && status == HT_SUCCESS; i++)
        status = compare(what, comm, &rows[i], first[i]);
    ht__free(first);
    return ht__agree(what, comm, status);
}
