/* SPDX-License-Identifier: MIT
 *
 * ht-idx2hdf5: a folder of MNIST-format IDX files as one HDF5 file. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ht/data.h"
#include "output.h"

static const char help[] =
    "usage: ht-idx2hdf5 FOLDER FILE.h5\n"
    "\n"
    "Converts MNIST-format files to one HDF5 file. FOLDER contains these, plain or gzipped (.gz):\n"
    "    train-images-idx3-ubyte  train-labels-idx1-ubyte\n"
    "    t10k-images-idx3-ubyte   t10k-labels-idx1-ubyte\n"
    "FILE.h5 receives these data sets, all uint8, chunked and deflated:\n"
    "    train/images (N, H, W)  train/labels (N)  test/images (M, H, W)  test/labels (M)\n"
    "It is written under another name and renamed when it is complete.\n"
    "\n"
    "Exit status: 0, 1 when the conversion failed, 2 for a wrong command line.\n";

/* One line, rewritten at each per cent. */
static void show(int64_t done, int64_t total, void *last)
{
    int percent = (int)(100 * done / total);

    if (percent == *(int *)last)
        return;
    *(int *)last = percent;
    fprintf(stderr, "\r%3d %%  %lld of %lld rows", percent, (long long)done, (long long)total);
    if (done == total)
        fputc('\n', stderr);
}

int main(int argc, char **argv)
{
    int last = -1;

    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(help, stdout);
        return output_status("ht-idx2hdf5", 0);
    }
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-')
            continue;
        fprintf(stderr, "ht-idx2hdf5: unknown option %s; see ht-idx2hdf5 --help\n", argv[i]);
        return 2;
    }
    if (argc != 3) {
        fputs("ht-idx2hdf5: expected FOLDER and FILE.h5; see ht-idx2hdf5 --help\n", stderr);
        return 2;
    }
    /* A failure prints its message and ends the program with status 1. */
    return ht_idx_to_hdf5_ext(argv[1], argv[2], isatty(STDERR_FILENO) ? show : NULL, &last) !=
           HT_SUCCESS;
}
