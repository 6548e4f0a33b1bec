/* SPDX-License-Identifier: MIT
 *
 * What every call of the communication layer asks of its arguments. */
#include "message.h"

bool ht__check_operand(ht_comm *comm, const char *what, const char *name, const ht_tensor *tensor)
{
    if (ht__alive(comm, what, "the communicator") == NULL) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: the communicator is NULL", what);
        return false;
    }
    if (ht__alive(tensor, what, name) != NULL)
        return true;
    /* The failure that made it NULL has been reported. */
    if (ht_error_get(NULL) == HT_SUCCESS)
        HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: %s is NULL", what, name);
    return false;
}

bool ht__check_writable(ht_comm *comm, const char *what, const ht_tensor *tensor)
{
    if (!tensor->body->read_only)
        return true;
    HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: the result is a broadcast view and cannot be written",
            what);
    return false;
}

bool ht__check_root(ht_comm *comm, const char *what, int root)
{
    if (root >= 0 && root < comm->size)
        return true;
    HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: root %d is no rank of a communicator of %d", what, root,
            comm->size);
    return false;
}

bool ht__check_pair(ht_comm *comm, const char *what, const ht_tensor *send, const ht_tensor *recv)
{
    if (send->body->dtype == recv->body->dtype)
        return ht__check_writable(comm, what, recv);
    HT_FAIL(comm, HT_ERR_DTYPE, "%s: send is %s, recv is %s", what,
            ht_dtype_name(send->body->dtype), ht_dtype_name(recv->body->dtype));
    return false;
}

bool ht__check_same_local(ht_comm *comm, const char *what, const ht_tensor *send,
                          const ht_tensor *recv)
{
    const ht_body *a = send->body, *b = recv->body;
    bool same = a->ndim == b->ndim;

    for (int i = 0; same && i < a->ndim; i++)
        same = a->lshape[i] == b->lshape[i];
    if (same)
        return true;
    HT_FAIL_HERE(comm, HT_ERR_SHAPE, "%s: the local part of send is %s, that of recv is %s", what,
                 ht__shape_str(a->ndim, a->lshape), ht__shape_str(b->ndim, b->lshape));
    return false;
}

bool ht__check_rows(ht_comm *comm, const char *what, const ht_tensor *part, const ht_tensor *whole)
{
    const ht_body *a = part->body, *b = whole->body;
    bool same = a->ndim == b->ndim && a->ndim > 0;

    for (int i = 1; same && i < a->ndim; i++)
        same = a->lshape[i] == b->lshape[i];
    if (same)
        return true;
    HT_FAIL_HERE(comm, HT_ERR_SHAPE, "%s: parts %s and whole %s may differ in dimension 0 only",
                 what, ht__shape_str(a->ndim, a->lshape), ht__shape_str(b->ndim, b->lshape));
    return false;
}
