/* SPDX-License-Identifier: MIT
 *
 * ht-info: what the library was built with, and what it sees where it runs. Under mpirun rank 0
 * reports for all: `mpirun -n 16 ht-info`. */
#include <stdio.h>
#include <string.h>

#include "ht.h"
#include "output.h"

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        printf("ht-info %s\n", ht_version());
        return output_status("ht-info", 0);
    }
    if (argc > 1) {
        bool help = strcmp(argv[1], "--help") == 0;

        if (!help)
            fprintf(stderr, "ht-info: unknown argument %s\n", argv[1]);
        fprintf(
            help ? stdout : stderr,
            "usage: [mpirun -n RANKS] ht-info [--help | --version]\n"
            "Prints what libht was built with and what it sees: libraries, SIMD level, threads,\n"
            "nodes and ranks, devices.\n");
        return output_status("ht-info", help ? 0 : 2);
    }
    if (ht_init(&argc, &argv) != HT_SUCCESS)
        return 1;
    ht_show_config(HT_COMM_WORLD, stdout);
    return output_status("ht-info", ht_finalize() > 0);
}
