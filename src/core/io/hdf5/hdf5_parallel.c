/* SPDX-License-Identifier: MIT */
#include "core/io/hdf5/hdf5_parallel.h"

#include <stdio.h>
#include <unistd.h>

hid_t ht__parallel_enter(ht_parallel *file)
{
    ht__hdf5_begin();
    file->outer = ht__watch_guard(file->what);
    return file->hidden;
}

void ht__parallel_leave(ht_parallel *file)
{
    ht__watch_unguard(file->outer);
    ht__hdf5_end();
}

ht_status ht__parallel_open(ht_parallel *file, const char *path, bool newest)
{
    ht_status status = HT_SUCCESS;
    hid_t access;

    file->hidden = H5I_INVALID_HID;
    ht__parallel_enter(file);
    access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, file->comm->mpi, MPI_INFO_NULL);
    if (newest)
        H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    file->hidden = H5Fopen(path, H5F_ACC_RDWR, access);
    if (file->hidden < 0)
        status = ht__error_set(HT_ERR_FORMAT, "%s", ht__hdf5_error());
    H5Pclose(access);
    ht__parallel_leave(file);
    return status;
}

ht_status ht__parallel_close(ht_parallel *file, ht_status status)
{
    if (file->hidden < 0)
        return status;
    if (H5Fclose(ht__parallel_enter(file)) < 0 && status == HT_SUCCESS)
        status = ht__error_set(HT_ERR_IO, "%s", ht__hdf5_error());
    ht__parallel_leave(file);
    file->hidden = H5I_INVALID_HID;
    return status;
}

/* HDF5 has no way to forget changes: its file becomes one in this process's memory, which takes
 * them all. */
static void let_go(hid_t file)
{
    MPI_File *on_disk, in_memory;
    char path[64];
    int memory = ht__hdf5_memory_file();

    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    if (memory >= 0 && H5Fget_vfd_handle(file, H5P_DEFAULT, (void **)&on_disk) >= 0 &&
        MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &in_memory) ==
            MPI_SUCCESS) {
        MPI_File_close(on_disk);
        *on_disk = in_memory;
    }
    if (memory >= 0)
        close(memory);
}

void ht__parallel_abandon(ht_parallel *file)
{
    if (file->hidden < 0)
        return;
    let_go(ht__parallel_enter(file));
    ht__parallel_leave(file);
}
