/* SPDX-License-Identifier: MIT
 *
 * usage: fuzz [--seed N] [--cases N] [--seconds S] [--only FAMILY] [--folder PATH] [--failures N]
 * [--defects NAME] [--trace] Runs cases until the time is over, or as many as asked for. Status 1:
 * a case failed, and was printed with its seed: --seed N --cases 1 --only FAMILY is that case
 * again. The seed and family of the case that runs are in PATH/fuzz.case, for those that do not
 * come back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

const char *fuzz_folder = ".";
const char *fuzz_defects;

static const struct family {
    const char *name;
    bool (*run)(uint64_t seed, bool trace);
    int share; /* of the cases */
} families[] = {{"core", family_core, 20},
                {"comm", family_comm, 2},
                {"train", family_train, 1},
                {"loader", family_loader, 1},
                {"damage", family_damage, 1},
                {"files", family_files, 1},
                {NULL, NULL, 0}};

static const struct family *family_of(uint64_t seed, const char *only)
{
    int all = 0, at;

    for (const struct family *family = families; family->name != NULL; family++) {
        if (only != NULL && strcmp(only, family->name) == 0)
            return family;
        all += family->share;
    }
    at = (int)(hash_of(seed, 99) % (uint64_t)all);
    for (const struct family *family = families; family->name != NULL; family++) {
        at -= family->share;
        if (at < 0)
            return family;
    }
    return NULL;
}

/* What runs, and since when; rank 0's clock is everybody's. */
static void note_case(const char *name, uint64_t seed)
{
    char path[512];
    FILE *file;

    snprintf(path, sizeof path, "%s/fuzz.case", fuzz_folder);
    file = fopen(path, "w");
    if (file == NULL)
        return;
    fprintf(file, "--only %s --seed %llu\n", name, (unsigned long long)seed);
    fclose(file);
}

static bool time_is_over(double begin, double seconds)
{
    int over = MPI_Wtime() - begin > seconds;

    MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return over;
}

int main(int argc, char **argv)
{
    uint64_t seed = 1, failed = 0, count = 0, cases = UINT64_MAX, most = 5;
    double seconds = 1e9, begin;
    const char *only = NULL;
    bool trace = false;
    int rank;

    if (ht_init(&argc, &argv) != HT_SUCCESS)
        return 1;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    ht_log_set_level(HT_LOG_ERROR);
    rank = ht_comm_rank(HT_COMM_WORLD);
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "0";

        if (strcmp(argv[i], "--trace") == 0) {
            trace = true;
            continue;
        }
        if (strcmp(argv[i], "--seed") == 0)
            seed = strtoull(value, NULL, 0);
        else if (strcmp(argv[i], "--cases") == 0)
            cases = strtoull(value, NULL, 0);
        else if (strcmp(argv[i], "--defects") == 0)
            fuzz_defects = value;
        else if (strcmp(argv[i], "--failures") == 0)
            most = strtoull(value, NULL, 0);
        else if (strcmp(argv[i], "--seconds") == 0)
            seconds = strtod(value, NULL);
        else if (strcmp(argv[i], "--only") == 0)
            only = value;
        else if (strcmp(argv[i], "--folder") == 0)
            fuzz_folder = value;
        i++;
    }
    begin = MPI_Wtime();
    while (count < cases && failed < most && !time_is_over(begin, seconds)) {
        const struct family *family = family_of(seed + count, only);

        if (rank == 0)
            note_case(family->name, seed + count);
        failed += !family->run(seed + count, trace);
        count++;
    }
    if (rank == 0)
        printf("%llu cases, %llu failed, %.0f a minute\n", (unsigned long long)count,
               (unsigned long long)failed, (double)count * 60 / (MPI_Wtime() - begin));
    ht_finalize();
    return failed > 0;
}
