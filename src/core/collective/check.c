/* SPDX-License-Identifier: MIT
 *
 * Checks of arguments that all calls of the communication layer share. */

#include <stdarg.h>
#include <stdio.h>

#include "core/collective/call.h"
#include "core/tensor/graph.h"

ht_status ht__check_failed(const ht_check *check, ht_status code, const char *format, ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (check->manner == HT_AGREED || (check->manner == HT_POSTED && ht__posted_tells(check->comm)))
        return ht__error_set(code, "%s: %s", check->what, text);
    if (check->manner == HT_POSTED)
        return HT_FAIL_HERE(check->comm, code, "%s: %s", check->what, text);
    return HT_FAIL(check->comm, code, "%s: %s", check->what, text);
}

bool ht__check_operand(const ht_check *check, const char *name, const ht_tensor *tensor)
{
    if (ht__alive(tensor, check->what, name) != NULL)
        return true;
    /* The failure that made it NULL has been reported. */
    if (ht_error_get(NULL) == HT_SUCCESS)
        ht__check_failed(check, HT_ERR_ARGUMENT, "%s is NULL", name);
    return false;
}

bool ht__check_writable(const ht_check *check, const ht_tensor *tensor)
{
    if (tensor->body->read_only) {
        ht__check_failed(check, HT_ERR_ARGUMENT,
                         "the result is %s, expected a tensor that can be written",
                         ht__read_only_name(tensor->body));
        return false;
    }
    if (!ht_is_grad_enabled() || !ht__has_history(tensor))
        return true;
    ht__check_failed(check, HT_ERR_STATE,
                     "the result was made by a recorded operation, but values from other ranks "
                     "have no gradient; write to another tensor, or with gradients off "
                     "(ht_set_grad_enabled)");
    return false;
}

bool ht__check_root(const ht_check *check, int root)
{
    if (root >= 0 && root < check->comm->size)
        return true;
    ht__check_failed(check, HT_ERR_ARGUMENT, "root is %s, expected a rank of a communicator of %d",
                     ht__int_str(root), check->comm->size);
    return false;
}

bool ht__check_operation(const ht_check *check, ht_reduce_op op, ht_dtype dtype)
{
    if ((unsigned)op > HT_OP_OR) {
        ht__check_failed(check, HT_ERR_ARGUMENT, "op is %d, expected an ht_reduce_op", (int)op);
        return false;
    }
    if (ht__mpi_op(op, dtype) != MPI_OP_NULL)
        return true;
    ht__check_failed(check, HT_ERR_DTYPE, "%s is not defined for %s", ht__op_name(op),
                     ht_dtype_name(dtype));
    return false;
}

bool ht__check_pair(const ht_check *check, const ht_tensor *send, const ht_tensor *recv)
{
    if (send->body->dtype == recv->body->dtype)
        return ht__check_writable(check, recv);
    ht__check_failed(check, HT_ERR_DTYPE, "send is %s, recv is %s, expected the same dtype",
                     ht_dtype_name(send->body->dtype), ht_dtype_name(recv->body->dtype));
    return false;
}

bool ht__check_same_local(const ht_check *check, const ht_tensor *send, const ht_tensor *recv)
{
    const ht_body *a = send->body, *b = recv->body;
    bool same = a->ndim == b->ndim;

    for (int i = 0; same && i < a->ndim; i++)
        same = a->lshape[i] == b->lshape[i];
    if (same)
        return true;
    ht__check_failed(check, HT_ERR_SHAPE,
                     "the local part of send is %s, that of recv is %s, expected the same shape",
                     ht__shape_str(a->ndim, a->lshape), ht__shape_str(b->ndim, b->lshape));
    return false;
}

bool ht__check_rows(const ht_check *check, const ht_tensor *part, const ht_tensor *whole)
{
    const ht_body *a = part->body, *b = whole->body;
    bool same = a->ndim == b->ndim && a->ndim > 0;

    for (int i = 1; same && i < a->ndim; i++)
        same = a->lshape[i] == b->lshape[i];
    if (same)
        return true;
    ht__check_failed(check, HT_ERR_SHAPE,
                     "a part is %s and the complete tensor is %s, expected shapes that differ "
                     "along axis 0 only",
                     ht__shape_str(a->ndim, a->lshape), ht__shape_str(b->ndim, b->lshape));
    return false;
}

/* In place of a call, when a backward pass has failed on this rank alone. */
static void tell(const ht_meeting *meeting)
{
    const ht_call call = {.what = meeting->what};

    ht__error_set(HT_ERR_STATE, "%s: rank %d does not take part, because it has an error",
                  meeting->what, meeting->comm->rank);
    ht__agree_call(meeting->comm, &call, HT_ERR_STATE);
}

/* A function that runs again in a backward pass (ht_recomputed) may make the call. */
static bool agrees(ht_comm *comm, const ht_call *call, bool valid)
{
    const ht_meeting meeting = {.tell = tell, .what = call->what, .comm = comm};

    if (ht__is_told(comm)) {
        if (ht_error_get(NULL) == HT_SUCCESS)
            HT_FAIL(comm, HT_ERR_STATE, "%s: the backward pass that runs has failed", call->what);
        return false;
    }
    if (!ht__segment_meets(&meeting))
        return false;
    if (ht__agree_call(comm, call, valid ? HT_SUCCESS : ht_error_get(NULL)) == HT_SUCCESS)
        return true;
    ht__told(comm);
    return false;
}

bool ht__call_begins(const ht_check *check, const ht_call *call, bool valid)
{
    if (check->manner == HT_AGREED && check->comm->size > 1)
        return agrees(check->comm, call, valid);
    if (!valid && check->manner == HT_AGREED) /* this rank is all there are */
        ht__agree_failed(check->comm, check->what, 0, ht_error_get(NULL));
    if (valid)
        ht__begin(check->comm, *call);
    return valid;
}

ht_request *ht__call_start(const ht_check *check, const ht_call *call, bool valid,
                           ht_start_fn *start, ht_tensor *send, ht_tensor *recv)
{
    if (check->manner == HT_POSTED)
        return ht__post(check, call, valid, start, send, recv);
    if (!ht__call_begins(check, call, valid))
        return NULL;

    ht_request *request = ht__request_new(check->comm, check->what);

    return ht__request_posted(request, start(request, call, send, recv));
}
