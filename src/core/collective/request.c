/* SPDX-License-Identifier: MIT
 *
 * Requests: communication under way, with the tensors and packed copies that it needs until its
 * end. */
#include "core/collective/call.h"
#include "core/timeline/timeline.h"

static ht_status complete(ht_request *request, ht_status status)
{
    if (request->posted != NULL)
        status = ht__posted_end(request, status);

    ht_comm *outer = ht__together(request->comm);
    ht_status sent = ht__buffer_close(request->what, &request->send, false);
    ht_status received = ht__buffer_close(request->what, &request->recv, status == HT_SUCCESS);

    for (int i = 0; i < request->block_count; i++) {
        ht_status closed = ht__buffer_close(request->what, &request->blocks[i],
                                            status == HT_SUCCESS);

        received = received == HT_SUCCESS ? closed : received;
    }
    ht__together_end(outer);
    if (status == HT_SUCCESS)
        status = sent != HT_SUCCESS ? sent : received;
    for (int i = 0; i < request->type_count; i++)
        MPI_Type_free(&request->types[i]);
    ht__free(request->types);
    ht__free(request->mpi);
    ht__free(request->arrays);
    ht__free(request->blocks);
    request->types = NULL;
    request->type_count = 0;
    request->mpi = NULL;
    request->arrays = NULL;
    request->blocks = NULL;
    request->block_count = 0;
    request->count = 0;
    request->done = true;
    request->status = status;
    return status;
}

static ht_poll is_ready(void *request)
{
    return ht__posted_ready(request) ? HT_POLL_DONE : HT_POLL_IDLE;
}

static ht_status finish(ht_request *request)
{
    ht_status status = HT_SUCCESS;

    if (request->done)
        return request->status;
    if (request->posted != NULL) {
        int span = ht__span_begin(HT_SPAN_WAIT, request->what, NULL);

        status = ht__wait_until(request->comm, is_ready, request, request->what);
        ht__span_end(span);
    }
    if (status == HT_SUCCESS)
        status = ht__wait_mpi(request->comm, request->count, request->mpi, request->what);
    return complete(request, status);
}

static void request_destroy(void *object)
{
    ht_request *request = object;

    finish(request);
    ht_release(request->comm);
    ht__object_fini(request);
    ht__free(request);
}

static ht_kind request_kind = {.name = "request", .destroy = request_destroy};

ht_request *ht__request_new(ht_comm *comm, const char *what)
{
    ht_request *request = ht__alloc(sizeof *request);

    ht__object_init(request, &request_kind);
    request->comm = ht_retain(comm);
    request->outer = ht__together(comm);
    request->wire = comm->mpi;
    request->what = what;
    return request;
}

MPI_Request *ht__request_slots(ht_request *request, int count)
{
    request->mpi = ht__alloc(sizeof *request->mpi * (size_t)count);
    for (int i = 0; i < count; i++)
        request->mpi[i] = MPI_REQUEST_NULL;
    request->count = count;
    return request->mpi;
}

void ht__request_keep_type(ht_request *request, MPI_Datatype type)
{
    int count = request->type_count++;

    if ((count & (count - 1)) == 0) /* 0, 1, 2, 4, ...: time to grow */
        request->types = ht__realloc(request->types,
                                     sizeof *request->types * 2 * (size_t)(count + 1));
    request->types[count] = type;
}

ht_message ht__request_message(ht_request *request, int64_t count, ht_dtype dtype)
{
    ht_message message = ht__message(count, dtype);

    if (message.derived)
        ht__request_keep_type(request, message.type);
    return message;
}

ht_request *ht__request_posted(ht_request *request, ht_status status)
{
    ht__together_end(request->outer);
    if (status == HT_SUCCESS)
        return request;
    complete(request, status);
    ht_release(request);
    return NULL;
}

ht_status ht_wait(ht_request **request)
{
    if (request == NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "ht_wait: request is NULL");
    if (*request == NULL)
        return ht_error_get(NULL);

    ht_status status = finish(*request);

    ht_release(*request);
    *request = NULL;
    return status;
}

ht_status ht_test(ht_request *request, bool *done)
{
    int flag = 0;

    if (done == NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "ht_test: done is NULL");
    *done = true;
    if (request == NULL)
        return ht_error_get(NULL);
    if (request->done)
        return request->status;

    *done = request->posted == NULL || ht__posted_ready(request);
    if (!*done)
        return HT_SUCCESS;

    int result = ht__mpi_test(request->count, request->mpi, &flag);

    *done = flag || result != MPI_SUCCESS;
    if (!*done)
        return HT_SUCCESS;
    return complete(request, ht__mpi_check(request->comm, result, request->what));
}

ht_status ht_wait_all(int count, ht_request *requests[])
{
    ht_status first = HT_SUCCESS;

    if (count > 0 && HT_IS_NULL(requests, "ht_wait_all", "requests"))
        return ht_error_get(NULL);
    for (int i = 0; i < count; i++) {
        ht_status status = ht_wait(&requests[i]);

        if (first == HT_SUCCESS)
            first = status;
    }
    return first;
}

ht_status ht__request_run(ht_request *request)
{
    return request != NULL ? ht_wait(&request) : ht_error_get(NULL);
}
