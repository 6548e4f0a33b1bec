/* SPDX-License-Identifier: MIT
 *
 * A rank that stops at any moment of a call on a file:
 *     stall N save|load FILE   rank 1 stops before its N-th call of MPI in there that may wait
 *     stall 0 save|load FILE   no rank stops; prints how many such calls rank 1 made
 * "save" is a checkpoint, "write" and "read" one tensor by ht_save_hdf5 and ht_load_hdf5. MPI's
 * functions are replaced by ones that count, also for HDF5. */
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ht.h"

static long at, calls;
static bool counts;

static void count(void)
{
    if (counts && ++calls == at)
        raise(SIGSTOP);
}

int MPI_Barrier(MPI_Comm comm)
{
    count();
    return PMPI_Barrier(comm);
}

int MPI_Bcast(void *x, int n, MPI_Datatype type, int root, MPI_Comm comm)
{
    count();
    return PMPI_Bcast(x, n, type, root, comm);
}

int MPI_Allreduce(const void *x, void *y, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    count();
    return PMPI_Allreduce(x, y, n, type, op, comm);
}

int MPI_Iallreduce(const void *x, void *y, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request *request)
{
    count();
    return PMPI_Iallreduce(x, y, n, type, op, comm, request);
}

int MPI_Ibcast(void *x, int n, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request)
{
    count();
    return PMPI_Ibcast(x, n, type, root, comm, request);
}

int MPI_File_open(MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file)
{
    count();
    return PMPI_File_open(comm, name, mode, info, file);
}

int MPI_File_close(MPI_File *file)
{
    count();
    return PMPI_File_close(file);
}

int MPI_File_sync(MPI_File file)
{
    count();
    return PMPI_File_sync(file);
}

int MPI_File_set_size(MPI_File file, MPI_Offset size)
{
    count();
    return PMPI_File_set_size(file, size);
}

int MPI_File_set_view(MPI_File file, MPI_Offset from, MPI_Datatype unit, MPI_Datatype type,
                      const char *form, MPI_Info info)
{
    count();
    return PMPI_File_set_view(file, from, unit, type, form, info);
}

int MPI_File_write_at_all(MPI_File file, MPI_Offset from, const void *x, int n, MPI_Datatype type,
                          MPI_Status *status)
{
    count();
    return PMPI_File_write_at_all(file, from, x, n, type, status);
}

int MPI_File_read_at_all(MPI_File file, MPI_Offset from, void *x, int n, MPI_Datatype type,
                         MPI_Status *status)
{
    count();
    return PMPI_File_read_at_all(file, from, x, n, type, status);
}

static ht_value *state_new(void)
{
    ht_value *map = ht_value_map();

    ht_value_set(map, "split", ht_value_tensor(ht_arange(0, 5000, 1, HT_FLOAT32, 0)));
    ht_value_set(map, "step", ht_value_number(3));
    return map;
}

static ht_status work(const char *what, const char *path)
{
    if (strcmp(what, "save") == 0)
        return ht_checkpoint_save(state_new(), path, HT_COMM_WORLD, NULL);
    if (strcmp(what, "load") == 0)
        return ht_checkpoint_load(path, HT_COMM_WORLD, NULL) != NULL ? HT_SUCCESS : HT_ERR_IO;
    if (strcmp(what, "write") == 0)
        return ht_save_hdf5(ht_arange(0, 5000, 1, HT_FLOAT32, 0), path, "x", "w");
    return ht_load_hdf5(path, "x", HT_FLOAT32, 0) != NULL ? HT_SUCCESS : HT_ERR_IO;
}

int main(int argc, char **argv)
{
    ht_status status;

    if (argc != 4 || ht_init(&argc, &argv) != HT_SUCCESS)
        return 2;
    at = strtol(argv[1], NULL, 10);
    counts = ht_comm_rank(HT_COMM_WORLD) == 1;
    status = work(argv[2], argv[3]);
    if (counts && at == 0)
        printf("%ld\n", calls);
    counts = false;
    ht_finalize();
    return status != HT_SUCCESS;
}
