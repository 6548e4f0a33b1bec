/* SPDX-License-Identifier: MIT
 *
 * Checkpoints in places of every kind: saves and loads, directly and through links, over other
 * files, folders and FIFOs, with those before missing, damaged or of other jobs. */
#include "fuzz/files/files.h"

#include <dirent.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ht.h"

enum thing { NOTHING, SAVED, OTHER /* a file that is not a checkpoint */, FOLDER, FIFO, LINK };
static const char *const things[] = {"nothing",  "a checkpoint", "another file",
                                     "a folder", "a FIFO",       "a link"};

enum { AGES = 5, JOBS = 3 };

/* FILE, FILE.1, ... */
struct slot {
    enum thing thing;
    uint64_t id, content;
    int job; /* 0: without a name */
    mode_t mode;
};

static struct {
    struct slot at[AGES];
    enum thing part; /* FILE.part, left by another program */
    bool linked;     /* link.h5 -> sub/../mid.h5 -> run.h5 */
} model;

static const char *name_of(int age)
{
    static char names[4][32];
    static unsigned next;
    char *name = names[next++ % 4];

    snprintf(name, sizeof names[0], age > 0 ? "run.h5.%d" : "run.h5", age);
    return name;
}

static const char *path_of(const struct files *files, uint64_t n)
{
    return in_folder(files, model.linked && n % 2 == 1 ? "link.h5" : "run.h5");
}

static void put_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    if (file != NULL) {
        fputs(text, file);
        fclose(file);
    }
}

static void begin(struct files *files)
{
    memset(&model, 0, sizeof model);
    if (files->rank == 0) {
        put_text(in_folder(files, "victim"), "of another program");
        mkdir(in_folder(files, "sub"), 0777);
    }
    umask(022);
}

static void set_job(const char *name, int job)
{
    char text[16];

    snprintf(text, sizeof text, "job %d", job);
    if (job > 0)
        setenv(name, text, 1);
    else
        unsetenv(name);
}

static void end(struct files *files)
{
    (void)files;
    set_job("HT_JOB", 0);
    set_job("HT_RESUME_JOB", 0);
    setlocale(LC_NUMERIC, "C");
}

/* The kind of file that rank 0 finds at the path. */
static enum thing thing_at(const char *path)
{
    struct stat info;

    if (lstat(path, &info) != 0)
        return NOTHING;
    return S_ISREG(info.st_mode)    ? OTHER
           : S_ISDIR(info.st_mode)  ? FOLDER
           : S_ISFIFO(info.st_mode) ? FIFO
                                    : LINK;
}

static bool is_known(const char *name)
{
    static const char *const always[] = {".", "..", "victim", "sub"};

    for (int i = 0; i < 4; i++) {
        if (strcmp(name, always[i]) == 0)
            return true;
    }
    for (int age = 0; age < AGES; age++) {
        if (strcmp(name, name_of(age)) == 0)
            return model.at[age].thing != NOTHING;
    }
    if (strcmp(name, "run.h5.part") == 0)
        return model.part != NOTHING;
    return model.linked && (strcmp(name, "link.h5") == 0 || strcmp(name, "mid.h5") == 0);
}

static void look_at_names(struct files *files)
{
    DIR *stream = files->rank == 0 ? opendir(files->folder) : NULL;
    struct dirent *item;

    while (stream != NULL && (item = readdir(stream)) != NULL) {
        if (!is_known(item->d_name))
            wrong(files, "%s is left in the folder", item->d_name);
    }
    if (stream != NULL)
        closedir(stream);
}

static void look_at_slot(struct files *files, int age)
{
    const struct slot *slot = &model.at[age];
    enum thing wanted = slot->thing == SAVED ? OTHER : slot->thing;
    const char *path = in_folder(files, name_of(age));
    struct stat info;

    if (files->rank != 0)
        return;
    if (thing_at(path) != wanted)
        wrong(files, "%s is %s, and was %s", name_of(age), things[thing_at(path)], things[wanted]);
    else if (wanted == OTHER && stat(path, &info) == 0 && (info.st_mode & 0777) != slot->mode)
        wrong(files, "%s has the permissions %o, and had %o", name_of(age),
              (unsigned)info.st_mode & 0777, (unsigned)slot->mode);
}

static void look(struct files *files)
{
    char text[32] = "";
    FILE *file;

    look_at_names(files);
    for (int age = 0; age < AGES; age++) {
        const struct slot *slot = &model.at[age];

        look_at_slot(files, age);
        if ((slot->thing == SAVED || slot->thing == OTHER) &&
            content_of(files, in_folder(files, name_of(age))) != slot->content)
            wrong(files, "%s has other content", name_of(age));
    }
    if (files->rank != 0)
        return;
    if (thing_at(in_folder(files, "run.h5.part")) != model.part)
        wrong(files, "run.h5.part is %s, and was %s",
              things[thing_at(in_folder(files, "run.h5.part"))], things[model.part]);
    if (model.linked && (thing_at(in_folder(files, "link.h5")) != LINK ||
                         thing_at(in_folder(files, "mid.h5")) != LINK))
        wrong(files, "a link is gone");
    file = fopen(in_folder(files, "victim"), "r");
    if (file != NULL) {
        if (fgets(text, sizeof text, file) == NULL)
            text[0] = '\0';
        fclose(file);
    }
    if (strcmp(text, "of another program") != 0)
        wrong(files, "the file of another program was written to");
}

/* Whether something new can be written to FILE now; the library's error otherwise. */
static ht_status can_write(void)
{
    return model.at[0].thing == FOLDER || model.at[0].thing == FIFO || model.part == FOLDER
               ? HT_ERR_IO
               : HT_SUCCESS;
}

static void replace(struct files *files, enum thing thing)
{
    struct slot *now = &model.at[0];

    if (now->thing != SAVED && now->thing != OTHER)
        now->mode = 0644;
    now->thing = thing;
    now->content = content_of(files, in_folder(files, "run.h5"));
    model.part = NOTHING;
}

static void rotate(int keep)
{
    for (int age = keep - 1; age > 1; age--) {
        if (model.at[age - 1].thing == NOTHING)
            continue;
        model.at[age] = model.at[age - 1];
        model.at[age - 1].thing = NOTHING;
    }
    if (keep > 1 && model.at[0].thing != NOTHING)
        model.at[1] = model.at[0];
}

static void save(struct files *files, const uint64_t n[])
{
    ht_checkpoint_options options = ht_checkpoint_options_default();
    const char *path = path_of(files, n[2]);
    ht_status right = can_write(), status;
    int job = (int)(n[3] % JOBS);

    options.keep = 1 + (int)(n[1] % (AGES - 1));
    say(files, " %llu to %s, keep %d, job %d", (unsigned long long)n[0], path, options.keep, job);
    set_job("HT_JOB", job);
    status = ht_checkpoint_save(value_of_id(n[0]), path, HT_COMM_WORLD, &options);
    expect(files, "ht_checkpoint_save", status, (int)right);
    if (right != HT_SUCCESS || status != HT_SUCCESS)
        return;
    rotate(options.keep);
    model.at[0].id = n[0];
    model.at[0].job = job;
    replace(files, SAVED);
}

static void save_something_else(struct files *files, const uint64_t n[])
{
    static const int64_t shape[] = {3, 2};
    ht_tensor *x = ht_full(2, shape, 7, HT_FLOAT32, n[0] % 2 == 0 ? 0 : HT_NONE);
    const char *path = path_of(files, n[2]);
    ht_status right = can_write();

    say(files, " by ht_save_hdf5 to %s", path);
    expect(files, "ht_save_hdf5", ht_save_hdf5(x, path, "x", "w"), (int)right);
    if (right == HT_SUCCESS)
        replace(files, OTHER);
}

/* A value that is not a state, or a path where no file can be. */
static void save_wrongly(struct files *files, const uint64_t n[])
{
    static const char *const keys[] = {"", ".", "a/b", "@x"};
    static const char *const places[] = {"nowhere/run.h5", ".", "sub", ""};
    int kind = (int)(n[0] % 11);
    ht_value *state = value_of_id(n[1]);
    const char *path = path_of(files, n[2]);
    ht_checkpoint_options options = ht_checkpoint_options_default();
    int want = HT_ERR_ARGUMENT;

    say(files, " of kind %d", kind);
    if (kind < 4) {
        ht_value_set(state, keys[kind], ht_value_number(1));
    } else if (kind < 8) {
        path = kind < 7 ? in_folder(files, places[kind - 4]) : "";
        want = kind < 7 ? HT_ERR_IO : HT_ERR_ARGUMENT;
    } else if (kind == 8) {
        options.keep = 0;
    } else if (kind == 9 && files->size > 1) {
        if (files->rank == files->size - 1)
            ht_value_set(state, "mine", ht_value_number(1));
    } else if (files->rank == files->size - 1) {
        state = ht_value_number(3); /* on one rank */
    }
    expect(files, "ht_checkpoint_save", ht_checkpoint_save(state, path, HT_COMM_WORLD, &options),
           want);
}

static ht_status error_of(const struct slot *slot)
{
    return slot->thing == NOTHING || slot->thing == FOLDER || slot->thing == FIFO ? HT_ERR_IO
                                                                                  : HT_ERR_FORMAT;
}

static void check_loaded(struct files *files, const ht_value *value, const struct slot *slot)
{
    char why[200];

    if (value != NULL && slot != NULL && !value_is_of_id(value, slot->id, why))
        wrong(files, "the loaded value: %s", why);
}

static void load_one(struct files *files, const uint64_t n[])
{
    const struct slot *slot = &model.at[0];
    ht_value *value = ht_checkpoint_load(path_of(files, n[2]), HT_COMM_WORLD, NULL);

    expect(files, "ht_checkpoint_load", status_of(value),
           slot->thing == SAVED ? HT_SUCCESS : (int)error_of(slot));
    check_loaded(files, value, slot);
}

static void load_earlier(struct files *files, const uint64_t n[])
{
    ht_checkpoint_options options = ht_checkpoint_options_default();
    int job = (int)(n[0] % JOBS), age = 0, want = HT_SUCCESS;
    const char *path = path_of(files, n[2]);
    ht_value *value;

    say(files, " %s of job %d", path, job);
    options.earlier = true;
    while (age < AGES && (model.at[age].thing != SAVED || (job > 0 && model.at[age].job != job)))
        age++;
    if (age == AGES)
        want = model.at[0].thing == SAVED              ? HT_ERR_STATE
               : model.at[0].thing == OTHER && job > 0 ? ANY_ERROR /* it names no job */
                                                       : (int)error_of(&model.at[0]);
    set_job("HT_RESUME_JOB", job);
    value = ht_checkpoint_load(path, HT_COMM_WORLD, &options);
    set_job("HT_RESUME_JOB", 0);
    expect(files, "ht_checkpoint_load", status_of(value), want);
    check_loaded(files, value, age < AGES ? &model.at[age] : NULL);
}

/* A module without any of its entries loads nothing. */
static void load_as_module(struct files *files, const uint64_t n[])
{
    ht_module *net = ht_nn_linear(2, 3);
    ht_tensor *w = ht_module_find_parameter(net, "weight");
    ht_value *before = ht_value_tensor(ht_copy(ht_detach(w)));
    ht_status right = error_of(&model.at[0]);

    expect(files, "ht_module_load_state",
           ht_module_load_state(net, path_of(files, n[2]), HT_COMM_WORLD), (int)right);
    if (!values_are_equal(before, ht_value_tensor(ht_detach(w))))
        wrong(files, "ht_module_load_state changed a parameter");
    ht_release(net);
}

/* One, or it and those that are newer. */
static void remove_some(struct files *files, const uint64_t n[])
{
    int last = (int)(n[0] % AGES);

    for (int age = n[1] % 2 == 0 ? last : 0; age <= last; age++) {
        say(files, " %s", name_of(age));
        model.at[age].thing = NOTHING;
        if (files->rank == 0)
            remove(in_folder(files, name_of(age))); /* if it was there */
    }
}

static void flip(const char *path, const uint64_t n[])
{
    FILE *file = fopen(path, "r+b");
    unsigned char block[64];
    long size;
    size_t count;

    if (file == NULL)
        return;
    fseek(file, 0, SEEK_END);
    size = ftell(file);
    fseek(file, n[4] % 4 == 0 ? (long)(n[2] % 64) : (long)(n[2] % (uint64_t)size), SEEK_SET);
    count = fread(block, 1, n[1] % 3 == 1 ? 1 : sizeof block, file);
    block[0] ^= (unsigned char)(1u << n[3] % 8);
    if (n[1] % 3 == 2)
        fseek(file, (long)(n[3] % (uint64_t)size), SEEK_SET); /* a block moves */
    else
        fseek(file, -(long)count, SEEK_CUR);
    fwrite(block, 1, count, file);
    fclose(file);
    if (n[1] % 3 == 2 && truncate(path, size) != 0)
        return;
    if (n[1] % 7 == 0 && truncate(path, (long)(n[3] % (uint64_t)size)) != 0)
        return;
}

static void damage(struct files *files, const uint64_t n[])
{
    int age = (int)(n[0] % 3);
    struct slot *slot = &model.at[age];
    uint64_t before = slot->content;

    if (slot->thing != SAVED)
        return;
    say(files, " %s", name_of(age));
    for (int i = 0; i < AGES; i++) { /* two names of one file */
        if (i != age && model.at[i].thing == SAVED && model.at[i].content == before)
            return;
    }
    if (files->rank == 0)
        flip(in_folder(files, name_of(age)), n);
    ht_barrier(HT_COMM_WORLD);
    slot->content = content_of(files, in_folder(files, name_of(age)));
    if (slot->content != before)
        slot->thing = OTHER;
}

static void make_thing(const char *path, enum thing thing, const char *target)
{
    remove(path);
    if (thing == OTHER)
        put_text(path, "not what you think\n");
    else if (thing == FIFO && mkfifo(path, 0600) != 0)
        perror("fuzz: mkfifo");
    else if (thing == FOLDER && mkdir(path, 0700) != 0)
        perror("fuzz: mkdir");
    else if (thing == LINK && symlink(target, path) != 0)
        perror("fuzz: symlink");
}

static void put_in_place(struct files *files, const uint64_t n[])
{
    static const enum thing kinds[] = {OTHER, FIFO, FOLDER};
    int age = (int)(n[0] % 4);
    struct slot *slot = &model.at[age];

    slot->thing = kinds[n[1] % (age == 0 ? 3 : 2)]; /* folders stay where they are */
    slot->mode = 0644;
    say(files, " %s as %s", things[slot->thing], name_of(age));
    if (files->rank == 0)
        make_thing(in_folder(files, name_of(age)), slot->thing, NULL);
    slot->content = content_of(files, slot->thing == OTHER ? in_folder(files, name_of(age)) : "");
}

static void leave_part(struct files *files, const uint64_t n[])
{
    static const enum thing kinds[] = {NOTHING, OTHER, FOLDER, FIFO, LINK};

    model.part = kinds[n[0] % 5];
    say(files, ": %s", things[model.part]);
    if (files->rank == 0)
        make_thing(in_folder(files, "run.h5.part"), model.part, "victim");
}

static void change_mode(struct files *files, const uint64_t n[])
{
    static const mode_t modes[] = {0600, 0640, 0666};
    struct slot *slot = &model.at[0];

    if (slot->thing != SAVED && slot->thing != OTHER)
        return;
    for (int i = 1; i < AGES; i++) { /* two names of one file */
        if (model.at[i].thing == slot->thing && model.at[i].content == slot->content)
            return;
    }
    slot->mode = modes[n[0] % 3];
    say(files, " %o", (unsigned)slot->mode);
    if (files->rank == 0 && chmod(in_folder(files, "run.h5"), slot->mode) != 0)
        perror("fuzz: chmod");
}

static void make_links(struct files *files, const uint64_t n[])
{
    (void)n;
    if (files->rank == 0 && !model.linked) {
        make_thing(in_folder(files, "link.h5"), LINK, "sub/../mid.h5");
        make_thing(in_folder(files, "mid.h5"), LINK, in_folder(files, "run.h5"));
    }
    if (files->rank == 0 && fuzz_folder[0] != '/') { /* the second one is relative, too */
        make_thing(in_folder(files, "mid.h5"), LINK, "run.h5");
    }
    model.linked = true;
}

/* Where fuzz.sh has made one; the library's numbers are points everywhere. */
static void speak(struct files *files, const uint64_t n[])
{
    const char *name = n[0] % 2 == 0 ? "de_DE.UTF-8" : "C";

    say(files, " %s", setlocale(LC_NUMERIC, name) != NULL ? name : "C");
}

static const struct act_row rows[] = {{"save", 10, save},
                                      {"save another file", 2, save_something_else},
                                      {"save wrongly", 3, save_wrongly},
                                      {"load", 4, load_one},
                                      {"load the newest good one", 5, load_earlier},
                                      {"load as a module's state", 1, load_as_module},
                                      {"remove", 4, remove_some},
                                      {"damage", 4, damage},
                                      {"put", 2, put_in_place},
                                      {"leave a part", 2, leave_part},
                                      {"change permissions to", 3, change_mode},
                                      {"make links", 2, make_links},
                                      {"speak", 1, speak},
                                      {NULL, 0, NULL}};

const struct world world_place = {"place", rows, begin, look, end};
