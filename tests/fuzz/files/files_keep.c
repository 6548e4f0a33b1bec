/* SPDX-License-Identifier: MIT
 *
 * The best files by a metric: their existence and content, compared with a list of the fuzzer's.
 * Epochs run again, saves that fail on one rank, and runs that resume. */
#include "fuzz/files/files.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ht.h"

enum { MOST_KEPT = 4 };

struct kept {
    double metric;
    int epoch;
    int number; /* of the step that saved it: the file's content */
};

static struct {
    ht_keep_best *best; /* owned */
    int keep;
    bool maximize;
    struct kept kept[MOST_KEPT + 1]; /* best first */
    int count, steps;
    int fails_on; /* rank whose save fails; -1: none */
} model;

static struct files *current;

static ht_status save(const char *path, void *user)
{
    FILE *file;

    (void)user;
    if (current->rank == model.fails_on)
        return HT_ERR_IO;
    if (current->rank != 0 || model.fails_on >= 0)
        return HT_SUCCESS;
    file = fopen(path, "w");
    if (file == NULL)
        return HT_ERR_IO;
    fprintf(file, "%d", model.steps);
    fclose(file);
    return HT_SUCCESS;
}

static void make_keeper(struct files *files)
{
    model.best = ht_keep_best_new(in_folder(files, "best"), model.keep, model.maximize, save, NULL,
                                  HT_COMM_WORLD);
}

static void begin(struct files *files)
{
    memset(&model, 0, sizeof model);
    current = files;
    model.keep = 2;
    model.fails_on = -1;
    make_keeper(files);
}

static void end(struct files *files)
{
    (void)files;
    ht_release(model.best);
}

/* Other settings, and nothing kept yet. */
static void start_again(struct files *files, const uint64_t n[])
{
    ht_release(model.best);
    model.keep = 1 + (int)(n[0] % MOST_KEPT);
    model.maximize = n[1] % 2 == 1;
    say(files, ", keep %d, %s", model.keep, model.maximize ? "largest" : "smallest");
    if (files->rank == 0) {
        for (int epoch = 0; epoch < 16; epoch++) {
            char name[32];

            snprintf(name, sizeof name, "best-%d.h5", epoch);
            unlink(in_folder(files, name));
        }
    }
    ht_barrier(HT_COMM_WORLD);
    model.count = 0;
    make_keeper(files);
}

static bool is_better(const struct kept *a, const struct kept *b)
{
    if (a->metric == b->metric)
        return a->epoch < b->epoch;
    return model.maximize ? a->metric > b->metric : a->metric < b->metric;
}

static void forget_one(int at)
{
    memmove(&model.kept[at], &model.kept[at + 1],
            (size_t)(--model.count - at) * sizeof *model.kept);
}

/* In the fuzzer's list; whether it is kept. */
static bool take(struct kept new)
{
    int at = 0, before = 0;

    if (isnan(new.metric))
        return false;
    while (before < model.count && model.kept[before].epoch != new.epoch)
        before++;
    if (before < model.count && !is_better(&new, &model.kept[before]))
        return false;
    while (at < model.count && !is_better(&new, &model.kept[at]))
        at++;
    if (at >= model.keep)
        return false;
    if (before < model.count)
        forget_one(before);
    memmove(&model.kept[at + 1], &model.kept[at], (size_t)(model.count - at) * sizeof *model.kept);
    model.kept[at] = new;
    model.count++;
    if (model.count > model.keep)
        model.count = model.keep;
    return true;
}

static void step(struct files *files, const uint64_t n[])
{
    static const double metrics[] = {0.5, 0.25, 0.75, 1, -1, INFINITY, NAN, 0.5};
    struct kept new = {metrics[n[0] % 8], (int)(n[1] % 9), ++model.steps};
    int want = HT_SUCCESS;
    struct kept before[MOST_KEPT + 1];
    int count = model.count;

    memcpy(before, model.kept, sizeof before);
    model.fails_on = n[2] % 6 == 0 ? (int)(n[3] % (uint64_t)files->size) : -1;
    say(files, " epoch %d, %g%s", new.epoch, new.metric,
        model.fails_on >= 0 ? ", where saving fails on a rank" : "");
    if (take(new) && model.fails_on >= 0) {
        want = HT_ERR_IO;
        memcpy(model.kept, before, sizeof before);
        model.count = count;
    }
    expect(files, "ht_keep_best_step", ht_keep_best_step(model.best, new.metric, new.epoch), want);
}

static void step_wrongly(struct files *files, const uint64_t n[])
{
    bool mine = files->rank == files->size - 1 && files->size > 1;

    model.fails_on = -1;
    if (files->size > 1)
        expect(files, "ht_keep_best_step",
               ht_keep_best_step(model.best, mine ? 1 : 2, (int64_t)(n[0] % 9)), HT_ERR_ARGUMENT);
}

static void resume(struct files *files, const uint64_t n[])
{
    ht_value *state = ht_keep_best_state_dict(model.best);

    (void)n;
    ht_release(model.best);
    make_keeper(files);
    expect(files, "ht_keep_best_load_state_dict", ht_keep_best_load_state_dict(model.best, state),
           HT_SUCCESS);
}

static void look_at_one(struct files *files, int index)
{
    const struct kept *kept = &model.kept[index];
    const char *path = ht_keep_best_path(model.best, index);
    char name[32], text[32] = "";
    FILE *file;

    snprintf(name, sizeof name, "best-%d.h5", kept->epoch);
    if (path == NULL || strcmp(path, in_folder(files, name)) != 0) {
        wrong(files, "number %d is %s, and %s is right", index, path != NULL ? path : "nothing",
              name);
        return;
    }
    file = files->rank == 0 ? fopen(path, "r") : NULL;
    if (file != NULL) {
        if (fgets(text, sizeof text, file) == NULL)
            text[0] = '\0';
        fclose(file);
    }
    if (files->rank == 0 && atoi(text) != kept->number)
        wrong(files, "%s was saved in step %s, and step %d is right", name, text, kept->number);
}

static void look(struct files *files)
{
    int count = ht_keep_best_count(model.best), seen = 0;
    DIR *stream = files->rank == 0 ? opendir(files->folder) : NULL;
    struct dirent *item;

    if (count != model.count)
        wrong(files, "%d are kept, and %d is right", count, model.count);
    for (int i = 0; i < model.count && i < count; i++)
        look_at_one(files, i);
    while (stream != NULL && (item = readdir(stream)) != NULL)
        seen += item->d_name[0] != '.';
    if (stream != NULL)
        closedir(stream);
    if (files->rank == 0 && seen != model.count)
        wrong(files, "%d files are there, and %d is right", seen, model.count);
}

static const struct act_row rows[] = {{"start again", 1, start_again},
                                      {"step", 12, step},
                                      {"step with another metric on a rank", 1, step_wrongly},
                                      {"resume", 2, resume},
                                      {NULL, 0, NULL}};

const struct world world_keep = {"keep", rows, begin, look, end};
