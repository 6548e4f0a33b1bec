/* SPDX-License-Identifier: MIT */
/*
 * Runs the tests of one folder in one MPI job: those whose file declares the current rank count.
 *
 * Rank 0 writes what happens to stdout, or to the file HT_TEST_REPORT for tests/mpi-run.sh to read
 * (mpirun loses the last lines of a job that crashes):
 *     # run <suite>:<test>        all ranks are about to enter this test
 *     ok - <suite>:<test>         all ranks have left it
 *     1..<count>                  all tests are done and the library has been shut down
 * A rank whose assertion fails aborts, and with it the job: the test last announced is the one that
 * failed. Everything else, what the tests print included, goes to stderr.
 */
#include "ht_test.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

#include "ht.h"

int ht_test_rank, ht_test_size;

static FILE *report; /* on rank 0; NULL on the others */
static char running[256];
static const char *skip_reason;

struct options {
    const char *only;  /* patterns of the tests to run, or NULL for all */
    const char *after; /* skip everything up to this test, or NULL */
    bool list_ranks;
};

static const char usage[] =
    "usage: %s [--only PATTERNS] [--after TEST] [--ranks]\n"
    "  --only PATTERNS  run the tests whose suite:test contains one of these (shell wildcards allowed,\n"
    "                   blanks between patterns), and show what CMocka and the tests print; none is an error\n"
    "  --after TEST     skip all tests up to and including TEST\n"
    "  --ranks          print the rank counts that the tests declare, and exit\n"
    "HT_TEST_LONG=1 runs the tests declared as long in place of the others.\n";

static void parse_options(int argc, char **argv, struct options *options)
{
    *options = (struct options){0};
    for (int i = 1; i < argc; i++) {
        bool has_value = i + 1 < argc;

        if (strcmp(argv[i], "--only") == 0 && has_value) {
            options->only = argv[++i];
        } else if (strcmp(argv[i], "--after") == 0 && has_value) {
            options->after = argv[++i];
        } else if (strcmp(argv[i], "--ranks") == 0) {
            options->list_ranks = true;
        } else {
            fprintf(stderr, usage, argv[0]);
            exit(2);
        }
    }
}

/* Where each test makes its tensors. */
static const char *device_name(void)
{
    const char *name = getenv("HT_TEST_DEVICE");

    return name != NULL ? name : "cpu";
}

static bool is_wanted(const struct ht_test_entry *entry)
{
    return entry->is_long == (getenv("HT_TEST_LONG") != NULL) &&
           !(entry->has_own_device && strcmp(device_name(), "cpu") != 0);
}

static bool runs_on(const struct ht_test_entry *entry, int size)
{
    for (const int *ranks = entry->ranks; *ranks != 0; ranks++) {
        if (*ranks == size)
            return true;
    }
    return false;
}

static void list_ranks(void)
{
    for (const struct ht_test_entry *entry = ht_test_registry; entry->suite != NULL; entry++) {
        for (const int *ranks = entry->ranks; is_wanted(entry) && *ranks != 0; ranks++)
            printf("%d\n", *ranks);
    }
}

/* Whether a name contains one of the patterns. */
static bool matches(const char *name, const char *patterns)
{
    static const char blanks[] = " \n";

    for (const char *p = patterns + strspn(patterns, blanks); *p != '\0'; p += strspn(p, blanks)) {
        int length = (int)strcspn(p, blanks);
        char wide[256];

        snprintf(wide, sizeof wide, "*%.*s*", length, p);
        if (fnmatch(wide, name, 0) == 0)
            return true;
        p += length;
    }
    return false;
}

/* CMocka calls abort() after it has printed the failed assertion (CMOCKA_TEST_ABORT). */
static void on_abort(int signal_number)
{
    char line[320];
    int length = snprintf(line, sizeof line, "\nrank %d failed in %s\n", ht_test_rank, running);
    ssize_t written = write(STDERR_FILENO, line, (size_t)length);

    (void)written;
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* Opens the report and keeps it separate from the output of tests. CMocka's output about every test
 * would drown the rest, so stdout is shown only under --only. As TAP, all of stdout is shown. */
static void open_report(bool verbose)
{
    const char *path = getenv("HT_TEST_REPORT");
    int fd;

    if (!verbose)
        cmocka_set_message_output(CM_OUTPUT_TAP);
    if (ht_test_rank == 0)
        report = path != NULL ? fopen(path, "a") : fdopen(dup(STDOUT_FILENO), "w");

    fflush(stdout);
    fd = verbose ? dup(STDERR_FILENO) : open("/dev/null", O_WRONLY);
    dup2(fd, STDOUT_FILENO);
    close(fd);
}

static void say(const char *before, const char *name, const char *after)
{
    if (report == NULL)
        return;
    fprintf(report, "%s%s%s\n", before, name, after);
    fflush(report);
}

void ht_test_remove(const char *path)
{
    static const char *const ends[] = {".1", ".2", ".3", ".part", ""};
    char name[1024];

    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 5 && ht_test_rank == 0; i++) {
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        remove(name);
    }
}

void ht_test_set_skip_reason(const char *why)
{
    skip_reason = why;
}

void ht_test_assert_message(const char *part, const char *file, int line)
{
    const char *message;

    if (ht_error_get(&message) == HT_SUCCESS || strstr(message, part) == NULL) {
        print_error("'%s' is not in '%s'\n", part, message);
        _fail(file, line);
    }
    ht_error_clear();
}

/* CMocka does not distinguish a skipped test from a passed one, so the test is run through this. */
static CMUnitTestFunction current_function;
static bool returned;

static void call_current(void **state)
{
    returned = false;
    current_function(state);
    returned = true;
}

static ht_device *device;

/* Devices and communicators may be made once and kept; ht_finalize accounts for those. */
static int64_t live_objects(void)
{
    return ht_live_objects(NULL) - ht_live_objects("device") - ht_live_objects("comm");
}

static void run_in_scope(struct CMUnitTest test)
{
    int64_t before = live_objects();
    ht_scope *scope = ht_scope_open();

    ht_use_device(device);
    if (_cmocka_run_group_tests(running, &test, 1, NULL, NULL) != 0)
        abort();
    if (ht_device_synchronize(device) != HT_SUCCESS) {
        fprintf(stderr, "an error of the device came to light after the test\n");
        abort();
    }
    ht_scope_close(scope);
    if (live_objects() != before) {
        fprintf(stderr, "%lld objects leaked", (long long)(live_objects() - before));
        abort();
    }
}

/* Runs one test on all ranks. No rank continues before all have left it, nor begins before it is
 * announced, because a rank may end the job at once. */
static void run_one(const char *name, struct CMUnitTest test)
{
    char skipped[256];

    snprintf(running, sizeof running, "%s", name);
    say("# run ", name, "");
    MPI_Barrier(MPI_COMM_WORLD);
    skip_reason = "skipped";
    current_function = test.test_func;
    test.test_func = call_current;
    run_in_scope(test);
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(skipped, sizeof skipped, " # SKIP %s", skip_reason);
    say("ok - ", name, returned ? "" : skipped);
}

static void name_of(char name[static 256], const struct ht_test_suite *suite, size_t test)
{
    snprintf(name, 256, "%s:%s", suite->name, suite->tests[test].name);
}

static int run_all(const struct options *options)
{
    const char *after = options->after;
    int count = 0;

    for (const struct ht_test_entry *entry = ht_test_registry; entry->suite != NULL; entry++) {
        if (!is_wanted(entry) || !runs_on(entry, ht_test_size))
            continue;
        for (size_t i = 0; i < entry->suite->count; i++) {
            char name[256];

            name_of(name, entry->suite, i);
            if (after != NULL) {
                if (strcmp(after, name) == 0)
                    after = NULL;
                continue;
            }
            if (options->only != NULL && !matches(name, options->only))
                continue;
            run_one(name, entry->suite->tests[i]);
            count++;
        }
    }
    return count;
}

static bool suite_matches(const struct ht_test_suite *suite, const char *patterns)
{
    char name[256];

    for (size_t i = 0; i < suite->count; i++) {
        name_of(name, suite, i);
        if (matches(name, patterns))
            return true;
    }
    return false;
}

/* Why --only ran nothing: there is no such test, or those there are run elsewhere. */
static void say_why_none(const char *patterns)
{
    bool is_there = false;

    for (const struct ht_test_entry *entry = ht_test_registry; entry->suite != NULL; entry++) {
        if (!suite_matches(entry->suite, patterns))
            continue;
        is_there = true;
        fprintf(stderr, "%s runs on", entry->suite->name);
        for (const int *ranks = entry->ranks; *ranks != 0; ranks++)
            fprintf(stderr, "%s %d", ranks > entry->ranks ? "," : "", *ranks);
        fprintf(stderr, " ranks, %s HT_TEST_LONG=1; this job has %d, %s it\n",
                entry->is_long ? "with" : "without", ht_test_size,
                getenv("HT_TEST_LONG") != NULL ? "with" : "without");
        if (entry->has_own_device)
            fprintf(stderr, "%s chooses its device: it runs with HT_TEST_DEVICE=cpu\n",
                    entry->suite->name);
    }
    if (!is_there)
        fprintf(stderr, "--only %s: there is no such test\n", patterns);
}

int main(int argc, char **argv)
{
    struct options options;
    int count;

    parse_options(argc, argv, &options);
    if (options.list_ranks) {
        list_ranks();
        return 0;
    }

    setenv("CMOCKA_TEST_ABORT", "1", 1);
    signal(SIGABRT, on_abort);

    if (ht_init(&argc, &argv) != HT_SUCCESS)
        abort();
    MPI_Comm_rank(MPI_COMM_WORLD, &ht_test_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ht_test_size);
    open_report(options.only != NULL);
    device = ht_device_get(device_name());

    count = run_all(&options);

    snprintf(running, sizeof running, "the end of the job");
    if (ht_finalize() > 0)
        abort();
    if (report != NULL)
        fprintf(report, "1..%d\n", count);
    /* The rank that says why fails alone: mpirun kills the others at the first failure. */
    if (count > 0 || options.only == NULL || ht_test_rank != 0)
        return 0;
    say_why_none(options.only);
    return 1;
}
