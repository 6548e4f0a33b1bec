/* SPDX-License-Identifier: MIT
 *
 * Errors: codes, messages, and the handlers of communicators.
 *
 * The first function that knows the cause makes the message. Then the error handler of the
 * communicator runs.
 *
 * HT_ERRORS_ABORT, the default: the job ends with exit code 1. Ranks with the same failure are
 * named in one message, which the lowest of them prints.
 *
 * HT_ERRORS_RETURN: the function returns the error.
 * - A function that returns a tensor returns NULL; an action returns its ht_status.
 * - A NULL result is NULL on every rank of the communicator.
 * - A NULL operand after an error passes through without a second report, until ht_error_clear.
 * - A NULL operand without an error before it is HT_ERR_ARGUMENT.
 * - An operand that may be NULL, such as a bias, is left out if it is NULL. That holds after an
 *   error, too, unless its comment says otherwise; ht_error_get still returns that error.
 * - Operands are all pointers that a call takes: handles, strings (names, paths, keys), functions,
 *   streams, lists of at least one item, and addresses of results. The comment of a call says where
 *   NULL has another meaning. `user`, the argument of a function of the program, may be NULL.
 * - A struct of options whose size its default function did not set is HT_ERR_ARGUMENT.
 * - A value that its enumeration lacks is HT_ERR_ARGUMENT, unless a comment says otherwise.
 * - A tensor or value that a call hands over by an address is set on success only, unless its
 *   comment says otherwise. A list of results may be set in part.
 * - Operands on different communicators are HT_ERR_COMM, and on different devices HT_ERR_DEVICE,
 *   unless a comment says otherwise. All communicators of one rank count as the same.
 * - An error in a hook of a backward pass is returned by ht_backward, with its message.
 *
 * A call may have no operand with a communicator, because it is NULL or because an option is wrong.
 * Its error is returned if either of two communicators returns errors: the one in use (ht_use_comm;
 * HT_COMM_WORLD at first) or HT_COMM_SELF.
 *
 * Before the library is started (ht_init), and after it has ended, it has no communicator. Then an
 * error ends the process with exit code 1, after its message. Calls that cannot be made then are
 * HT_ERR_STATE.
 *
 * On a communicator of several ranks, a failure that one rank alone can see ends the job under
 * either handler. The other ranks are already on their way into a call that this rank will never
 * make. Such failures are:
 * - no memory for a tensor or a packed copy;
 * - a device fault;
 * - an MPI error;
 * - a deadline that has passed;
 * - a target that is not a class (ht_nll_loss, ht_cross_entropy and their _ext forms);
 * - arguments of a non-blocking collective call, right on each rank, that do not fit together;
 * - counts of a non-blocking collective call that are NULL or negative.
 *
 * A blocking collective call of ht/communication.h compares arguments between the ranks before it
 * begins. If an argument is wrong on one rank, the call fails on all ranks. The same holds for an
 * argument that must be the same and differs. A non-blocking collective call cannot ask, because it
 * does not wait. If one rank passes a wrong argument to it, its wait fails on all ranks.
 *
 * In all other calls, HT_DEBUG_COLLECTIVE=1 finds arguments that differ between ranks. */
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
    X(HT_ERR_FORMAT, "file content is invalid")                              \
    X(HT_ERR_TIMEOUT, "a rank did not come in time")                         \
    X(HT_ERR_UNSUPPORTED, "not available in this build or on this machine")

typedef enum ht_status {
#define HT_ERROR_ROW(id, text) id,
    HT_ERROR_LIST(HT_ERROR_ROW)
#undef HT_ERROR_ROW
        HT_ERROR_COUNT
} ht_status;

typedef enum ht_errhandler { HT_ERRORS_ABORT, HT_ERRORS_RETURN } ht_errhandler;

/* The name of status, for example "HT_ERR_SHAPE", or "invalid status"; a static string. Not
 * collective. */
HT_API const char *ht_status_name(ht_status status);

/* Returns the code of the calling thread's last error; HT_SUCCESS if there was none.
 *
 * message: *message is set to the error's message, or to "" if there was none. Borrowed; valid
 * until the thread's next error. May be NULL.
 * Not collective. */
HT_API ht_status ht_error_get(const char **message);

/* Clears the calling thread's last error. Not collective. */
HT_API void ht_error_clear(void);

/* Raises an error of the program's own, in the way in which the library raises its errors.
 *
 * Records the message and runs the handler of comm.
 *
 * comm: NULL if no operand has a communicator, see the top of this header.
 * code: the error; HT_ERR_ARGUMENT replaces a value that is not an error.
 * format: the message, in printf's notation, cut off after 1023 bytes. It should begin with the
 * name of the function that found the cause.
 * Logically collective: all ranks of comm raise the same error.
 * Result: the code, if the handler returns. */
HT_API ht_status ht_error_raise(ht_comm *comm, ht_status code, const char *format, ...)
    HT_PRINTF(3, 4);

/* Raises on all ranks an error that one rank alone may see.
 *
 * If any rank failed, all ranks get the error of the lowest rank that failed, and the handler of
 * comm runs.
 *
 * comm: the communicator of these ranks.
 * mine: the error that this rank found, or HT_SUCCESS; HT_ERR_ARGUMENT replaces another value.
 * format: the message, in printf's notation. If mine is HT_SUCCESS, it is not read and this rank
 * records nothing.
 * Collective over comm, agrees.
 * Result: HT_SUCCESS if no rank failed, otherwise the error.
 * Errors: HT_ERR_ARGUMENT if comm is NULL. */
HT_API ht_status ht_error_agree(ht_comm *comm, ht_status mine, const char *format, ...)
    HT_PRINTF(3, 4);

/* Sets the error handler of comm.
 *
 * handler: the same on every rank.
 * Collective over comm.
 * Errors: HT_ERR_ARGUMENT if handler differs between ranks or is not one of ht_errhandler. */
HT_API ht_status ht_comm_set_errhandler(ht_comm *comm, ht_errhandler handler);

HT_END_DECLS
#endif
