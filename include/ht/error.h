/* SPDX-License-Identifier: MIT
 *
 * Errors: one message, made by the first function that knows the cause; then the error handler of
 * the communicator runs.
 *
 * HT_ERRORS_ABORT (default): ranks that fail alike are named together, the lowest prints, the job
 * ends with exit code 1. HT_ERRORS_RETURN: functions that return a tensor return NULL, actions
 * their ht_status, and NULL operands pass through without a second report, until ht_error_clear; a
 * NULL operand without an error before it is one itself, HT_ERR_ARGUMENT. An error of a call that
 * has no operand with a communicator (a NULL in its place, an option) is returned if errors on the
 * communicator in use are (ht_use_comm; HT_COMM_WORLD), or those on HT_COMM_SELF. A NULL result is
 * NULL on every rank of the communicator; a failure that only one rank can see ends the job under
 * either handler, for the others are on their way into a call that this rank will never make:
 * - no memory for a tensor or a packed copy, a fault of a device, an error of MPI, a deadline;
 * - what ranks pass differently to ht_ibcast, ht_iallreduce and ht_iallgather, which do not wait
 * and so cannot ask, where each is right by itself. The blocking calls of ht/communication.h ask
 * before they begin: what one rank passes wrongly, or differently where it must be the same, fails
 * on all of them. Those three fail in their wait, on all ranks, where one passes what is wrong.
 * What ranks do differently elsewhere is found by HT_DEBUG_COLLECTIVE=1. An error in a hook of a
 * backward pass is returned by ht_backward, with its message. */
#ifndef HT_ERROR_H
#define HT_ERROR_H

#include "ht/types.h"

HT_BEGIN_DECLS

#define HT_ERROR_LIST(X)                                                     \
    X(HT_SUCCESS, "success")                                                 \
    X(HT_ERR_ARGUMENT, "invalid argument")                                   \
    X(HT_ERR_SHAPE, "shapes do not fit")                                     \
    X(HT_ERR_DTYPE, "dtype not supported here")                              \
    X(HT_ERR_DEVICE, "device failure or operands on different devices")      \
    X(HT_ERR_COMM, "operands on different communicators, or an MPI failure") \
    X(HT_ERR_STATE, "call not allowed in this state")                        \
    X(HT_ERR_MEMORY, "out of memory")                                        \
    X(HT_ERR_IO, "input or output failed")                                   \
    X(HT_ERR_FORMAT, "file content is not what was expected")                \
    X(HT_ERR_TIMEOUT, "a rank did not come in time")                         \
    X(HT_ERR_UNSUPPORTED, "not available in this build or on this machine")

typedef enum ht_status {
#define HT_ERROR_ROW(id, text) id,
    HT_ERROR_LIST(HT_ERROR_ROW)
#undef HT_ERROR_ROW
        HT_ERROR_COUNT
} ht_status;

typedef enum ht_errhandler { HT_ERRORS_ABORT, HT_ERRORS_RETURN } ht_errhandler;

/* Name of a code, "HT_ERR_SHAPE". Not collective. */
HT_API const char *ht_status_name(ht_status status);

/* The calling thread's last error: its code, and its message in *message (may be NULL), valid until
 * the thread's next error. HT_SUCCESS and "" when there was none. Not collective. */
HT_API ht_status ht_error_get(const char **message);

/* Forgets the calling thread's last error. Not collective. */
HT_API void ht_error_clear(void);

/* An error of the program's own, as the library's functions raise theirs: records the message,
 * which should begin with the name of who found the cause, runs the handler of `comm`, and returns
 * `code` if that returns. All ranks of `comm` raise the same one; NULL: there is no operand,
 * see above. `code` is an error, else HT_ERR_ARGUMENT is taken. Logically collective. */
HT_API ht_status ht_error_raise(ht_comm *comm, ht_status code, const char *format, ...)
    HT_PRINTF(3, 4);

/* The same for what one rank alone may see: each passes what it found, HT_SUCCESS or an error with
 * its message. If any failed, all get the error of the lowest that did, and the handler runs.
 * Nothing is recorded, and the format not looked at, where `mine` is HT_SUCCESS. Collective over
 * `comm`, agrees. */
HT_API ht_status ht_error_agree(ht_comm *comm, ht_status mine, const char *format, ...)
    HT_PRINTF(3, 4);

/* Sets what a failed function on `comm` does. Collective: every rank passes the same handler. */
HT_API ht_status ht_comm_set_errhandler(ht_comm *comm, ht_errhandler handler);

HT_END_DECLS
#endif
