/* SPDX-License-Identifier: MIT
 *
 * The calls of nccl.h by NCCL, which is loaded when ranks are first linked: a machine without it
 * has the module all the same. */
#include "backends/cuda/library/nccl.h"

#include <pthread.h>
#include <stdio.h>

#if __has_include(<nccl.h>)
#include <nccl.h>
#endif

#if defined NCCL_VERSION_CODE && NCCL_VERSION_CODE >= NCCL_VERSION(2, 7, 0) /* has ncclSend */
#include <string.h>

#include "backends/cuda/library/library.h"

_Static_assert(sizeof(ncclUniqueId) == HT_LINK_ID, "an id of NCCL is an id of a link");

/* clang-format off */
#define FUNCTIONS(X) \
    X(GetVersion) X(GetErrorString) X(GetUniqueId) X(CommInitRank) X(CommDestroy) X(CommAbort) \
    X(CommGetAsyncError) X(GroupStart) X(GroupEnd) X(Send) X(Recv)
/* clang-format on */

static struct nccl {
#define FIELD(name) __typeof__(nccl##name) *name;
    FUNCTIONS(FIELD)
#undef FIELD
} nccl;

static const char *const files[] = {"libnccl.so." HT_CUDA_TEXT_OF(NCCL_MAJOR), NULL};

static const ht_cuda_symbol symbols[] = {
#define ROW(name) {"nccl" #name, offsetof(struct nccl, name)},
    FUNCTIONS(ROW)
#undef ROW
        {NULL, 0}};

bool ht_cuda_nccl_load(int *version, char *missing)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
    static bool tried, found;
    static char why[HT_CUDA_NCCL_ROOM];

    pthread_mutex_lock(&mutex);
    if (!tried)
        found = ht_cuda_library_load(files, symbols, &nccl, why, sizeof why);
    tried = true;
    pthread_mutex_unlock(&mutex);
    snprintf(missing, HT_CUDA_NCCL_ROOM, "%s", why);
    return found && nccl.GetVersion(version) == ncclSuccess;
}

const char *ht_cuda_nccl_text(int error)
{
    return nccl.GetErrorString((ncclResult_t)error);
}

int ht_cuda_nccl_id(unsigned char id[HT_LINK_ID])
{
    return (int)nccl.GetUniqueId((ncclUniqueId *)(void *)id);
}

int ht_cuda_nccl_join(void **comm, const unsigned char id[HT_LINK_ID], int rank, int size)
{
    ncclUniqueId unique;

    memcpy(&unique, id, sizeof unique);
    return (int)nccl.CommInitRank((ncclComm_t *)comm, size, unique, rank);
}

int ht_cuda_nccl_begin(void)
{
    return (int)nccl.GroupStart();
}

int ht_cuda_nccl_send(void *comm, const void *data, size_t bytes, int to, void *stream)
{
    return (int)nccl.Send(data, bytes, ncclInt8, to, comm, stream);
}

int ht_cuda_nccl_receive(void *comm, void *data, size_t bytes, int from, void *stream)
{
    return (int)nccl.Recv(data, bytes, ncclInt8, from, comm, stream);
}

int ht_cuda_nccl_end(void)
{
    return (int)nccl.GroupEnd();
}

int ht_cuda_nccl_error(void *comm)
{
    ncclResult_t state = ncclSuccess;
    const ncclResult_t error = nccl.CommGetAsyncError(comm, &state);

    return (int)(error != ncclSuccess ? error : state);
}

void ht_cuda_nccl_free(void *comm, bool aborts)
{
    if (aborts)
        nccl.CommAbort(comm);
    else
        nccl.CommDestroy(comm);
}
#else
bool ht_cuda_nccl_load(int *version, char *missing)
{
    *version = 0;
    snprintf(missing, HT_CUDA_NCCL_ROOM, "the module was built without nccl.h");
    return false;
}

const char *ht_cuda_nccl_text(int error)
{
    (void)error;
    return "there is no NCCL";
}

int ht_cuda_nccl_id(unsigned char id[HT_LINK_ID])
{
    (void)id;
    return 1;
}

int ht_cuda_nccl_join(void **comm, const unsigned char id[HT_LINK_ID], int rank, int size)
{
    (void)comm;
    (void)id;
    (void)rank;
    (void)size;
    return 1;
}

int ht_cuda_nccl_begin(void)
{
    return 1;
}

int ht_cuda_nccl_send(void *comm, const void *data, size_t bytes, int to, void *stream)
{
    (void)comm;
    (void)data;
    (void)bytes;
    (void)to;
    (void)stream;
    return 1;
}

int ht_cuda_nccl_receive(void *comm, void *data, size_t bytes, int from, void *stream)
{
    (void)comm;
    (void)data;
    (void)bytes;
    (void)from;
    (void)stream;
    return 1;
}

int ht_cuda_nccl_end(void)
{
    return 1;
}

int ht_cuda_nccl_error(void *comm)
{
    (void)comm;
    return 0;
}

void ht_cuda_nccl_free(void *comm, bool aborts)
{
    (void)comm;
    (void)aborts;
}
#endif
