/* SPDX-License-Identifier: MIT
 *
 * Abandons a file that cannot be written to its end. */
#define _GNU_SOURCE /* memfd_create */
#include "core/io/hdf5/hdf5.h"

#include <sys/mman.h>
#include <unistd.h>

int ht__hdf5_memory_file(void)
{
    return memfd_create("ht", MFD_CLOEXEC);
}

void ht__hdf5_abandon(hid_t file)
{
    int *on_disk, memory = ht__hdf5_memory_file();

    if (memory >= 0 && H5Fget_vfd_handle(file, H5P_DEFAULT, (void **)&on_disk) >= 0)
        dup2(memory, *on_disk);
    if (memory >= 0)
        close(memory);
}
