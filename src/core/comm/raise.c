/* SPDX-License-Identifier: MIT
 *
 * Runs the handler of a communicator after an error on it was recorded. */

#include <stdarg.h>
#include <stdio.h>

#include "core/comm/mpi.h"

static _Thread_local ht_comm *failure_group; /* not owned; NULL: each failure's own */

ht_comm *ht__together(ht_comm *comm)
{
    ht_comm *outer = failure_group;

    if (outer == NULL || comm->size > outer->size)
        failure_group = comm;
    return outer;
}

void ht__together_end(ht_comm *outer)
{
    failure_group = outer;
}

static ht_status valid_code(ht_status code)
{
    return code > HT_SUCCESS && code < HT_ERROR_COUNT ? code : HT_ERR_ARGUMENT;
}

ht_status ht_error_raise(ht_comm *comm, ht_status code, const char *format, ...)
{
    char text[HT_MESSAGE_LENGTH];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return HT_FAIL(comm, valid_code(code), "%s", text);
}

ht_status ht_error_agree(ht_comm *comm, ht_status mine, const char *format, ...)
{
    bool begun = ht__agree_begin();
    char text[HT_MESSAGE_LENGTH];
    va_list arguments;

    if (mine != HT_SUCCESS) {
        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        mine = ht__error_set(valid_code(mine), "%s", text);
    }
    if (comm == NULL) {
        ht__error_hold(begun);
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "ht_error_agree: comm is NULL");
    }
    return ht__agree_end("ht_error_agree", comm, begun, mine);
}

/* An error without a communicator: there was no operand to take one from (a NULL, options that are
 * not initialised). It is the same on all ranks that run the program, or concerns a process that
 * works by itself. It is returned if errors on the communicator in use are, or those on
 * HT_COMM_SELF. */
static bool is_returned(ht_comm *comm, bool here)
{
    if (comm != NULL)
        return comm->handler == HT_ERRORS_RETURN;
    if (!ht_is_initialized())
        return false;
    return ht_comm_self()->handler == HT_ERRORS_RETURN ||
           (!here && ht_get_comm()->handler == HT_ERRORS_RETURN);
}

static void raised(ht_comm *comm, ht_status code, bool here, const char *message)
{
    if (here && failure_group != NULL && (comm == NULL || failure_group->size > comm->size))
        comm = failure_group;
    bool alone_of_many = here && comm != NULL && comm->size > 1;
    if (alone_of_many || !is_returned(comm, here))
        ht__abort(code, message);
}

/* Before main: errors may come before ht_init, in a program that has started MPI itself. */
__attribute__((constructor)) static void start(void)
{
    ht__process.raised = raised;
    ht__process.end = ht__end_job;
}
