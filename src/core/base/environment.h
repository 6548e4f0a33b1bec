/* SPDX-License-Identifier: MIT
 *
 * The environment variables that the library reads: all of them, and the only way to read one. An
 * invalid value counts as not set, and rank 0 logs it once. doc/environment.md describes the
 * variables; a test compares it with this list. */
#ifndef HT_CORE_BASE_ENVIRONMENT_H
#define HT_CORE_BASE_ENVIRONMENT_H

#include <stdbool.h>

/* The name, and what may stand in it:
 * FLAG    0 or 1
 * CHOICE  one of these words
 * COUNT   a whole number from 1
 * NUMBER  a number from 0, in C's notation whatever the locale
 * PAIR    two whole numbers with a colon in between, and maybe :tensors
 * TEXT    anything */
#define HT_ENV_LIST(X)                                           \
    X(HT_BACKEND_PATH, TEXT, "folders")                          \
    X(HT_BUCKET_CAP_MB, NUMBER, "a number of MiB of at least 0") \
    X(HT_DEBUG_COLLECTIVE, FLAG, "0|1")                          \
    X(HT_DEBUG_FAIL_ALLOC, PAIR, "rank:n[:tensors]")             \
    X(HT_DEBUG_ONE_AS_MANY, FLAG, "0|1")                         \
    X(HT_EXCHANGE, CHOICE, "shared|messages")                    \
    X(HT_FALLBACK, CHOICE, "error|count")                        \
    X(HT_IO_THREADS, FLAG, "0|1")                                \
    X(HT_JOB, TEXT, "the value that ht-run sets")                \
    X(HT_LEAK_CHECK, FLAG, "0|1")                                \
    X(HT_LOG, CHOICE, "error|warn|info|debug")                   \
    X(HT_PROGRESS_THREAD, FLAG, "0|1")                           \
    X(HT_RANKS_PER_NODE, COUNT, "an integer of at least 1")      \
    X(HT_RESUME_JOB, TEXT, "the value that ht-run sets")         \
    X(HT_SIMD, CHOICE, "baseline|avx2|avx512")                   \
    X(HT_TIMELINE, TEXT, "a file")                               \
    X(HT_TIMEOUT, NUMBER, "a number of seconds of at least 0")   \
    X(OMPI_COMM_WORLD_RANK, TEXT, "the value that mpirun sets")  \
    X(OMPI_MCA_osc_sm_backing_directory, TEXT, "a folder")       \
    X(OMP_NUM_THREADS, TEXT, "an integer of at least 1")         \
    X(OPENBLAS_CORETYPE, TEXT, "the name of a core")

typedef enum ht_env {
#define HT_ENV_ROW(name, kind, allowed) HT_ENV_##name,
    HT_ENV_LIST(HT_ENV_ROW)
#undef HT_ENV_ROW
        HT_ENV_COUNT
} ht_env;

/* The value of a variable; NULL: not set, empty, or invalid. */
const char *ht__env_text(ht_env variable);

bool ht__env_flag(ht_env variable);                   /* 1 */
bool ht__env_number(ht_env variable, double *number); /* false: not set; *number stays */
int ht__env_count(ht_env variable);                   /* 0: not set */
int ht__env_choice(ht_env variable);                  /* its place in the list; -1: not set */

/* Its name; what may stand in it, as text for messages; and what it is set to where that is not
 * allowed, else NULL. */
const char *ht__env_name(ht_env variable);
const char *ht__env_allowed(ht_env variable);
const char *ht__env_refused(ht_env variable);

/* Warns of invalid values, and of unknown names with HT_ in front (environment_check.c). */
void ht__env_check(void);

#endif
