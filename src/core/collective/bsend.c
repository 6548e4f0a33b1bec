/* SPDX-License-Identifier: MIT
 *
 * Buffered sends. The library copies each message to a separate buffer. This has no limit but
 * memory, and leaves the buffer of MPI_Buffer_attach to the program. The next buffered send frees
 * copies whose message has arrived; ht_finalize waits for the others, under HT_TIMEOUT. */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/collective/call.h"

typedef struct letter {
    struct letter *next;
    MPI_Request request;
    ht_message message;
    char data[];
} letter;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static letter *first;

static void letter_free(letter *it)
{
    ht__message_free(&it->message);
    free(it);
}

static void drop_delivered(void)
{
    letter **at = &first;

    while (*at != NULL) {
        letter *it = *at;
        int done = 0;

        ht__mpi_test(1, &it->request, &done);
        if (!done) {
            at = &it->next;
            continue;
        }
        *at = it->next;
        letter_free(it);
    }
}

static void wait_for_all(void)
{
    while (first != NULL) {
        letter *it = first;

        first = it->next;
        ht__wait_mpi(ht__comm_world_if_any(), 1, &it->request,
                     "ht_finalize, for messages of ht_bsend");
        letter_free(it);
    }
}

/* Contiguous elements come from wherever they are, others by a packed copy. */
static ht_status copy_elements(const char *what, ht_tensor *tensor, void *to)
{
    ht_buffer buffer;

    if (tensor->body->lsize == 0)
        return HT_SUCCESS;
    if (ht__body_is_contiguous(tensor->body))
        return ht__get_local(what, tensor->body, to);

    ht_status status = ht__buffer_open(what, &buffer, tensor, true, false);

    if (status == HT_SUCCESS)
        memcpy(to, buffer.data, (size_t)buffer.count * ht_dtype_size(buffer.dtype));
    ht__buffer_close(what, &buffer, false);
    return status;
}

static ht_status post(const char *what, ht_comm *comm, letter *it, const ht_body *body, int dest,
                      int tag)
{
    int result;

    it->message = ht__message(body->lsize, body->dtype);
    pthread_mutex_lock(&lock);
    ht__at_finalize(wait_for_all);
    drop_delivered();
    result = MPI_Isend(it->data, it->message.count, it->message.type, dest, tag, comm->mpi,
                       &it->request);
    if (result == MPI_SUCCESS) {
        it->next = first;
        first = it;
    }
    pthread_mutex_unlock(&lock);
    if (result != MPI_SUCCESS)
        letter_free(it);
    return ht__mpi_check(comm, result, what);
}

ht_status ht__bsend(const char *what, ht_comm *comm, ht_tensor *buffer, int dest, int tag)
{
    size_t bytes = (size_t)buffer->body->lsize * ht_dtype_size(buffer->body->dtype);
    letter *it = ht__alloc_should_fail() ? NULL : malloc(sizeof *it + bytes);

    if (it == NULL)
        return HT_FAIL_HERE(comm, HT_ERR_MEMORY, "%s: out of memory: %zu bytes for a copy", what,
                            bytes);

    ht_status status = copy_elements(what, buffer, it->data);

    if (status != HT_SUCCESS) {
        free(it);
        return status;
    }
    return post(what, comm, it, buffer->body, dest, tag);
}
