/* SPDX-License-Identifier: MIT
 *
 * Agreement on failure: what one rank alone can see becomes known to all, before any of them starts
 * the next collective. */
#include "message.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* All ranks take the error of rank `from`. */
static ht_status take_error(ht_comm *comm, const char *what, int from, ht_status mine)
{
    struct {
        int code;
        char message[1020];
    } error = {.code = (int)mine};
    const char *text;

    ht__error_last(&text);
    snprintf(error.message, sizeof error.message, "%s", text);

    ht_status status = ht__comm_bcast_bytes(comm, &error, sizeof error, from, what);

    if (status != HT_SUCCESS)
        return status;
    return ht__error_set((ht_status)error.code, "%s", error.message);
}

ht_status ht__agree_failed(ht_comm *comm, const char *what, int from, ht_status mine)
{
    const char *message;

    if (comm->handler == HT_ERRORS_RETURN)
        return comm->size > 1 ? take_error(comm, what, from, mine) : mine;
    /* The ranks that failed print, each what it saw; the others wait for the end. */
    if (mine == HT_SUCCESS)
        ht__abort_wait();
    ht__error_last(&message);
    ht__abort(mine, message);
}

static ht_status agree(const char *what, ht_comm *comm, ht_status mine)
{
    int64_t lowest = mine == HT_SUCCESS ? comm->size : comm->rank;
    ht_status status = ht__comm_allreduce_i64(comm, &lowest, 1, HT_OP_MIN, what);

    if (status != HT_SUCCESS || lowest == comm->size)
        return status;
    return ht__agree_failed(comm, what, (int)lowest, mine);
}

ht_status ht__agree(ht_comm *comm, ht_status mine)
{
    return agree("agreement", comm, mine);
}

bool ht__agree_begin(void)
{
    return ht__error_hold(true);
}

ht_status ht__agree_end(const char *what, ht_comm *comm, bool begun, ht_status mine)
{
    ht__error_hold(begun);
    return agree(what, comm, mine);
}

/* What is compared, in this order; each travels with its negative, so that one maximum gives both
 * ends of what the ranks pass. */
enum { NAME, ROOT, REDUCTION, DTYPE, COUNT, FIELDS, FAILED = 2 * FIELDS, VALUES };

static const char *const calls[] = {"ht_bcast", "ht_reduce", "ht_allreduce",
                                    "ht_scan",  "ht_exscan", "ht_alltoall"};

static int64_t name_index(const char *what)
{
    int64_t index = 0;

    while (index < (int64_t)(sizeof calls / sizeof *calls) && strcmp(calls[index], what) != 0)
        index++;
    return index;
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

static ht_status differ(ht_comm *comm, const char *what, int field, int64_t low, int64_t high)
{
    static const ht_status codes[FIELDS] = {HT_ERR_STATE, HT_ERR_ARGUMENT, HT_ERR_ARGUMENT,
                                            HT_ERR_DTYPE, HT_ERR_SHAPE};
    static const char *const names[FIELDS] = {"call", "root", "reduction", "dtype",
                                              "number of elements"};
    char of_low[32], of_high[32];

    return HT_FAIL(comm, codes[field],
                   "%s: the %s is %s on one rank and %s on another, expected the same on all ranks "
                   "(HT_DEBUG_COLLECTIVE=1 names them)",
                   field == NAME ? "collective calls" : what, names[field],
                   field_text(field, low, of_low), field_text(field, high, of_high));
}

ht_status ht__agree_call(ht_comm *comm, const ht_call *call, ht_status mine)
{
    const int64_t fields[FIELDS] = {name_index(call->what), call->root, (int64_t)call->op,
                                    (int64_t)call->dtype, call->count};
    int64_t values[VALUES];
    ht_call record = *call;

    for (int i = 0; i < FIELDS; i++) {
        values[2 * i] = mine == HT_SUCCESS ? fields[i] : INT64_MIN;
        values[2 * i + 1] = mine == HT_SUCCESS ? -fields[i] : INT64_MIN;
    }
    values[FAILED] = mine == HT_SUCCESS ? 0 : comm->size - comm->rank;
    record.refused = mine != HT_SUCCESS;
    ht__begin(comm, record);

    ht_status status = ht__meta_max(comm, values, VALUES, call->what);

    if (status != HT_SUCCESS)
        return status;
    if (values[FAILED] > 0)
        return ht__agree_failed(comm, call->what, comm->size - (int)values[FAILED], mine);
    for (int i = 0; i < FIELDS; i++) {
        if (values[2 * i] != -values[2 * i + 1])
            return differ(comm, call->what, i, -values[2 * i + 1], values[2 * i]);
    }
    return HT_SUCCESS;
}
