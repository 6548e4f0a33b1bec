/* SPDX-License-Identifier: MIT
 *
 * Records of runs: exact rows in files, runs that resume from any point, and files of other
 * programs under the same names. */
#include "fuzz/files/files.h"

#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ht.h"

enum { MOST_ROWS = 64 };

struct row {
    int epoch;
    double value;
};

/* The expected files. */
static struct {
    ht_run_log *log; /* owned */
    bool goes_on;    /* and no row was added yet */
    int columns;     /* of the log: which names, by number; -1: none yet */
    int in_file;     /* of the CSV file; -1: it is empty */
    bool foreign;    /* the CSV file belongs to another program */
    struct row csv[MOST_ROWS], jsonl[MOST_ROWS];
    int csv_rows, jsonl_rows;
    bool linked; /* the picture is a link to pictures/run.svg, which has the mode 0600 */
} model;

static const char *const names[2][2] = {{"epoch", "loss"}, {"epoch", "top, \"1\""}};
static const char *const headers[2] = {"epoch,loss\n", "epoch,\"top, \"\"1\"\"\"\n"};
static const char *const keys[2] = {"loss", "top, \\\"1\\\""};

static void begin(struct files *files)
{
    (void)files;
    memset(&model, 0, sizeof model);
    model.columns = model.in_file = -1;
    umask(022);
}

static void close_log(void)
{
    ht_release(model.log);
    model.log = NULL;
}

static void end(struct files *files)
{
    (void)files;
    close_log();
    setlocale(LC_NUMERIC, "C");
}

static void add_text(const char *path, const char *mode, const char *text)
{
    FILE *file = fopen(path, mode);

    if (file == NULL)
        return;
    fputs(text, file);
    fclose(file);
}

/* The shortest text that reads back: the values are halves, and the locale may have another decimal
 * point. */
static void value_text(char text[32], double value)
{
    snprintf(text, 32, "%s%d%s", value < 0 ? "-" : "", (int)(value < 0 ? -value : value),
             value != (int)value ? ".5" : "");
}

static void compare(struct files *files, const char *name, const char *expected)
{
    static char text[8192];
    FILE *file = fopen(in_folder(files, name), "r");
    size_t length = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;

    if (file != NULL)
        fclose(file);
    text[length] = '\0';
    if (strcmp(text, expected) != 0)
        wrong(files, "%s has \"%s\" where \"%s\" is right", name, text, expected);
}

static void look_at_picture(struct files *files)
{
    struct stat info;

    if (lstat(in_folder(files, "run.svg"), &info) == 0 && model.linked != S_ISLNK(info.st_mode))
        wrong(files, "the picture's link is gone");
    if (model.linked &&
        (stat(in_folder(files, "run.svg"), &info) != 0 || (info.st_mode & 0777) != 0600))
        wrong(files, "the picture has other permissions");
}

static void look(struct files *files)
{
    static char expected[8192];
    char number[32];
    size_t used = 0;

    if (files->rank != 0 || model.log == NULL)
        return;
    expected[0] = '\0';
    if (model.in_file >= 0)
        used += (size_t)snprintf(expected, sizeof expected, "%s", headers[model.in_file]);
    for (int i = 0; i < model.csv_rows; i++) {
        value_text(number, model.csv[i].value);
        used += (size_t)snprintf(expected + used, sizeof expected - used, "%d,%s\n",
                                 model.csv[i].epoch, number);
    }
    if (!model.foreign && !model.goes_on)
        compare(files, "run.csv", expected);
    if (model.foreign)
        compare(files, "run.csv", "notes of others");
    expected[used = 0] = '\0';
    for (int i = 0; i < model.jsonl_rows; i++) {
        value_text(number, model.jsonl[i].value);
        used += (size_t)snprintf(expected + used, sizeof expected - used,
                                 "{\"epoch\": %d, \"%s\": %s}\n", model.jsonl[i].epoch,
                                 keys[model.columns >= 0 ? model.columns : 0], number);
    }
    if (!model.goes_on && model.columns >= 0 && model.jsonl_rows > 0)
        compare(files, "run.jsonl", expected);
    look_at_picture(files);
}

static void open_log(struct files *files, const uint64_t n[])
{
    ht_run_log_options options = ht_run_log_options_default();

    close_log();
    options.append = n[0] % 3 != 0;
    options.csv = in_folder(files, "run.csv");
    options.jsonl = in_folder(files, "run.jsonl");
    options.svg = in_folder(files, "run.svg");
    say(files, "%s", options.append ? ", which goes on" : "");
    model.log = ht_run_log_new(&options, HT_COMM_WORLD);
    expect(files, "ht_run_log_new", status_of(model.log), HT_SUCCESS);
    model.goes_on = options.append;
    model.columns = -1;
    if (options.append)
        return;
    model.csv_rows = model.jsonl_rows = 0;
    model.in_file = -1;
    model.foreign = false;
}

static int rows_before(const struct row rows[], int count, int epoch)
{
    int kept = 0;

    while (kept < count && rows[kept].epoch < epoch)
        kept++;
    return kept;
}

static void put_row(struct row rows[], int *count, struct row row, bool goes_on)
{
    if (goes_on)
        *count = rows_before(rows, *count, row.epoch);
    rows[(*count)++] = row;
}

static int last_epoch(void)
{
    return model.csv_rows > 0 ? model.csv[model.csv_rows - 1].epoch : 0;
}

static void add_row(struct files *files, const uint64_t n[])
{
    int columns = n[0] % 8 == 0, want = HT_SUCCESS;
    struct row row = {last_epoch() + 1, (double)(n[1] % 200) / 2 - 50};
    ht_value *map = ht_value_map();

    if (model.log == NULL || model.csv_rows == MOST_ROWS || model.jsonl_rows == MOST_ROWS)
        return;
    if (model.goes_on && row.epoch > 1) /* the last ones are written again */
        row.epoch -= (int)(n[2] % (uint64_t)row.epoch);
    ht_value_set(map, names[columns][0], ht_value_number(row.epoch));
    ht_value_set(map, names[columns][1], ht_value_number(row.value));
    say(files, " %d, %g, columns %d", row.epoch, row.value, columns);
    if (model.columns >= 0 && columns != model.columns)
        want = HT_ERR_ARGUMENT;
    else if (model.goes_on && (model.foreign || (model.in_file >= 0 && columns != model.in_file)))
        want = HT_ERR_FORMAT;
    if (expect(files, "ht_run_log_add", ht_run_log_add(model.log, map), want) != HT_SUCCESS ||
        want != HT_SUCCESS)
        return;
    put_row(model.csv, &model.csv_rows, row, model.goes_on);
    put_row(model.jsonl, &model.jsonl_rows, row, model.goes_on);
    model.columns = model.in_file = columns;
    model.goes_on = false;
}

static void add_wrongly(struct files *files, const uint64_t n[])
{
    ht_value *map = ht_value_map();

    if (model.log == NULL)
        return;
    if (n[0] % 3 == 0)
        ht_value_set(map, "epoch", ht_value_list());
    if (n[0] % 3 == 1)
        map = ht_value_number(3);
    expect(files, "ht_run_log_add", ht_run_log_add(model.log, map), HT_ERR_ARGUMENT);
}

/* As a kill leaves it. */
static void cut_last_line(struct files *files, const uint64_t n[])
{
    if (model.log != NULL && !model.goes_on)
        close_log();
    if (model.log != NULL || model.foreign || model.in_file < 0)
        return;
    (void)n;
    if (files->rank == 0) {
        add_text(in_folder(files, "run.csv"), "a", "99,1");
        add_text(in_folder(files, "run.jsonl"), "a", "{\"epoch\": 99, \"lo");
    }
}

static void put_another(struct files *files, const uint64_t n[])
{
    (void)n;
    close_log();
    model.foreign = true;
    model.csv_rows = 0;
    model.in_file = -1;
    if (files->rank == 0)
        add_text(in_folder(files, "run.csv"), "w", "notes of others");
}

static void link_picture(struct files *files, const uint64_t n[])
{
    (void)n;
    if (model.linked)
        return;
    model.linked = true;
    if (files->rank != 0)
        return;
    unlink(in_folder(files, "run.svg"));
    mkdir(in_folder(files, "pictures"), 0777);
    close(open(in_folder(files, "pictures/run.svg"), O_CREAT | O_WRONLY, 0600));
    if (symlink("pictures/run.svg", in_folder(files, "run.svg")) != 0)
        perror("fuzz: symlink");
}

static void speak(struct files *files, const uint64_t n[])
{
    const char *name = n[0] % 2 == 0 ? "de_DE.UTF-8" : "C";

    say(files, " %s", setlocale(LC_NUMERIC, name) != NULL ? name : "C");
}

/* A path where no file can be written, or that no process reads. */
static void open_wrongly(struct files *files, const uint64_t n[])
{
    static const char *const places[] = {"nowhere/run.csv", ".", "fifo"};
    ht_run_log_options options = ht_run_log_options_default();
    ht_run_log *log;

    options.csv = in_folder(files, places[n[0] % 3]);
    options.append = n[1] % 2 == 0;
    say(files, " %s", options.csv);
    if (files->rank == 0 && n[0] % 3 == 2 && mkfifo(in_folder(files, "fifo"), 0600) != 0)
        (void)0; /* it is there */
    ht_barrier(HT_COMM_WORLD);
    log = ht_run_log_new(&options, HT_COMM_WORLD);
    expect(files, "ht_run_log_new", status_of(log), HT_ERR_IO);
    ht_release(log);
}

static const struct act_row rows[] = {{"open a log", 4, open_log},
                                      {"add a row", 12, add_row},
                                      {"add something else than a row", 2, add_wrongly},
                                      {"cut the last line", 2, cut_last_line},
                                      {"put another file there", 1, put_another},
                                      {"link the picture", 1, link_picture},
                                      {"speak", 1, speak},
                                      {"open a log where none can be", 1, open_wrongly},
                                      {NULL, 0, NULL}};

const struct world world_log = {"log", rows, begin, look, end};
