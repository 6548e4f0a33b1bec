/* SPDX-License-Identifier: MIT
 *
 * Errors that MPI reports on MPI_COMM_WORLD although they belong to another communicator. Open MPI
 * does so when it tests the request of a collective operation. Its own handler would end the job
 * with its own text. So while the library runs, a handler of the library leaves the library's
 * errors to the caller. Errors of the program's own calls end the job as before; a handler of the
 * program's own stays. */

#include <stdio.h>

#include "core/comm/mpi.h"

static _Thread_local bool testing; /* requests of the library's */
static MPI_Errhandler ours = MPI_ERRHANDLER_NULL;

static void on_error(MPI_Comm *comm, int *code, ...)
{
    char reason[MPI_MAX_ERROR_STRING], text[MPI_MAX_ERROR_STRING + 64];
    int length = 0;

    (void)comm;
    if (testing)
        return;
    MPI_Error_string(*code, reason, &length);
    snprintf(text, sizeof text, "an MPI call of the program failed: %.*s", length, reason);
    ht__abort(HT_ERR_COMM, text);
}

void ht__mpi_errors_start(void)
{
    MPI_Errhandler present;

    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &present);
    if (present == MPI_ERRORS_ARE_FATAL) {
        MPI_Comm_create_errhandler(on_error, &ours);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, ours);
    }
    MPI_Errhandler_free(&present);
}

void ht__mpi_errors_end(void)
{
    if (ours == MPI_ERRHANDLER_NULL)
        return;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&ours);
}

int ht__mpi_test(int count, MPI_Request requests[], int *done)
{
    int result;

    testing = true;
    /* For several requests, MPI only tells that one has failed. */
    result = count == 1 ? MPI_Test(requests, done, MPI_STATUS_IGNORE)
                        : MPI_Testall(count, requests, done, MPI_STATUSES_IGNORE);
    testing = false;
    return result;
}
