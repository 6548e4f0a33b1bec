/* SPDX-License-Identifier: MIT
 *
 * Exchange of blocks between all ranks by MPI_Ialltoallw. Each block has a derived type with its
 * strides and place: nothing is packed, and counts and displacements need not fit an int. */

#include "core/collective/call.h"

/* One side of the call: the arrays MPI asks for, in one piece of memory. */
typedef struct side {
    int *counts; /* 1, or 0 for an empty block */
    int *starts; /* 0: types carry the place */
    MPI_Datatype *types;
} side;

static size_t side_bytes(int size)
{
    return (sizeof(MPI_Datatype) + 2 * sizeof(int)) * (size_t)size;
}

static side side_at(void *memory, int size)
{
    side s = {.types = memory};

    s.counts = (int *)(s.types + size);
    s.starts = s.counts + size;
    for (int r = 0; r < size; r++)
        s.types[r] = MPI_BYTE;
    return s;
}

/* Takes `block`, which is not committed, as what goes to or comes from `rank`. */
static void side_set(side *s, int rank, MPI_Datatype block, MPI_Aint bytes)
{
    MPI_Type_create_hindexed_block(1, 1, &bytes, block, &s->types[rank]);
    MPI_Type_commit(&s->types[rank]);
    MPI_Type_free(&block);
    s->counts[rank] = 1;
}

static void keep_types(ht_request *request, const side *sends, const side *recvs)
{
    for (int r = 0; r < request->comm->size; r++) {
        if (sends->counts[r] > 0)
            ht__request_keep_type(request, sends->types[r]);
        if (recvs->counts[r] > 0)
            ht__request_keep_type(request, recvs->types[r]);
    }
}

static ht_status post(ht_request *request, const void *send, side *sends, void *recv, side *recvs)
{
    keep_types(request, sends, recvs);
    return ht__mpi_check(request->comm,
                         MPI_Ialltoallw(send, sends->counts, sends->starts, sends->types, recv,
                                        recvs->counts, recvs->starts, recvs->types, request->wire,
                                        ht__request_slots(request, 1)),
                         request->what);
}

static void fill_flat(side *s, int size, ht_dtype dtype, const int64_t *counts,
                      const int64_t *starts)
{
    int64_t bytes = (int64_t)ht_dtype_size(dtype);

    for (int r = 0; counts != NULL && r < size; r++) {
        if (counts[r] > 0)
            side_set(s, r, ht__type_repeat(counts[r], bytes, ht__mpi_type(dtype)),
                     (MPI_Aint)(starts[r] * bytes));
    }
}

ht_status ht__post_blocks(ht_request *request, ht_dtype dtype, const void *send,
                          const int64_t *send_counts, const int64_t *send_starts, void *recv,
                          const int64_t *recv_counts, const int64_t *recv_starts)
{
    int size = request->comm->size;
    char *memory = ht__alloc(2 * side_bytes(size));
    side sends = side_at(memory, size), recvs = side_at(memory + side_bytes(size), size);

    ht__free(request->arrays);
    request->arrays = memory;
    fill_flat(&sends, size, dtype, send_counts, send_starts);
    fill_flat(&recvs, size, dtype, recv_counts, recv_starts);
    return post(request, send, &sends, recv, &recvs);
}

/* `length` indices of `axis` of a local part as a type (all of it where there is no such axis); its
 * elements in row-major order. Axes whose elements follow each other without a gap are described as
 * one. */
static MPI_Datatype slab_type(const ht_body *body, const int64_t stride[], int axis, int64_t length)
{
    int64_t size = (int64_t)ht_dtype_size(body->dtype), run = 1, step = 1;
    MPI_Datatype type;

    MPI_Type_dup(ht__mpi_type(body->dtype), &type);
    for (int i = body->ndim - 1; i >= -1; i--) {
        int64_t n = i < 0 ? 0 : i == axis ? length : body->lshape[i];

        if (n == 1)
            continue;
        if (run == 1 && n > 0) {
            run = n;
            step = stride[i];
            continue;
        }
        if (n > 0 && stride[i] == run * step) {
            run *= n;
            continue;
        }
        MPI_Datatype outer = ht__type_repeat(run, step * size, type);

        MPI_Type_free(&type);
        type = outer;
        run = n;
        step = i < 0 ? 1 : stride[i];
    }
    return type;
}

typedef struct span {
    int64_t start, length;
} span;

/* Edges may go up or down. */
static span block_between(int64_t edge, int64_t next)
{
    return next < edge ? (span){next, edge - next} : (span){edge, next - edge};
}

/* `but`: this rank's block is left out. */
static void fill_slabs(side *s, int size, const ht_body *body, const int64_t stride[], int axis,
                       const int64_t *start, int but)
{
    int64_t bytes = (int64_t)ht_dtype_size(body->dtype), others = 1;

    for (int i = 0; i < body->ndim; i++)
        others *= i == axis ? 1 : body->lshape[i];
    for (int r = 0; r < size; r++) {
        const span block = block_between(start[r], start[r + 1]);

        if (block.length > 0 && others > 0 && r != but)
            side_set(s, r, slab_type(body, stride, axis, block.length),
                     (MPI_Aint)(block.start * stride[axis] * bytes));
    }
}

static bool goes_backwards(const ht_body *body)
{
    for (int i = 0; i < body->ndim; i++) {
        if (body->stride[i] < 0 && body->lshape[i] > 1)
            return true;
    }
    return false;
}

/* MPI reads strided host memory as it is; other memory comes as a packed copy, and so does what
 * goes backwards: of single bytes Open MPI 4 takes others then. */
static ht_status open_side(const char *what, ht_buffer *buffer, ht_tensor *tensor, bool read,
                           int64_t stride[])
{
    const ht_body *body = tensor->body;
    int64_t packed = 1;

    for (int i = body->ndim - 1; i >= 0; i--) {
        stride[i] = packed;
        packed *= body->lshape[i];
    }
    if (!body->storage->device->backend->host_memory || goes_backwards(body))
        return ht__buffer_open(what, buffer, tensor, read, !read);
    *buffer = (ht_buffer){.tensor = ht_retain(tensor), .write = !read};
    buffer->dtype = body->dtype;
    buffer->count = body->lsize;
    buffer->data = body->lsize > 0 ? ht__body_data(body) : NULL;
    for (int i = 0; i < body->ndim; i++)
        stride[i] = body->stride[i];
    return HT_SUCCESS;
}

/* The indices of a local axis between two edges. */
static ht_body block_of(const ht_body *body, int axis, const int64_t edges[2])
{
    const span among = block_between(edges[0], edges[1]);
    ht_body block = *body;

    block.offset += among.start * body->stride[axis];
    block.lshape[axis] = among.length;
    block.lsize = among.length;
    for (int i = 0; i < body->ndim; i++)
        block.lsize *= i == axis ? 1 : body->lshape[i];
    return block;
}

ht_request *ht__comm_alltoall_axis(ht_comm *comm, ht_tensor *send, int send_axis,
                                   const int64_t *send_start, ht_tensor *recv, int recv_axis,
                                   const int64_t *recv_start, const char *what)
{
    int size = comm->size, rank = comm->rank, own = -1;
    int64_t send_stride[HT_MAX_NDIM], recv_stride[HT_MAX_NDIM];
    ht_request *request = ht__request_new(comm, what);
    char *memory = request->arrays = ht__alloc(2 * side_bytes(size));
    side sends = side_at(memory, size), recvs = side_at(memory + side_bytes(size), size);
    ht_status status;

    ht__begin(comm, (ht_call){.what = what, .dtype = send->body->dtype});
    status = open_side(what, &request->send, send, true, send_stride);

    if (status == HT_SUCCESS)
        status = open_side(what, &request->recv, recv, false, recv_stride);
    /* The block that stays needs no message, and is copied while others travel, unless what comes
     * is still to be brought to its place. */
    if (status == HT_SUCCESS && request->recv.packed == NULL && request->recv.host == NULL)
        own = rank;
    if (status == HT_SUCCESS) {
        fill_slabs(&sends, size, send->body, send_stride, send_axis, send_start, own);
        fill_slabs(&recvs, size, recv->body, recv_stride, recv_axis, recv_start, own);
        status = post(request, request->send.data, &sends, request->recv.data, &recvs);
    }
    if (status == HT_SUCCESS && own >= 0) {
        ht_body from = block_of(send->body, send_axis, &send_start[rank]);
        ht_body to = block_of(recv->body, recv_axis, &recv_start[rank]);

        status = ht__copy_local(what, &to, &from);
    }
    return ht__request_posted(request, status);
}

/* Where a tensor's elements lie in host memory. */
static bool meet(const ht_tensor *a, const ht_tensor *b)
{
    const ht_tensor *both[2] = {a, b};
    const char *from[2], *to[2];

    for (int i = 0; i < 2; i++) {
        const ht_body *body = both[i] != NULL ? both[i]->body : NULL;
        int64_t begin, end;

        if (body == NULL || body->lsize == 0 || !body->storage->device->backend->host_memory)
            return false;
        ht__body_extent(body, &begin, &end);
        from[i] = (const char *)ht__storage_raw(body->storage) + begin;
        to[i] = (const char *)ht__storage_raw(body->storage) + end;
    }
    return from[0] < to[1] && from[1] < to[0];
}

/* One block of its own; its place as a distance from `base`. */
static ht_status open_block(ht_request *request, ht_buffer *block, ht_tensor *tensor, bool read,
                            bool copied, side *s, int rank, const char *base)
{
    int64_t stride[HT_MAX_NDIM];
    ht_status status;

    if (tensor == NULL || tensor->body->lsize == 0)
        return HT_SUCCESS;
    if (copied)
        status = ht__buffer_open_copy(request->what, block, tensor);
    else
        status = open_side(request->what, block, tensor, read, stride);
    if (copied)
        ht__strides_row_major(tensor->body->ndim, tensor->body->lshape, stride);
    if (status != HT_SUCCESS)
        return status;

    MPI_Aint at, from;

    MPI_Get_address(block->data, &at);
    MPI_Get_address(base, &from);
    side_set(s, rank, slab_type(tensor->body, stride, tensor->body->ndim, 0), at - from);
    return HT_SUCCESS;
}

/* The bases are any two addresses: types carry the places. */
ht_status ht__post_tensors(ht_request *request, ht_tensor *send[], ht_tensor *recv[])
{
    int size = request->comm->size;
    char *memory = request->arrays = ht__alloc(2 * side_bytes(size));
    char *second = memory + side_bytes(size);
    side sends = side_at(memory, size), recvs = side_at(second, size);
    ht_status status = HT_SUCCESS;

    request->blocks = ht__alloc(sizeof *request->blocks * 2 * (size_t)size);
    request->block_count = 2 * size;
    for (int r = 0; r < size && status == HT_SUCCESS; r++)
        status = open_block(request, &request->blocks[size + r], recv[r], false, false, &recvs, r,
                            second);
    for (int r = 0; r < size && status == HT_SUCCESS; r++) {
        bool copied = false;

        for (int other = 0; other < size && !copied; other++)
            copied = meet(send[r], recv[other]);
        status = open_block(request, &request->blocks[r], send[r], true, copied, &sends, r, memory);
    }
    if (status == HT_SUCCESS)
        return post(request, memory, &sends, second, &recvs);
    keep_types(request, &sends, &recvs);
    return status;
}
