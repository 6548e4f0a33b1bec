/* SPDX-License-Identifier: MIT
 *
 * The features that the library was built with, and the machine that it runs on. */
#include <cblas.h>
#include <hdf5.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/cpu/cpu.h"
#include "config.h"
#include "core/comm/topology_map.h"
#include "core/device/device.h"
#include "ht/printing.h"
#include "ht/version.h"

static const char *const thread_levels[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED",
                                            "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"};

static void print_build(FILE *to)
{
    char mpi[MPI_MAX_LIBRARY_VERSION_STRING];
    unsigned major, minor, release;
    int length;

    MPI_Get_library_version(mpi, &length);
    mpi[strcspn(mpi, ",\n")] = '\0';
    H5get_libversion(&major, &minor, &release);
    fprintf(to, "libht      %s\n", ht_version());
    fprintf(to, "MPI        %s\n", mpi);
    fprintf(to, "HDF5       %u.%u.%u, parallel\n", major, minor, release);
#ifdef HT_HAVE_OPENBLAS
    fprintf(to, "BLAS       %s\n", openblas_get_config());
#else
    fprintf(to, "BLAS       CBLAS\n");
#endif
    fprintf(to, "oneDNN     %s\n", ht__cpu_onednn_version());
    fprintf(to, "kernels    %s\n", ht__cpu_simd_level());
}

static void print_threads(FILE *to)
{
    int level;

    MPI_Query_thread(&level);
    fprintf(to, "threads    %d per rank, %s%s\n", ht__process.threads, thread_levels[level],
            level < MPI_THREAD_MULTIPLE ? " (no helper thread calls MPI)" : "");
    fprintf(to, "watchdog   %s\n",
            ht__watch_running()           ? "a thread (HT_TIMEOUT)"
            : level < MPI_THREAD_MULTIPLE ? "the waiting thread (HT_TIMEOUT)"
                                          : "off, or by the waiting thread");
}

/* One row per node: its first rank's host name, and its ranks. */
static void print_nodes(ht_comm *comm, FILE *to)
{
    int size = ht_comm_size(comm), count, *nodes = ht__topology_nodes(comm);
    char host[64] = "", *hosts = ht__alloc((size_t)size * sizeof host), ranks[256];

    ht_comm_topology(comm, &count, NULL, NULL, NULL);
    gethostname(host, sizeof host - 1);
    MPI_Gather(host, sizeof host, MPI_CHAR, hosts, sizeof host, MPI_CHAR, 0, ht_comm_mpi(comm));
    if (ht_comm_rank(comm) == 0) {
        fprintf(to, "%-10s %d on %d node%s (by %s)\n", size > 1 ? "ranks" : "rank", size, count,
                count > 1 ? "s" : "", ht__topology_source());
        for (int node = 0, r; node < count; node++) {
            for (r = 0; nodes[r] != node;)
                r++;
            ht__topology_ranks(nodes, size, node, ranks, sizeof ranks);
            fprintf(to, "  node %-4d %s: %s\n", node, hosts + (size_t)r * sizeof host, ranks);
        }
    }
    ht__free(hosts);
    ht__free(nodes);
}

static void print_devices(FILE *to)
{
    static const char *const modules[] = {"cuda"};

    fprintf(to, "devices    cpu:0 (virtual: cpu:1 ... cpu:15)\n");
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        ht_driver *driver = ht__driver_find(modules[i]);
        const char *why;

        ht_error_get(&why);
        if (driver != NULL) {
            fprintf(to, "  %-8s %d devices\n", modules[i], driver->backend.device_count());
            continue;
        }
        fprintf(to, "  %-8s none: %s\n", modules[i], why);
        ht_error_clear(); /* not an error of this call */
    }
}

ht_status ht_show_config(ht_comm *comm, FILE *file)
{
    static const char what[] = "ht_show_config";

    if (HT_IS_NULL(comm, what, "comm"))
        return ht_error_get(NULL);
    if (ht__agree(what, comm,
                  comm->rank == 0 && file == NULL
                      ? ht__error_set(HT_ERR_ARGUMENT, "%s: file is NULL", what)
                      : HT_SUCCESS) != HT_SUCCESS)
        return ht_error_get(NULL);
    if (comm->rank == 0) {
        print_build(file);
        print_threads(file);
    }
    print_nodes(comm, file);
    if (comm->rank == 0)
        print_devices(file);
    return HT_SUCCESS;
}
