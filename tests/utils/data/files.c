/* SPDX-License-Identifier: MIT */
#include "core/comm/comm.h"
#include "files.h"

#include "ht_test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hdf5.h>

#include "ht/io.h"

static char folder[512];

void files_open(void)
{
    const char *base = getenv("TMPDIR");

    if (ht_test_rank == 0) {
        snprintf(folder, sizeof folder, "%s/ht-test-XXXXXX", base != NULL ? base : "/tmp");
        assert_non_null(mkdtemp(folder));
    }
    ht__comm_bcast_bytes(HT_COMM_WORLD, folder, sizeof folder, 0, "folder");
}

void files_remove(void)
{
    ht_barrier(HT_COMM_WORLD);
    if (ht_test_rank != 0)
        return;
    DIR *directory = opendir(folder);

    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        unlink(files_path(entry->d_name));
    closedir(directory);
    assert_int_equal(rmdir(folder), 0);
}

const char *files_path(const char *name)
{
    static char paths[4][1024];
    static unsigned next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void write_array(hid_t file, const char *name, hid_t type, int ndim, const hsize_t shape[],
                        int64_t chunk, const void *data)
{
    hsize_t chunks[2] = {(hsize_t)chunk < shape[0] ? (hsize_t)chunk : shape[0], ROW_LENGTH};
    hid_t space = H5Screate_simple(ndim, shape, NULL), layout = H5Pcreate(H5P_DATASET_CREATE);

    if (chunk > 0) {
        H5Pset_chunk(layout, ndim, chunks);
        H5Pset_deflate(layout, 1);
    }
    hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, layout, H5P_DEFAULT);

    assert_true(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    H5Dclose(set);
    H5Pclose(layout);
    H5Sclose(space);
}

static void write_file(const char *name, int64_t rows, int64_t labels, int64_t chunk)
{
    int32_t *x = calloc((size_t)(rows * ROW_LENGTH + 1), sizeof *x);
    uint8_t *y = calloc((size_t)labels + 1, 1);

    for (int64_t i = 0; i < rows * ROW_LENGTH; i++)
        x[i] = (int32_t)(100 * (i / ROW_LENGTH) + i % ROW_LENGTH);
    for (int64_t i = 0; i < labels; i++)
        y[i] = (uint8_t)(i % 251);

    hid_t file = H5Fcreate(files_path(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

    write_array(file, "x", H5T_NATIVE_INT32, 2, (hsize_t[]){(hsize_t)rows, ROW_LENGTH}, chunk, x);
    write_array(file, "y", H5T_NATIVE_UINT8, 1, (hsize_t[]){(hsize_t)labels}, 3 * chunk, y);
    H5Fclose(file);
    free(y);
    free(x);
}

void files_make(const char *name, int64_t rows, int64_t labels, int64_t chunk)
{
    ht_barrier(HT_COMM_WORLD); /* no loader has a file of this name open */
    ht_hdf5_lock();
    if (ht_test_rank == 0)
        write_file(name, rows, labels, chunk);
    ht_hdf5_unlock();
    ht_barrier(HT_COMM_WORLD);
}
