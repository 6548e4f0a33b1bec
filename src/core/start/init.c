/* SPDX-License-Identifier: MIT
 *
 * Start and end of the library, and of MPI if the program has not started it. */
#define _GNU_SOURCE
#include "core/collective/call.h"
#include "core/base/environment.h"
#include "backends/cpu/cpu.h"
#include "core/exchange/link.h"
#include "core/timeline/timeline.h"
#include "core/comm/topology_map.h"
#include "core/start/start.h"
#include "ht/log.h"

#include <sched.h>
#include <stdlib.h>

static int starts;        /* calls of ht_init not yet matched by ht_finalize */
static bool finalize_mpi; /* ht_init has initialised it */

static int threads_wanted(int cores, int ranks)
{
    const char *text = ht__env_text(HT_ENV_OMP_NUM_THREADS);
    int asked = text != NULL ? atoi(text) : 0;
    int share = cores / ranks;
    cpu_set_t mine;

    if (asked > 0)
        return asked;
    /* A launcher that binds this rank to some cores has decided already. */
    if (sched_getaffinity(0, sizeof mine, &mine) == 0 && CPU_COUNT(&mine) < share)
        share = CPU_COUNT(&mine);
    return share > 1 ? share : 1;
}

/* Collective, at any log level, because levels may differ between ranks. */
static void log_nodes(const ht_comm *world)
{
    int *nodes = ht__topology_nodes(world);
    char map[1024];

    if (world->rank == 0 && ht_log_get_level() >= HT_LOG_INFO) {
        ht__topology_map(nodes, world->size, map, sizeof map);
        ht_log_write(HT_LOG_INFO, "nodes by %s: %s", ht__topology_source(), map);
    }
    ht__free(nodes);
}

/* Ends the job: nothing can be done without. */
static void check_room(void)
{
    int64_t limit;

    if (!ht__cpu_has_room(&limit))
        HT_FAIL(
            ht_comm_world(), HT_ERR_MEMORY,
            "ht_init: the address space is limited to %lld MiB (ulimit -v), too little for BLAS, "
            "which takes 128 MiB for each thread",
            (long long)(limit >> 20));
}

/* The program finalises MPI. Threads that call it by themselves end now; nothing here is
 * collective, and objects stay as they are, because the program may hold any of them. */
static void on_mpi_end(void)
{
    starts = 0;
    finalize_mpi = false;
    ht__process.initialized = false;
    ht__run_at_finalize();
    ht__exchange_stop();
    ht__watch_stop();
    ht__timeline_close();
    ht__process.ended_by = "MPI_Finalize";
    ht__process.ended = true;
}

static ht_status start(MPI_Comm world)
{
    const char *core = ht__cpu_choose_blas_core();
    int ranks, cores, level;

    ht__wait_read_timeout();
    ht__watch_start(world);

    const char *outer = ht__watch_guard("ht_init");

    cores = ht__topology_cores(world, &ranks);
    ht__abort_start(world);
    ht__watch_connect(world);
    ht__process.threads = threads_wanted(cores, ranks);
    ht__mpi_errors_start();
    ht__compare_start(world);
    ht__notes_start();
    ht__posted_start();
    ht__comm_start(world);
    ht__wait_start(ranks * ht__process.threads > cores);
    ht__types_start();
    ht__core_init();
    check_room();
    MPI_Query_thread(&level);
    ht_log_write0(HT_LOG_INFO,
                  "%d ranks on %d nodes, %d ranks and %d cores here, %d threads per rank%s%s",
                  ht__process.size, ht_comm_world()->nodes, ranks, cores, ht__process.threads,
                  ht__env_text(HT_ENV_OMP_NUM_THREADS) != NULL ? " (OMP_NUM_THREADS)" : "",
                  level < MPI_THREAD_MULTIPLE ? ", MPI without MPI_THREAD_MULTIPLE" : "");
    if (core != NULL)
        ht_log_write0(HT_LOG_INFO,
                      "OpenBLAS does not know this processor: it runs its kernels for %s", core);
    ht__env_check();
    log_nodes(ht_comm_world());
    ht__watch_unguard(outer);
    starts = 1;
    ht__process.initialized = true;
    ht__process.ended = false;
    ht__mpi_end_start(on_mpi_end);
    ht__timeline_init();
    return HT_SUCCESS;
}

ht_status ht_init(int *argc, char ***argv)
{
    int initialized = 0, finalized = 0;

    if (starts > 0) {
        starts++;
        return HT_SUCCESS;
    }
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (finalized)
        return HT_FAIL(NULL, HT_ERR_STATE, "ht_init: MPI is finalised and cannot start again");
    if (!initialized) {
        ht__wait_read_timeout();
        if (ht__mpi_start(argc, argv) != MPI_SUCCESS)
            return HT_FAIL(NULL, HT_ERR_COMM, "ht_init: MPI_Init_thread failed");
        finalize_mpi = true;
    }
    return start(MPI_COMM_WORLD);
}

ht_status ht_init_comm(MPI_Comm world)
{
    int initialized = 0, finalized = 0;

    if (starts > 0) {
        starts++;
        return HT_SUCCESS;
    }
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (finalized)
        return HT_FAIL(NULL, HT_ERR_STATE, "ht_init_comm: MPI is finalised and cannot start again");
    if (!initialized)
        return HT_FAIL(NULL, HT_ERR_STATE, "ht_init_comm: call MPI_Init first");
    if (world == MPI_COMM_NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "ht_init_comm: comm is MPI_COMM_NULL");
    return start(world);
}

/* main returns only 8 bits of it: 256 objects would be success. */
static int end(int leaks)
{
    ht__process.ended_by = "ht_finalize";
    ht__process.ended = true;
    return leaks < 255 ? leaks : 255;
}

int ht_finalize(void)
{
    int leaks;

    if (starts == 0 || --starts > 0) /* 0 after the program's MPI_Finalize, too */
        return 0;
    ht__process.initialized = false;
    ht__mpi_end_forget();
    ht__run_at_finalize();
    ht__timeline_report();

    const char *outer = ht__watch_guard("ht_finalize");

    /* A rank that ends early is to be found waiting here, while its watchdog can still say so. */
    ht__begin(ht__comm_world_if_any(), (ht_call){.what = "ht_finalize"});
    ht__watch_meet(ht__comm_world_if_any(), "ht_finalize");
    ht__compare_end(ht__comm_world_if_any());
    ht__links_end_all();
    ht__core_finalize();
    ht__exchange_end();
    ht__timeline_close();
    ht__comm_end();
    leaks = ht__object_report_leaks();
    ht__types_end();
    ht__mpi_errors_end();
    ht__abort_end();
    ht__comm_free_all();
    ht__watch_unguard(outer);
    ht__watch_end();
    if (finalize_mpi)
        MPI_Finalize();
    finalize_mpi = false;
    return end(leaks);
}
