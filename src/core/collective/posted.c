/* SPDX-License-Identifier: MIT
 *
 * Collective calls that do not wait, and so cannot ask the other ranks before they send. A
 * description of a rank's operand travels with the elements, in a header. Its maximum over all
 * ranks tells each rank in its wait whether one of them had no operand, and whether the operands
 * fit together.
 *
 * A rank without an operand still has to take part in the MPI operation; otherwise the other ranks
 * would meet a later one. The header names that operation. It takes part with made-up elements, and
 * sends the others the reason, which becomes the status of the call on all ranks.
 *
 * The operations have a separate communicator, on which they follow each other in the order of the
 * calls. While one waits for its header, those after it wait, too; on that rank alone. */

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/collective/call.h"

struct reason {
    int code;
    char message[1020];
};

struct ht_posted {
    ht_call call; /* what this rank brings, then what the others do */
    ht_start_fn *start;
    ht_tensor *send, *recv; /* retained while the operation is held back; NULL: nothing to bring */
    ht_header header;
    MPI_Request header_request;
    bool heard;   /* the header is over */
    bool held;    /* the operation is to be posted yet */
    bool refused; /* this rank has nothing to bring */
    bool failed;  /* a rank has */
    int tag;
    int64_t *counts;       /* owned; the call's */
    struct reason *reason; /* owned; of this rank, then of the lowest that failed. NULL: none */
    MPI_Request *letters;  /* owned; the reason on its way */
    int letter_count;
    ht_request *next; /* held back after this one; not owned: it is awaited before it ends */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ht_request *first_held;

bool ht__posted_tells(const ht_comm *comm)
{
    return comm->size > 1 && comm->handler == HT_ERRORS_RETURN;
}

static struct reason *my_reason(void)
{
    struct reason *reason = ht__alloc(sizeof *reason);
    const char *message;

    reason->code = (int)ht__error_last(&message);
    snprintf(reason->message, sizeof reason->message, "%s", message);
    return reason;
}

/* From the lowest rank that failed to all others. */
static ht_status tell(ht_request *request, int from)
{
    struct ht_posted *posted = request->posted;
    ht_comm *comm = request->comm;
    int result = MPI_SUCCESS;

    if (posted->reason == NULL)
        posted->reason = ht__alloc(sizeof *posted->reason);
    posted->letters = ht__alloc(sizeof *posted->letters * (size_t)comm->size);
    if (comm->rank != from) {
        posted->letter_count = 1;
        result = MPI_Irecv(posted->reason, sizeof *posted->reason, MPI_BYTE, from, posted->tag,
                           request->wire, posted->letters);
    }
    for (int r = 0; comm->rank == from && result == MPI_SUCCESS && r < comm->size; r++) {
        if (r != from)
            result = MPI_Isend(posted->reason, sizeof *posted->reason, MPI_BYTE, r, posted->tag,
                               request->wire, &posted->letters[posted->letter_count++]);
    }
    return ht__mpi_check(comm, result, request->what);
}

/* The header is over: all ranks know the same. */
static ht_status learn(ht_request *request)
{
    struct ht_posted *posted = request->posted;
    ht_comm *comm = request->comm;
    int from = ht__header_failed(comm, &posted->header);
    bool any = ht__header_call(&posted->header, &posted->call);
    const char *message;
    ht_status status = any ? ht__header_compare(request->what, &posted->header) : HT_SUCCESS;

    posted->heard = true;
    if (status != HT_SUCCESS) { /* operations that do not fit together have begun, and cannot end */
        if (ht__compare_on)
            ht__compare_settle();
        ht__error_last(&message);
        return HT_FAIL_HERE(comm, status, "%s", message);
    }
    posted->held &= any;
    posted->failed = from < comm->size;
    if (!posted->failed)
        return HT_SUCCESS;
    if (comm->handler == HT_ERRORS_ABORT)
        return ht__agree_failed(comm, request->what, from,
                                posted->refused ? (ht_status)posted->reason->code : HT_SUCCESS);
    return tell(request, from);
}

static ht_status listen(ht_request *request)
{
    struct ht_posted *posted = request->posted;
    int done = 0, result;

    if (posted->heard)
        return HT_SUCCESS;
    result = ht__mpi_test(1, &posted->header_request, &done);
    if (!done && result == MPI_SUCCESS)
        return HT_SUCCESS;

    ht_status status = ht__mpi_check(request->comm, result, request->what);

    return status == HT_SUCCESS ? learn(request) : status;
}

static ht_tensor *blank(const char *what, ht_dtype dtype, int64_t rows, int64_t columns)
{
    ht_body *body = ht__body_new(what, ht_comm_self(), ht__device_cpu(), dtype,
                                 HT_SHAPE(rows, columns), HT_NONE, NULL);

    if (body != NULL && body->lsize > 0)
        memset(ht__body_data(body), 0, (size_t)body->lsize * ht_dtype_size(dtype));
    return ht__tensor_new(body);
}

static int64_t sum_of(const int64_t *counts, int size)
{
    int64_t sum = 0;

    for (int r = 0; r < size; r++)
        sum += counts[r];
    return sum;
}

/* Rows that are sent and received, -1 for nothing; returns the elements of one. */
static int64_t blank_rows(const ht_comm *comm, const ht_call *call, int64_t *sent,
                          int64_t *received)
{
    bool has_whole = call->sides == HT_SIDES_ALLGATHER || comm->rank == call->root;
    int64_t part, whole = has_whole ? call->rows : -1;

    if (call->sides == HT_SIDES_DEAL) {
        *sent = sum_of(call->counts, comm->size);
        *received = sum_of(call->counts + comm->size, comm->size);
        return call->count;
    }
    if (call->counts != NULL)
        part = call->counts[comm->rank];
    else
        ht_comm_chunk(comm, call->rows, comm->rank, NULL, &part);
    *sent = call->sides == HT_SIDES_SCATTER ? whole : part;
    *received = call->sides == HT_SIDES_SCATTER ? part : whole;
    return call->rows > 0 ? call->count / call->rows : 1;
}

/* The operation of the others, with zeros. */
static ht_status start_blank(ht_request *request)
{
    const ht_call *call = &request->posted->call;
    int64_t sent = call->count, received = call->count, columns = 1;
    ht_scope *scope = ht_scope_open();
    ht_tensor *send = NULL, *recv = NULL;
    ht_status status = HT_ERR_MEMORY;

    ht__compare_pause(1);
    if (call->sides != HT_SIDES_ALIKE)
        columns = blank_rows(request->comm, call, &sent, &received);
    if (sent >= 0)
        send = blank(request->what, call->dtype, sent, columns);
    if (call->sides == HT_SIDES_ALIKE)
        recv = send;
    else if (received >= 0)
        recv = blank(request->what, call->dtype, received, columns);
    if ((send != NULL || sent < 0) && (recv != NULL || received < 0))
        status = request->posted->start(request, call, send, recv);

    ht__compare_pause(-1);
    ht_scope_close(scope);
    return status;
}

static ht_status start_held(ht_request *request)
{
    struct ht_posted *posted = request->posted;
    ht_comm *outer = ht__together(request->comm);
    ht_status status = posted->refused
                           ? start_blank(request)
                           : posted->start(request, &posted->call, posted->send, posted->recv);

    ht__together_end(outer);
    posted->held = false;
    return status;
}

static ht_request **place_of(const ht_comm *comm)
{
    ht_request **at = &first_held;

    while (*at != NULL && (*at)->comm != comm)
        at = &(*at)->posted->next;
    return at;
}

/* The first of each communicator, and what it kept from being first. */
static void move(void)
{
    ht_request **at = &first_held;

    while (*at != NULL) {
        ht_request *request = *at;
        struct ht_posted *posted = request->posted;

        if (place_of(request->comm) == at) {
            if (posted->refused)
                listen(request);
            if (!posted->refused || (posted->heard && posted->held))
                start_held(request);
        }
        if (posted->held) {
            at = &posted->next;
            continue;
        }
        *at = posted->next;
        atomic_fetch_sub_explicit(&ht__held_back, 1, memory_order_relaxed);
    }
}

static void move_any(void)
{
    if (pthread_mutex_trylock(&lock) != 0)
        return;
    move();
    pthread_mutex_unlock(&lock);
}

bool ht__posted_ready(ht_request *request)
{
    struct ht_posted *posted = request->posted;
    int done = 1;

    pthread_mutex_lock(&lock);
    listen(request);
    move();
    if (posted->letter_count > 0)
        ht__mpi_test(posted->letter_count, posted->letters, &done);
    pthread_mutex_unlock(&lock);
    return posted->heard && !posted->held && done;
}

ht_status ht__posted_end(ht_request *request, ht_status status)
{
    struct ht_posted *posted = request->posted;

    if (posted->failed && status == HT_SUCCESS)
        status = ht__error_set((ht_status)posted->reason->code, "%s", posted->reason->message);
    ht_release(posted->send);
    ht_release(posted->recv);
    ht__free(posted->counts);
    ht__free(posted->reason);
    ht__free(posted->letters);
    ht__free(posted);
    request->posted = NULL;
    return status;
}

static struct ht_posted *posted_new(ht_comm *comm, const ht_call *call, bool valid)
{
    enum { TAGS = 1 << 15 };
    struct ht_posted *posted = ht__alloc(sizeof *posted);

    posted->call = *call;
    if (call->counts != NULL) {
        size_t lists = call->sides == HT_SIDES_DEAL ? 2 : 1;
        size_t bytes = sizeof *call->counts * lists * (size_t)comm->size;

        posted->call.counts = posted->counts = memcpy(ht__alloc(bytes), call->counts, bytes);
    }
    posted->refused = !valid;
    posted->reason = valid ? NULL : my_reason();
    posted->header = ht__header(comm, call, valid ? HT_SUCCESS : (ht_status)posted->reason->code);
    posted->tag = (int)(comm->posted++ % TAGS);
    return posted;
}

/* The operation is posted now, unless an earlier one has to come first. */
static ht_status start_in_order(ht_request *request, ht_tensor *send, ht_tensor *recv)
{
    struct ht_posted *posted = request->posted;
    ht_request **last = &first_held;

    pthread_mutex_lock(&lock);
    posted->held = posted->refused || *place_of(request->comm) != NULL;
    if (posted->held) {
        while (*last != NULL)
            last = &(*last)->posted->next;
        *last = request;
        posted->send = ht_retain(send);
        posted->recv = ht_retain(recv);
        atomic_fetch_add_explicit(&ht__held_back, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&lock);
    return posted->held ? HT_SUCCESS : posted->start(request, &posted->call, send, recv);
}

ht_status ht__posted_begin(ht_request *request, const ht_call *call, bool valid, ht_start_fn *start,
                           ht_tensor *send, ht_tensor *recv)
{
    ht_comm *comm = request->comm;
    struct ht_posted *posted = request->posted = posted_new(comm, call, valid);

    request->wire = comm->purpose[HT_PURPOSE_POSTED];
    posted->start = start;

    int result = MPI_Iallreduce(MPI_IN_PLACE, posted->header.value, HT_HEADER_VALUES, MPI_INT64_T,
                                MPI_MAX, comm->mpi, &posted->header_request);
    ht_status status = ht__mpi_check(comm, result, request->what);

    return status == HT_SUCCESS ? start_in_order(request, send, recv) : status;
}

void ht__posted_start(void)
{
    ht__post_held_back = move_any;
}
