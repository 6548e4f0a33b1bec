/* SPDX-License-Identifier: MIT */
#include "hdf5_parallel.h"

hid_t ht__parallel_enter(ht__parallel *file)
{
    ht__hdf5_begin();
    file->outer = ht__watch_guard(file->what);
    return file->hidden;
}

void ht__parallel_leave(ht__parallel *file)
{
    ht__watch_unguard(file->outer);
    ht__hdf5_end();
}

ht_status ht__parallel_open(ht__parallel *file, const char *path, ht__how how, bool newest)
{
    ht_status status = HT_SUCCESS;
    hid_t access;

    file->hidden = H5I_INVALID_HID;
    ht__parallel_enter(file);
    access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, file->comm->mpi, MPI_INFO_NULL);
    if (newest)
        H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    file->hidden = how == HT_FILE_NEW
                       ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access)
                       : H5Fopen(path, how == HT_FILE_READ ? H5F_ACC_RDONLY : H5F_ACC_RDWR, access);
    if (file->hidden < 0)
        status = ht__error_set(HT_ERR_FORMAT, "%s", ht__hdf5_error());
    H5Pclose(access);
    ht__parallel_leave(file);
    return status;
}

ht_status ht__parallel_close(ht__parallel *file)
{
    ht_status status = HT_SUCCESS;

    if (file->hidden < 0)
        return status;
    if (H5Fclose(ht__parallel_enter(file)) < 0)
        status = ht__error_set(HT_ERR_IO, "%s", ht__hdf5_error());
    ht__parallel_leave(file);
    file->hidden = H5I_INVALID_HID;
    return status;
}
