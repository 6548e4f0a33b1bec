/* ranks 1 3 */
/* SPDX-License-Identifier: MIT */
/* The record of a run: exact files, after every row; a run that resumes; the content of a picture;
 * errors that rank 0 alone sees. */
#include "ht_test.h"

#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../data/files.h"
#include "ht.h"
#include "tensor_check.h"

static ht_value *row(double epoch, double loss, double accuracy)
{
    ht_value *map = ht_value_map();

    ht_value_set(map, "epoch", ht_value_number(epoch));
    ht_value_set(map, "train_loss", ht_value_number(loss));
    if (accuracy >= 0)
        ht_value_set(map, "accuracy, \"top\"", ht_value_number(accuracy));
    return map;
}

static ht_run_log *open_log(bool append)
{
    ht_run_log_options options = ht_run_log_options_default();
    char csv[256], jsonl[256], svg[256]; /* read at once */

    snprintf(csv, sizeof csv, "%s", files_path("run.csv"));
    snprintf(jsonl, sizeof jsonl, "%s", files_path("run.jsonl"));
    snprintf(svg, sizeof svg, "%s", files_path("run.svg"));
    options.csv = csv;
    options.jsonl = jsonl;
    options.svg = svg;
    options.append = append;
    return ht_run_log_new(&options, HT_COMM_WORLD);
}

static void read_file(const char *name, char text[8192])
{
    FILE *file = fopen(files_path(name), "r");
    size_t length;

    assert_non_null(file);
    length = fread(text, 1, 8191, file);
    text[length] = '\0';
    fclose(file);
}

static void assert_file(const char *name, const char *expected)
{
    char text[8192];

    read_file(name, text);
    assert_string_equal(text, expected);
    ht_barrier(HT_COMM_WORLD);
}

static void test_rows_are_written_at_once(void **state)
{
    static const char header[] = "epoch,train_loss,\"accuracy, \"\"top\"\"\"\n";
    char expected[256];
    ht_run_log *log;

    (void)state;
    files_open();
    log = open_log(false);
    assert_int_equal(ht_run_log_add(log, row(1, 0.1, 1. / 3)), HT_SUCCESS);
    snprintf(expected, sizeof expected, "%s1,0.1,0.3333333333333333\n", header);
    assert_file("run.csv", expected);
    assert_file("run.jsonl", "{\"epoch\": 1, \"train_loss\": 0.1, \"accuracy, \\\"top\\\"\": "
                             "0.3333333333333333}\n");
    ht_run_log_add(log, row(2, NAN, -1)); /* a NaN, and a name that is missing */
    snprintf(expected, sizeof expected, "%s1,0.1,0.3333333333333333\n2,,\n", header);
    assert_file("run.csv", expected);
    ht_release(log);

    log = open_log(true); /* a run that resumes: no second header */
    ht_run_log_add(log, row(3, 1e-20, 0.5));
    ht_release(log);
    snprintf(expected, sizeof expected, "%s1,0.1,0.3333333333333333\n2,,\n3,1e-20,0.5\n", header);
    assert_file("run.csv", expected);
    assert_file("run.jsonl",
                "{\"epoch\": 1, \"train_loss\": 0.1, \"accuracy, \\\"top\\\"\": "
                "0.3333333333333333}\n"
                "{\"epoch\": 2, \"train_loss\": null, \"accuracy, \\\"top\\\"\": null}\n"
                "{\"epoch\": 3, \"train_loss\": 1e-20, \"accuracy, \\\"top\\\"\": 0.5}\n");
    files_remove();
}

/* A run that was killed after a row, resumes before it, and writes it again; a line that the kill
 * cut off; and another run's file. */
static void test_each_row_once(void **state)
{
    static const char header[] = "epoch,train_loss,\"accuracy, \"\"top\"\"\"\n";
    char expected[256];
    ht_run_log *log;
    ht_value *map = ht_value_map();
    FILE *file;

    (void)state;
    files_open();
    log = open_log(false);
    for (int epoch = 1; epoch <= 3; epoch++)
        ht_run_log_add(log, row(epoch, epoch, 0.5));
    ht_release(log);
    ht_barrier(HT_COMM_WORLD);
    if (ht_test_rank == 0) {
        file = fopen(files_path("run.csv"), "a");
        fputs("4,4", file);
        fclose(file);
    }
    log = open_log(true);
    ht_value_set(map, "epoch", ht_value_number(2));
    ht_value_set(map, "loss", ht_value_number(2));
    HT_TEST_EXPECT_ERROR(ht_run_log_add(log, map), HT_ERR_FORMAT,
                         "ht_run_log_add: the file to resume has the columns epoch,train_loss,");
    ht_value_set(map, "two\nlines", ht_value_number(2));
    HT_TEST_EXPECT_ERROR(ht_run_log_add(log, map), HT_ERR_ARGUMENT,
                         "ht_run_log_add: \"two\nlines\" contains a newline");
    assert_int_equal(ht_run_log_add(log, row(2, 7, 0.5)), HT_SUCCESS);
    assert_int_equal(ht_run_log_add(log, row(3, 8, 0.5)), HT_SUCCESS);
    ht_release(log);
    snprintf(expected, sizeof expected, "%s1,1,0.5\n2,7,0.5\n3,8,0.5\n", header);
    assert_file("run.csv", expected);
    assert_file("run.jsonl", "{\"epoch\": 1, \"train_loss\": 1, \"accuracy, \\\"top\\\"\": 0.5}\n"
                             "{\"epoch\": 2, \"train_loss\": 7, \"accuracy, \\\"top\\\"\": 0.5}\n"
                             "{\"epoch\": 3, \"train_loss\": 8, \"accuracy, \\\"top\\\"\": 0.5}\n");
    files_remove();
}

/* A last line without its end is cut off a run's own file alone. */
static void test_a_file_of_others_stays(void **state)
{
    ht_run_log *log;

    (void)state;
    files_open();
    if (ht_test_rank == 0) {
        FILE *file = fopen(files_path("run.csv"), "w");

        fputs("notes", file);
        fclose(file);
    }
    ht_barrier(HT_COMM_WORLD);
    log = open_log(true);
    HT_TEST_EXPECT_ERROR(ht_run_log_add(log, row(1, 1, -1)), HT_ERR_FORMAT,
                         "the file to resume has the columns notes, the row has epoch,train_loss");
    assert_file("run.csv", "notes");
    if (ht_test_rank == 0) {
        FILE *file = fopen(files_path("run.csv"), "w");

        fputs("epoch,tra", file);
        fclose(file);
    }
    ht_barrier(HT_COMM_WORLD);
    assert_int_equal(ht_run_log_add(log, row(1, 1, -1)), HT_SUCCESS);
    assert_file("run.csv", "epoch,train_loss\n1,1\n");
    ht_release(log);
    files_remove();
}

static int count(const char *text, const char *part)
{
    int found = 0;

    for (; (text = strstr(text, part)) != NULL; text++)
        found++;
    return found;
}

/* Two losses in one panel, the accuracy in another; the ends of a curve at the ends of its frame.
 */
static void the_svg_has_a_panel_for_each_measure(void **state)
{
    char text[8192];
    ht_run_log *log;

    (void)state;
    files_open();
    log = open_log(false);
    for (int epoch = 1; epoch <= 3; epoch++) {
        ht_value *map = row(epoch, 3 - epoch, -1);

        ht_value_set(map, "test_loss", ht_value_number(epoch == 2 ? NAN : 1));
        ht_value_set(map, "a<b", ht_value_number(epoch));
        ht_run_log_add(log, map);
    }
    ht_release(log);
    ht_barrier(HT_COMM_WORLD);
    read_file("run.svg", text);
    assert_memory_equal(text, "<svg xmlns=", 11);
    assert_string_equal(text + strlen(text) - 7, "</svg>\n");
    assert_int_equal(count(text, "<rect x="), 2);
    assert_int_equal(count(text, "<path fill"), 3);
    assert_int_equal(count(text, "class=\"grid\""), 2 * (3 + 5)); /* 1 2 3; 0 0.5 1 1.5 2 */
    assert_int_equal(count(text, ">1.5</text>"), 2);
    assert_int_equal(count(text, "test loss"), 1);
    assert_int_equal(count(text, "<circle"), 3 + 2 + 3);
    assert_int_equal(count(text, "<g "), count(text, "</g>"));
    assert_int_equal(count(text, "a&lt;b"), 1);
    assert_non_null(strstr(text, "M70.0 24.0L320.0 107.0L570.0 190.0\""));  /* falls */
    assert_non_null(strstr(text, "M70.0 107.0M570.0 107.0\""));             /* a gap */
    assert_non_null(strstr(text, "M70.0 420.0L320.0 337.0L570.0 254.0\"")); /* rises */
    files_remove();
}

/* A file is drawn again with each row: links keep their target and files their readers, and a
 * program that waits at a FIFO without readers gets an error. */
static void test_files_stay_what_they_are(void **state)
{
    ht_run_log_options options = ht_run_log_options_default();
    char link[256], svg[256], part[300];
    struct stat info;
    ht_run_log *log;

    (void)state;
    files_open();
    snprintf(link, sizeof link, "%s", files_path("link.svg"));
    snprintf(svg, sizeof svg, "%s", files_path("run.svg"));
    snprintf(part, sizeof part, "%s.part-%ld", svg, (long)getpid());
    if (ht_test_rank == 0) {
        close(open(svg, O_CREAT | O_WRONLY, 0600));
        assert_int_equal(symlink("run.svg", link), 0);
        assert_int_equal(mkfifo(part, 0600), 0); /* for any file left there */
        assert_int_equal(mkfifo(files_path("fifo"), 0600), 0);
    }
    options.svg = link;
    log = ht_run_log_new(&options, HT_COMM_WORLD);
    assert_int_equal(ht_run_log_add(log, row(1, 1, 1)), HT_SUCCESS);
    ht_release(log);
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(lstat(svg, &info), 0);
    assert_true(S_ISREG(info.st_mode) && (info.st_mode & 0777) == 0600 && info.st_size > 0);
    options.svg = NULL;
    options.csv = files_path("fifo");
    HT_TEST_EXPECT_ERROR(ht_run_log_new(&options, HT_COMM_WORLD), HT_ERR_IO,
                         "fifo: No such device");
    options.append = true;
    HT_TEST_EXPECT_ERROR(ht_run_log_new(&options, HT_COMM_WORLD), HT_ERR_IO,
                         "not an ordinary file");
    files_remove();
}

static void test_misuse(void **state)
{
    ht_run_log_options options = ht_run_log_options_default();
    ht_value *more = row(2, 1, 1);
    ht_run_log *log;

    (void)state;
    files_open();
    log = open_log(false);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_run_log_add(log, row(1, 1, 1));
    ht_value_set(more, "lr", ht_value_number(1));
    assert_int_equal(ht_run_log_add(log, more), HT_ERR_ARGUMENT);
    assert_message("ht_run_log_add: \"lr\" is not a column");
    more = row(2, 1, 1);
    ht_value_set(more, "train_loss", ht_value_list());
    assert_int_equal(ht_run_log_add(log, more), HT_ERR_ARGUMENT);
    assert_message("\"train_loss\" is neither a number nor a tensor of one element");
    ht_release(log);
    files_remove();

    options.csv = "/nowhere/run.csv";
    assert_null(ht_run_log_new(&options, HT_COMM_WORLD));
    assert_message("ht_run_log_new: cannot write /nowhere/run.csv: No such file or directory");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
}

/* A disk that is full: rank 0 sees it, all return it. */
static void test_full_disk(void **state)
{
    ht_run_log_options options = ht_run_log_options_default();
    ht_run_log *log;

    (void)state;
    options.csv = "/dev/full";
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    log = ht_run_log_new(&options, HT_COMM_WORLD);
    if (log == NULL) {
        ht_error_clear();
        ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
        HT_TEST_SKIP("no /dev/full here");
    }
    assert_int_equal(ht_run_log_add(log, row(1, 1, 1)), HT_ERR_IO);
    assert_message("ht_run_log_add: cannot write /dev/full: No space left on device");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_release(log);
}

/* A program with the locale of its user's language still writes files with decimal points. */
static void test_a_decimal_comma_stays_out(void **state)
{
    static const char *const with_comma[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};
    char text[8192];
    ht_run_log *log;

    (void)state;
    files_open();
    for (size_t i = 0; i < 3 && setlocale(LC_NUMERIC, with_comma[i]) == NULL; i++)
        continue; /* where there is none, the rest is tested still */
    log = open_log(false);
    ht_run_log_add(log, row(0.5, 0.25, -1));
    ht_run_log_add(log, row(1.5, -5000, -1));
    assert_file("run.csv", "epoch,train_loss\n0.5,0.25\n1.5,-5000\n");
    assert_file("run.jsonl", "{\"epoch\": 0.5, \"train_loss\": 0.25}\n"
                             "{\"epoch\": 1.5, \"train_loss\": -5000}\n");
    read_file("run.svg", text);
    assert_null(strstr(text, "0,5"));
    ht_release(log);
    log = open_log(true);
    ht_run_log_add(log, row(1.5, 0.5, -1)); /* in the place of the row that is there */
    assert_file("run.csv", "epoch,train_loss\n0.5,0.25\n1.5,0.5\n");
    ht_release(log);
    setlocale(LC_NUMERIC, "C");
    files_remove();
}

static void test_the_picture_of_a_resumed_run_is_complete(void **state)
{
    char whole[1 << 14], resumed[1 << 14];
    ht_run_log *log;

    (void)state;
    files_open();
    log = open_log(false);
    for (int epoch = 1; epoch < 6; epoch++)
        ht_run_log_add(log, row(epoch, 1.0 / epoch, -1));
    read_file("run.svg", whole);
    ht_release(log);
    for (int from = 3; from < 6; from += 2) {
        log = open_log(true);
        for (int epoch = from; epoch < 6; epoch++)
            ht_run_log_add(log, row(epoch, 1.0 / epoch, -1));
        read_file("run.svg", resumed);
        assert_string_equal(resumed, whole);
        ht_release(log);
    }
    files_remove();
}

HT_TEST_SUITE(test_run_log, cmocka_unit_test(test_the_picture_of_a_resumed_run_is_complete),
              cmocka_unit_test(test_rows_are_written_at_once), cmocka_unit_test(test_each_row_once),
              cmocka_unit_test(test_a_file_of_others_stays),
              cmocka_unit_test(the_svg_has_a_panel_for_each_measure),
              cmocka_unit_test(test_files_stay_what_they_are), cmocka_unit_test(test_misuse),
              cmocka_unit_test(test_full_disk), cmocka_unit_test(test_a_decimal_comma_stays_out));
