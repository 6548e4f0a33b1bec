/* SPDX-License-Identifier: MIT
 *
 * ht-info: what the library was built with, and what it sees where it runs. Under mpirun rank 0
 * reports for all: `mpirun -n 16 ht-info`. */
#include <cblas.h>
#include <hdf5.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/device/device.h"
#include "config.h"
#include "backends/cpu/cpu.h"
#include "core/comm/topology_map.h"
#include "ht.h"
#include "output.h"

static const char *const thread_levels[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED",
                                            "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"};

static void print_build(void)
{
    char mpi[MPI_MAX_LIBRARY_VERSION_STRING];
    unsigned major, minor, release;
    int length;

    MPI_Get_library_version(mpi, &length);
    mpi[strcspn(mpi, ",\n")] = '\0';
    H5get_libversion(&major, &minor, &release);
    printf("libht      %s\n", ht_version());
    printf("MPI        %s\n", mpi);
    printf("HDF5       %u.%u.%u, parallel\n", major, minor, release);
#ifdef HT_HAVE_OPENBLAS
    printf("BLAS       %s\n", openblas_get_config());
#else
    printf("BLAS       CBLAS\n");
#endif
    printf("oneDNN     %s\n", ht__cpu_onednn_version());
    printf("kernels    %s\n", ht__cpu_simd_level());
}

static void print_threads(void)
{
    int level;

    MPI_Query_thread(&level);
    printf("threads    %d per rank, %s%s\n", ht__process.threads, thread_levels[level],
           level < MPI_THREAD_MULTIPLE ? " (no helper thread calls MPI)" : "");
    printf("watchdog   %s\n", ht__watch_running()           ? "a thread (HT_TIMEOUT)"
                              : level < MPI_THREAD_MULTIPLE ? "the waiting thread (HT_TIMEOUT)"
                                                            : "off, or by the waiting thread");
}

/* One row per node: its first rank's host name, and its ranks. */
static void print_nodes(void)
{
    ht_comm *world = HT_COMM_WORLD;
    int size = ht_comm_size(world), count, *nodes = ht__topology_nodes(world);
    char host[64] = "", *hosts = ht__alloc((size_t)size * sizeof host), ranks[256];

    ht_comm_topology(world, &count, NULL, NULL, NULL);
    gethostname(host, sizeof host - 1);
    MPI_Gather(host, sizeof host, MPI_CHAR, hosts, sizeof host, MPI_CHAR, 0, ht_comm_mpi(world));
    if (ht_comm_rank(world) == 0) {
        printf("%-10s %d on %d node%s (by %s)\n", size > 1 ? "ranks" : "rank", size, count,
               count > 1 ? "s" : "", ht__topology_source());
        for (int node = 0, r; node < count; node++) {
            for (r = 0; nodes[r] != node;)
                r++;
            ht__topology_ranks(nodes, size, node, ranks, sizeof ranks);
            printf("  node %-4d %s: %s\n", node, hosts + (size_t)r * sizeof host, ranks);
        }
    }
    ht__free(hosts);
    ht__free(nodes);
}

static void print_devices(void)
{
    static const char *const modules[] = {"cuda"};

    printf("devices    cpu:0 (virtual: cpu:1 ... cpu:15)\n");
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        ht_driver *driver = ht__driver_find(modules[i]);
        const char *why;

        ht_error_get(&why);
        if (driver == NULL)
            printf("  %-8s none: %s\n", modules[i], why);
        else
            printf("  %-8s %d devices\n", modules[i], driver->backend.device_count());
    }
}

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
    if (ht_comm_rank(HT_COMM_WORLD) == 0) {
        print_build();
        print_threads();
    }
    print_nodes();
    if (ht_comm_rank(HT_COMM_WORLD) == 0)
        print_devices();
    return output_status("ht-info", ht_finalize() > 0);
}
