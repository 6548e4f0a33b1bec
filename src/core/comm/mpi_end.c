/* SPDX-License-Identifier: MIT
 *
 * The end of MPI if the program finalises it while the library is in use; Python does so at exit.
 * MPI_Finalize deletes the attributes of MPI_COMM_SELF before anything else ends. So a callback
 * there can stop threads that would call MPI afterwards. */
#include "core/comm/mpi.h"

static int key = MPI_KEYVAL_INVALID;
static void (*at_end)(void);

static int on_delete(MPI_Comm comm, int keyval, void *value, void *state)
{
    void (*call)(void) = at_end;

    (void)comm;
    (void)keyval;
    (void)value;
    (void)state;
    at_end = NULL;
    if (call != NULL)
        call();
    return MPI_SUCCESS;
}

void ht__mpi_end_start(void (*call)(void))
{
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    at_end = call;
}

void ht__mpi_end_forget(void)
{
    at_end = NULL;
    MPI_Comm_delete_attr(MPI_COMM_SELF, key);
    MPI_Comm_free_keyval(&key);
}
