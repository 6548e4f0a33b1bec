/* SPDX-License-Identifier: MIT
 *
 * Exchange of rows between all ranks, with a count for each pair. A blocking call first asks the
 * other ranks: one number from each rank to each other, and the agreement. Counts beyond int travel
 * as blocks. */

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/collective/call.h"

static HT_PRINTF(2, 3) void refuse(const ht_check *check, const char *format, ...);

/* Without counts a rank that must not wait could not even take part: it ends the job. */
static void refuse(const ht_check *check, const char *format, ...)
{
    char text[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (check->manner == HT_POSTED)
        HT_FAIL_HERE(check->comm, HT_ERR_ARGUMENT, "%s: %s", check->what, text);
    else
        ht__check_failed(check, HT_ERR_ARGUMENT, "%s", text);
}

static bool counts_right(const ht_check *check, const char *name, const int64_t counts[])
{
    if (counts == NULL) {
        refuse(check, "%s is NULL", name);
        return false;
    }
    for (int r = 0; r < check->comm->size; r++) {
        if (counts[r] < 0) {
            refuse(check, "%s[%d] is %" PRId64 ", expected at least 0 rows", name, r, counts[r]);
            return false;
        }
    }
    return true;
}

static bool has_rows(const ht_check *check, const char *name, const ht_tensor *x,
                     const int64_t counts[])
{
    int64_t rows = 0;

    for (int r = 0; r < check->comm->size; r++)
        rows += counts[r];
    if (x->body->ndim > 0 && x->body->lshape[0] == rows)
        return true;
    ht__check_failed(check, HT_ERR_SHAPE,
                     "the local part of %s is %s, but its counts add up to %" PRId64 " rows", name,
                     ht__shape_str(x->body->ndim, x->body->lshape), rows);
    return false;
}

static bool sides_right(const ht_check *check, const ht_tensor *send, const int64_t send_counts[],
                        const ht_tensor *recv, const int64_t recv_counts[])
{
    if (!ht__check_operand(check, "send", send) || !ht__check_operand(check, "recv", recv) ||
        !ht__check_pair(check, send, recv) || !has_rows(check, "send", send, send_counts) ||
        !has_rows(check, "recv", recv, recv_counts))
        return false;
    if (ht__same_shape(send->body->ndim - 1, send->body->lshape + 1, recv->body->ndim - 1,
                       recv->body->lshape + 1))
        return true;
    ht__check_failed(check, HT_ERR_SHAPE,
                     "send is %s and recv is %s, expected shapes that differ along axis 0 only",
                     ht__shape_str(send->body->ndim, send->body->lshape),
                     ht__shape_str(recv->body->ndim, recv->body->lshape));
    return false;
}

/* Elements of each rank's rows, and where they begin. */
static int64_t place(int size, const int64_t rows[], int64_t row, int64_t counts[],
                     int64_t starts[])
{
    int64_t total = 0;

    for (int r = 0; r < size; r++) {
        counts[r] = rows[r] * row;
        starts[r] = total;
        total += counts[r];
    }
    return total;
}

static ht_status post_small(ht_request *request, const int64_t *places)
{
    int size = request->comm->size;
    int *small = request->arrays = ht__alloc(sizeof *small * 4 * (size_t)size);
    MPI_Datatype type = ht__mpi_type(request->send.dtype);

    for (int i = 0; i < 4 * size; i++)
        small[i] = (int)places[i];
    return ht__mpi_check(request->comm,
                         MPI_Ialltoallv(request->send.data, small, small + size, type,
                                        request->recv.data, small + 2 * size, small + 3 * size,
                                        type, request->wire, ht__request_slots(request, 1)),
                         request->what);
}

static ht_status open_rows(ht_request *request, const ht_call *call, ht_tensor *send,
                           ht_tensor *recv)
{
    int size = request->comm->size;
    ht_status status = ht__buffer_open(request->what, &request->recv, recv, false, true);

    if (status == HT_SUCCESS)
        status = ht__buffer_open(request->what, &request->send, send, true, false);
    if (status == HT_SUCCESS)
        status = ht__buffer_detach(request->what, &request->send, &request->recv);
    if (status != HT_SUCCESS)
        return status;

    int64_t *places = ht__alloc(sizeof *places * 4 * (size_t)size);
    int64_t *received = places + 2 * size;
    int64_t out = place(size, call->counts, call->count, places, places + size);
    int64_t in = place(size, call->counts + size, call->count, received, received + size);

    if (out <= ht__count_limit() && in <= ht__count_limit())
        status = post_small(request, places);
    else
        status = ht__post_blocks(request, send->body->dtype, request->send.data, places,
                                 places + size, request->recv.data, received, received + size);
    ht__free(places);
    return status;
}

/* Whether what comes from each rank is what this one expects. One that has failed sends -1. */
static bool counts_meet(const ht_check *check, bool valid, const int64_t send_counts[],
                        const int64_t recv_counts[])
{
    ht_comm *comm = check->comm;
    int64_t *sent = ht__alloc(sizeof *sent * 2 * (size_t)comm->size), *come = sent + comm->size;
    int odd = 0;

    for (int r = 0; r < comm->size; r++)
        sent[r] = valid ? send_counts[r] : -1;

    bool asked = ht__comm_alltoall_i64(comm, sent, come, check->what) == HT_SUCCESS;

    while (asked && valid && odd < comm->size && (come[odd] < 0 || come[odd] == recv_counts[odd]))
        odd++;
    if (asked && valid && odd < comm->size)
        ht__check_failed(check, HT_ERR_SHAPE,
                         "rank %d sends %" PRId64 " rows to rank %d, which expects %" PRId64, odd,
                         come[odd], comm->rank, recv_counts[odd]);
    ht__free(sent);
    return asked && valid && odd == comm->size;
}

static ht_request *start(const ht_check *check, ht_tensor *send, const int64_t send_counts[],
                         ht_tensor *recv, const int64_t recv_counts[])
{
    int size = check->comm->size;
    bool counted = counts_right(check, "send_counts", send_counts) &&
                   counts_right(check, "recv_counts", recv_counts);
    bool valid = counted && sides_right(check, send, send_counts, recv, recv_counts);
    ht_call call = {.what = check->what, .sides = HT_SIDES_DEAL};

    if (!counted && check->manner == HT_POSTED)
        return NULL;
    if (check->manner == HT_AGREED)
        valid = counts_meet(check, valid, send_counts, recv_counts);
    if (valid) {
        call.dtype = send->body->dtype;
        call.count = 1;
        for (int i = 1; i < send->body->ndim; i++)
            call.count *= send->body->lshape[i];
    }

    int64_t *counts = ht__alloc(sizeof *counts * 2 * (size_t)size);

    for (int r = 0; counted && r < size; r++) {
        counts[r] = send_counts[r];
        counts[size + r] = recv_counts[r];
    }
    call.counts = counts;

    ht_request *request = ht__call_start(check, &call, valid, open_rows, send, recv);

    ht__free(counts);
    return request;
}

ht_status ht_alltoallv(ht_comm *comm, ht_tensor *send, const int64_t send_counts[], ht_tensor *recv,
                       const int64_t recv_counts[])
{
    const ht_check check = {"ht_alltoallv", comm, HT_AGREED};

    if (!ht__check_comm(check.what, comm))
        return ht_error_get(NULL);
    return ht__request_run(start(&check, send, send_counts, recv, recv_counts));
}

ht_request *ht_ialltoallv(ht_comm *comm, ht_tensor *send, const int64_t send_counts[],
                          ht_tensor *recv, const int64_t recv_counts[])
{
    const ht_check check = {"ht_ialltoallv", comm, HT_POSTED};

    return ht__check_comm(check.what, comm) ? start(&check, send, send_counts, recv, recv_counts)
                                            : NULL;
}
