/* SPDX-License-Identifier: MIT
 *
 * Runs programs about files, and shrinks those that fail to the acts that matter. */
#include "fuzz/files/files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ht.h"

static const struct world *const worlds[] = {&world_place, &world_hdf5, &world_foreign,
                                             &world_log,   &world_keep, &world_states,
                                             &world_tables};
enum { WORLDS = sizeof worlds / sizeof *worlds };

struct act {
    const struct act_row *row;
    uint64_t n[ACT_NUMBERS];
    bool dead; /* taken out while shrinking */
};

struct file_program {
    const struct world *world;
    int count;
    struct act at[MOST_ACTS];
};

void wrong(struct files *files, const char *format, ...)
{
    va_list arguments;

    if (files->failure[0] != '\0')
        return;
    va_start(arguments, format);
    vsnprintf(files->failure, sizeof files->failure, format, arguments);
    va_end(arguments);
}

void say(struct files *files, const char *format, ...)
{
    size_t used = strlen(files->said);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(files->said + used, sizeof files->said - used, format, arguments);
    va_end(arguments);
}

ht_status status_of(const void *result)
{
    if (result != NULL)
        return HT_SUCCESS;
    return ht_error_get(NULL) != HT_SUCCESS ? ht_error_get(NULL) : HT_ERROR_COUNT;
}

ht_status expect(struct files *files, const char *what, ht_status status, int want)
{
    char text[1024];
    int mine[2] = {(int)status, -(int)status}, most[2];
    const char *message;
    ht_status kept = ht_error_get(&message);

    snprintf(text, sizeof text, "%s", message);
    ht_error_clear();
    MPI_Allreduce(mine, most, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (most[0] != -most[1])
        wrong(files, "%s: %s on one rank and %s on another", what,
              ht_status_name((ht_status)-most[1]), ht_status_name((ht_status)most[0]));
    else if (status == HT_ERROR_COUNT)
        wrong(files, "%s: NULL without an error", what);
    else if (kept != status)
        wrong(files, "%s: returns %s and leaves the error %s (%s)", what, ht_status_name(status),
              ht_status_name(kept), text);
    else if (want == ANY_ERROR ? status == HT_SUCCESS : want >= 0 && (int)status != want)
        wrong(files, "%s: %s (%s) where %s is right", what, ht_status_name(status), text,
              want >= 0 ? ht_status_name((ht_status)want) : "an error");
    return (ht_status)most[0];
}

const char *in_folder(const struct files *files, const char *name)
{
    static char paths[8][600];
    static unsigned next;
    char *path = paths[next++ % 8];

    snprintf(path, sizeof paths[0], "%s/%s", files->folder, name);
    return path;
}

uint64_t content_of(const struct files *files, const char *path)
{
    uint64_t hash = 0;

    if (files->rank == 0) {
        FILE *file = fopen(path, "rb");

        for (int c; file != NULL && (c = fgetc(file)) != EOF;)
            hash = hash_of(hash, (uint64_t)c);
        if (file != NULL)
            fclose(file);
    }
    MPI_Bcast(&hash, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    return hash;
}

double strange_number(uint64_t n)
{
    static const double numbers[] = {0.0, -0.0, 1.5, -1e300, 5e-324, 9007199254740992.0, 1e15};

    return numbers[n % (sizeof numbers / sizeof *numbers)];
}

/* Removes everything in the folder and its folders; rank 0's work. */
static void empty_folder(const char *folder)
{
    DIR *stream = opendir(folder);
    struct dirent *item;
    char path[800];

    while (stream != NULL && (item = readdir(stream)) != NULL) {
        if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, item->d_name);
        if (unlink(path) != 0)
            empty_folder(path);
        rmdir(path);
    }
    if (stream != NULL)
        closedir(stream);
}

static bool any_is_wrong(struct files *files)
{
    struct {
        int failed, rank;
    } mine = {files->failure[0] != '\0', files->rank}, one;

    MPI_Allreduce(&mine, &one, 1, MPI_2INT, MPI_MAXLOC, MPI_COMM_WORLD);
    if (one.failed)
        MPI_Bcast(files->failure, sizeof files->failure, MPI_CHAR, one.rank, MPI_COMM_WORLD);
    return one.failed;
}

static void run_act(struct files *files, const struct world *world, int number,
                    const struct act *act)
{
    files->said[0] = '\0';
    if (files->trace && files->rank == 0)
        fprintf(stderr, "  %d %s", number, act->row->name);
    act->row->run(files, act->n);
    if (files->trace && files->rank == 0)
        fprintf(stderr, "%s\n", files->said);
    ht_barrier(HT_COMM_WORLD);
    if (world->look != NULL)
        world->look(files);
    if (any_is_wrong(files))
        snprintf(files->act, sizeof files->act, "act %d (%s%s): ", number, act->row->name,
                 files->said);
}

static bool run_program(const struct file_program *program, struct files *files)
{
    int64_t objects = objects_alive();
    ht_scope *scope = ht_scope_open();

    files->failure[0] = files->act[0] = '\0';
    files->rank = ht_comm_rank(HT_COMM_WORLD);
    files->size = ht_comm_size(HT_COMM_WORLD);
    snprintf(files->folder, sizeof files->folder, "%s/files", fuzz_folder);
    if (files->rank == 0 && mkdir(files->folder, 0777) != 0 && errno == EEXIST)
        empty_folder(files->folder);
    ht_barrier(HT_COMM_WORLD);
    program->world->begin(files);
    for (int i = 0; i < program->count && files->failure[0] == '\0'; i++) {
        if (!program->at[i].dead)
            run_act(files, program->world, i, &program->at[i]);
    }
    program->world->end(files);
    ht_scope_close(scope);
    ht_error_clear();
    if (files->failure[0] == '\0' && objects_alive() != objects)
        wrong(files, "%lld objects are left", (long long)(objects_alive() - objects));
    ht_barrier(HT_COMM_WORLD);
    if (files->rank == 0)
        empty_folder(files->folder);
    return !any_is_wrong(files);
}

static void make_program(struct file_program *program, uint64_t seed)
{
    struct random random = {hash_of(seed, 4711)};
    int all = 0;

    program->world = worlds[random_below(&random, WORLDS)];
    program->count = 2 + (int)random_below(&random, MOST_ACTS - 2);
    for (const struct act_row *row = program->world->rows; row->name != NULL; row++)
        all += row->weight;
    for (int i = 0; i < program->count; i++) {
        struct act *act = &program->at[i];
        int at = (int)random_below(&random, all);

        for (act->row = program->world->rows; (at -= act->row->weight) >= 0;)
            act->row++;
        for (int k = 0; k < ACT_NUMBERS; k++)
            act->n[k] = random_next(&random) >> 8;
        act->dead = false;
    }
}

static struct files trial;

static bool still_fails(const struct file_program *program, const struct files *found)
{
    trial.trace = false;
    return !run_program(program, &trial) && same_failure(trial.failure, found->failure);
}

static void shrink(struct file_program *program, struct files *found)
{
    for (int round = 0; round < 2; round++) {
        for (int i = program->count - 1; i >= 0; i--) {
            if (program->at[i].dead)
                continue;
            program->at[i].dead = true;
            program->at[i].dead = still_fails(program, found);
            for (int k = 0; k < ACT_NUMBERS && !program->at[i].dead; k++) {
                uint64_t kept = program->at[i].n[k];

                program->at[i].n[k] = 0;
                if (kept != 0 && !still_fails(program, found))
                    program->at[i].n[k] = kept;
            }
        }
    }
    if (still_fails(program, found))
        *found = trial;
}

bool family_files(uint64_t seed, bool trace)
{
    static struct files files;
    static struct file_program program;

    make_program(&program, seed);
    files.trace = trace;
    if (run_program(&program, &files))
        return true;
    shrink(&program, &files);
    if (files.rank == 0)
        fprintf(stderr, "fuzz: files, seed %llu, %d ranks, %s: %s%s\n", (unsigned long long)seed,
                files.size, program.world->name, files.act, files.failure);
    files.trace = true;
    run_program(&program, &files);
    return false;
}
