/* SPDX-License-Identifier: MIT
 *
 * The status of an MPI call. */
#include "core/comm/mpi.h"

ht_status ht__mpi_check(ht_comm *comm, int result, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;

    if (result == MPI_SUCCESS)
        return HT_SUCCESS;
    if (ht__compare_on)
        ht__compare_settle();
    MPI_Error_string(result, text, &length);
    return HT_FAIL_HERE(comm, HT_ERR_COMM, "%s: MPI failed: %.*s%s", what, length, text,
                        ht__compare_on ? ""
                                       : " (HT_DEBUG_COLLECTIVE=1 compares what the ranks pass)");
}
