/* SPDX-License-Identifier: MIT
 *
 * A tensor from each rank to each other, of any shape, strides and dtype. It takes one
 * MPI_Ialltoallw with derived types, after the ranks have exchanged the dtypes and amounts that
 * they send. */

#include <inttypes.h>

#include "core/collective/call.h"

static bool side_right(const ht_check *check, const char *name, ht_tensor *const list[],
                       bool written)
{
    if (list == NULL) {
        ht__check_failed(check, HT_ERR_ARGUMENT, "%s is NULL", name);
        return false;
    }
    for (int r = 0; r < check->comm->size; r++) {
        if (list[r] != NULL && (!ht__check_operand(check, name, list[r]) ||
                                (written && !ht__check_writable(check, list[r]))))
            return false;
    }
    return true;
}

/* Elements and dtype as one number; 0: nothing. */
static int64_t amount(const ht_tensor *x)
{
    return x == NULL || x->body->lsize == 0
               ? 0
               : x->body->lsize * HT_DTYPE_COUNT + (int64_t)x->body->dtype;
}

static bool amount_expected(const ht_check *check, int from, int64_t come, const ht_tensor *recv)
{
    int64_t expected = amount(recv);

    if (come < 0 || come == expected)
        return true;
    ht__check_failed(
        check, come / HT_DTYPE_COUNT == expected / HT_DTYPE_COUNT ? HT_ERR_DTYPE : HT_ERR_SHAPE,
        "rank %d sends %" PRId64 " elements of %s to rank %d, which expects %" PRId64 " of %s",
        from, come / HT_DTYPE_COUNT, ht_dtype_name((ht_dtype)(come % HT_DTYPE_COUNT)),
        check->comm->rank, expected / HT_DTYPE_COUNT,
        ht_dtype_name((ht_dtype)(expected % HT_DTYPE_COUNT)));
    return false;
}

/* One that has failed sends -1. */
static bool sides_meet(const ht_check *check, bool valid, ht_tensor *const send[],
                       ht_tensor *const recv[])
{
    ht_comm *comm = check->comm;
    int64_t *sent = ht__alloc(sizeof *sent * 2 * (size_t)comm->size), *come = sent + comm->size;

    for (int r = 0; r < comm->size; r++)
        sent[r] = valid ? amount(send[r]) : -1;
    valid &= ht__comm_alltoall_i64(comm, sent, come, check->what) == HT_SUCCESS;
    for (int r = 0; r < comm->size && valid; r++)
        valid = amount_expected(check, r, come[r], recv[r]);
    ht__free(sent);
    return valid;
}

ht_status ht_alltoallw(ht_comm *comm, ht_tensor *send[], ht_tensor *recv[])
{
    const ht_check check = {"ht_alltoallw", comm, HT_AGREED};

    if (!ht__check_comm(check.what, comm))
        return ht_error_get(NULL);

    bool valid = side_right(&check, "send", send, false) && side_right(&check, "recv", recv, true);
    const ht_call call = {.what = check.what};

    valid = sides_meet(&check, valid, send, recv);
    if (!ht__call_begins(&check, &call, valid))
        return ht_error_get(NULL);

    ht_request *request = ht__request_new(comm, check.what);

    return ht__request_run(ht__request_posted(request, ht__post_tensors(request, send, recv)));
}
