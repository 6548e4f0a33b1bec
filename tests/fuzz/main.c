/* SPDX-License-Identifier: MIT
 *
 * Runs cases until the time is over, or as many as asked for. The seed and family of the case that
 * runs are in PATH/fuzz.case, for those that do not come back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"

const char *fuzz_folder = ".";

static const struct family {
    const char *name;
    bool (*run)(uint64_t seed, bool trace);
    int share; /* of the cases */
} families[] = {{"core", family_core, 20},          {"layers", family_layers, 6},
                {"starved", family_starved, 2},     {"comm", family_comm, 2},
                {"exchange", family_exchange, 1},   {"train", family_train, 1},
                {"loader", family_loader, 1},       {"optimizers", family_optimizers, 2},
                {"schedules", family_schedules, 1}, {"damage", family_damage, 1},
                {"files", family_files, 1},         {"faults", family_faults, 1},
                {"agrees", family_agrees, 1},       {"states", family_states, 1},
                {"daso", family_daso, 1},           {NULL, NULL, 0}};

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

/* The running case, and its start; rank 0's clock decides for all. */
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

static struct options {
    uint64_t seed, cases, failures;
    double seconds;
    const char *only, *device;
    bool trace, help;
} options = {.seed = 1, .cases = UINT64_MAX, .failures = 5, .seconds = 1e9};

enum value { NOTHING, COUNT, SECONDS, TEXT };
static const struct option {
    const char *name, *value, *help;
    enum value kind;
    void *to;
} table[] = {{"--seed", "N", "the first case's [1]", COUNT, &options.seed},
             {"--cases", "N", "how many [no limit]", COUNT, &options.cases},
             {"--seconds", "S", "how long [no limit]", SECONDS, &options.seconds},
             {"--failures", "N", "how many end the run [5]", COUNT, &options.failures},
             {"--only", "FAMILY", "one family of cases", TEXT, &options.only},
             {"--device", "NAME", "where tensors are made [cpu]", TEXT, &options.device},
             {"--folder", "PATH", "for files, the same on all ranks [.]", TEXT, &fuzz_folder},
             {"--trace", "", "statements as they come", NOTHING, &options.trace},
             {"--help", "", "this", NOTHING, &options.help},
             {NULL, NULL, NULL, NOTHING, NULL}};

static void help(FILE *to)
{
    fputs(
        "usage: mpirun -n RANKS fuzz [OPTION]...\n"
        "Random programs against plain references. Status 1: a case failed, and was printed with\n"
        "its seed; --only FAMILY --seed N --cases 1 is that case again.\n\n",
        to);
    for (const struct option *option = table; option->name != NULL; option++)
        fprintf(to, "  %-10s %-7s %s\n", option->name, option->value, option->help);
    fputs("families:", to);
    for (const struct family *family = families; family->name != NULL; family++)
        fprintf(to, " %s", family->name);
    fputc('\n', to);
}

static bool refuse(const char *text, const char *value)
{
    if (ht_comm_rank(HT_COMM_WORLD) == 0)
        fprintf(stderr, "fuzz: %s '%s' (see --help)\n", text, value);
    return false;
}

/* Sets what the option is for; false: it has no such value. */
static bool take(const struct option *option, const char *value)
{
    char *end = NULL;

    if (option->kind == NOTHING)
        *(bool *)option->to = true;
    else if (option->kind == COUNT)
        *(uint64_t *)option->to = strtoull(value, &end, 0);
    else if (option->kind == SECONDS)
        *(double *)option->to = strtod(value, &end);
    else
        *(const char **)option->to = value;
    return end == NULL || (end != value && *end == '\0');
}

static const struct option *option_of(const char *name)
{
    const struct option *option = table;

    while (option->name != NULL && strcmp(option->name, name) != 0)
        option++;
    return option->name != NULL ? option : NULL;
}

static bool is_family(const char *name)
{
    for (const struct family *family = families; family->name != NULL; family++) {
        if (strcmp(family->name, name) == 0)
            return true;
    }
    return false;
}

static bool read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const struct option *option = option_of(argv[i]);
        bool has_value = option != NULL && option->kind != NOTHING;

        if (option == NULL)
            return refuse("expected an option, got", argv[i]);
        if (has_value && i + 1 == argc)
            return refuse("no value follows", argv[i]);
        if (!take(option, has_value ? argv[i + 1] : ""))
            return refuse("expected a number, got", argv[i + 1]);
        i += has_value;
    }
    return options.only == NULL || is_family(options.only) ||
           refuse("expected a family, got", options.only);
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0)
            return true;
    }
    return false;
}

static int run_cases(void)
{
    uint64_t failed = 0, count = 0;
    double begin = MPI_Wtime();
    int rank = ht_comm_rank(HT_COMM_WORLD);

    while (count < options.cases && failed < options.failures &&
           !time_is_over(begin, options.seconds)) {
        uint64_t seed = options.seed + count++;
        const struct family *family = family_of(seed, options.only);

        if (rank == 0)
            note_case(family->name, seed);
        failed += !family->run(seed, options.trace);
    }
    if (rank == 0)
        printf("%llu cases, %llu failed, %.0f a minute\n", (unsigned long long)count,
               (unsigned long long)failed, (double)count * 60 / (MPI_Wtime() - begin));
    return failed > 0;
}

int main(int argc, char **argv)
{
    int status;

    if (asks_for_help(argc, argv)) {
        help(stdout);
        return 0;
    }
    if (ht_init(&argc, &argv) != HT_SUCCESS)
        return 1;
    if (!read_options(argc, argv)) {
        ht_finalize();
        return 2;
    }
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    ht_log_set_level(HT_LOG_ERROR);
    if (options.device != NULL && ht_use_device(ht_device_get(options.device)) != HT_SUCCESS)
        return 1;
    status = run_cases();
    every_second_rank_end();
    return ht_finalize() > 0 || status; /* the number of leaks */
}
