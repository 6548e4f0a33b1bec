/* SPDX-License-Identifier: MIT
 *
 * ht-run: starts a job again when a rank has died, from its last good checkpoint. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "output.h"
#include "written.h"

static const char help[] =
    "usage: ht-run [--retries N] [--checkpoint FILE] [--delay SECONDS] -- mpirun ... PROGRAM ...\n"
    "\n"
    "Runs the job. If a rank dies, it runs the job again. If the job has written a checkpoint by\n"
    "then, it adds\n"
    "    --resume FILE --or-earlier\n"
    "after its arguments. The job then resumes from its newest intact checkpoint. Checkpoints of\n"
    "another job are ignored.\n"
    "  --retries N        how often to start the job again (3)\n"
    "  --checkpoint FILE  the checkpoint that the job writes (the argument after its --save)\n"
    "  --delay SECONDS    how long to wait before a new start, such as 0.5 (1)\n"
    "A job ended by a signal is started again; a job ended by an error only if it has written\n"
    "a checkpoint since its start. SIGTERM, SIGINT, SIGHUP, SIGUSR1 and SIGUSR2 are passed on;\n"
    "after them the job is not started again.\n"
    "\n"
    "Exit status: that of the last run (128 + N if signal N ended it), 2 for a wrong command\n"
    "line.\n";

struct run {
    char **command; /* ended by NULL */
    int arguments;
    long retries;
    double delay;           /* seconds */
    const char *checkpoint; /* NULL: none is known */
};

static const int passed_on[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};

static volatile sig_atomic_t child, asked; /* to stop, by this signal */

static void pass_on(int number)
{
    asked = number;
    if (child > 0)
        kill((pid_t)child, number);
}

static void answer(void (*how)(int))
{
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
        signal(passed_on[i], how);
}

static void say(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fputs("ht-run: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

static bool read_number(const char *text, long *number)
{
    char *end;

    errno = 0;
    *number = strtol(text, &end, 10);
    return end != text && *end == '\0' && errno == 0 && *number >= 0;
}

static bool read_seconds(const char *text, double *seconds)
{
    char *end;

    *seconds = strtod(text, &end);
    return end != text && *end == '\0' && *seconds >= 0 && *seconds <= 1e9;
}

/* May end early, by a signal. */
static void sleep_for(double seconds)
{
    const time_t whole = (time_t)seconds;

    nanosleep(
        &(struct timespec){.tv_sec = whole, .tv_nsec = (long)((seconds - (double)whole) * 1e9)},
        NULL);
}

/* The file that the job itself is told to save. */
static const char *find_checkpoint(char **command)
{
    for (; command[0] != NULL; command++) {
        if (strcmp(command[0], "--save") == 0)
            return command[1];
    }
    return NULL;
}

/* Exit status of a wrong command line, or -1. */
static int parse(struct run *run, int argc, char **argv)
{
    int i = 1;

    *run = (struct run){.retries = 3, .delay = 1};
    for (; i < argc && argv[i][0] == '-'; i++) {
        bool has_value = i + 1 < argc;

        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help, stdout);
            return output_status("ht-run", 0);
        }
        if (strcmp(argv[i], "--retries") == 0 && has_value &&
            read_number(argv[i + 1], &run->retries))
            i++;
        else if (strcmp(argv[i], "--delay") == 0 && has_value &&
                 read_seconds(argv[i + 1], &run->delay))
            i++;
        else if (strcmp(argv[i], "--checkpoint") == 0 && has_value && argv[i + 1][0] != '\0' &&
                 strcmp(argv[i + 1], "--") != 0)
            run->checkpoint = argv[++i];
        else {
            say("option %s is unknown, or its value is missing or invalid; see ht-run --help",
                argv[i]);
            return 2;
        }
    }
    if (i >= argc) {
        say("expected a command; see ht-run --help");
        return 2;
    }
    run->command = argv + i;
    run->arguments = argc - i;
    if (run->checkpoint == NULL)
        run->checkpoint = find_checkpoint(run->command);
    return -1;
}

static pid_t start(char **arguments)
{
    sigset_t all, before;

    /* A signal arrives before, and nothing is started, or when `child` is known. */
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    if (asked == 0)
        child = fork();
    if (child == 0 && asked == 0)
        answer(SIG_DFL); /* before exec, too: one for the whole group ends it */
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (child != 0 || asked != 0)
        return (pid_t)child;
    execvp(arguments[0], arguments);
    say("cannot run %s: %s", arguments[0], strerror(errno));
    _exit(127);
}

/* Runs the command, resumed or not; returns its exit status, as a shell would, or -1 when a signal
 * came first. */
static int launch(const struct run *run, bool resume)
{
    size_t room = (size_t)run->arguments + 4;
    char **arguments = calloc(room, sizeof *arguments);
    int status, count = run->arguments;
    pid_t pid;

    if (arguments == NULL)
        abort();
    memcpy(arguments, run->command, (size_t)count * sizeof *arguments);
    unsetenv("HT_RESUME_JOB");
    if (resume) {
        arguments[count++] = "--resume";
        arguments[count++] = (char *)run->checkpoint;
        arguments[count++] = "--or-earlier";
        setenv("HT_RESUME_JOB", written_job(), 1);
    }
    pid = start(arguments);
    free(arguments);
    if (pid <= 0) {
        if (pid < 0)
            say("cannot start a process: %s", strerror(errno));
        return pid < 0 ? 127 : -1;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    child = 0;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Signal 4 is an instruction that the machine does not have; mpirun ends with the same status when
 * it cannot start the program. Both would come again. */
static bool was_killed(int status)
{
    return status > 128 && status != 128 + SIGILL;
}

static bool is_worth_it(int status, int64_t before)
{
    if (status == 0 || asked != 0)
        return false;
    if (status != 126 && status != 127 && (was_killed(status) || written_last() > before))
        return true;
    say("the job ended with status %d before it wrote a checkpoint, so it is not started again",
        status);
    return false;
}

static const char *reason(int status)
{
    static char text[96];

    if (status > 128 && status - 128 < NSIG)
        snprintf(text, sizeof text, "status %d (signal %d: %s)", status, status - 128,
                 strsignal(status - 128));
    else
        snprintf(text, sizeof text, "status %d", status);
    return text;
}

static void announce(const struct run *run, int status, long number, int64_t last)
{
    if (last != 0)
        say("the job ended with %s; starting it again (%ld of %ld) from %s, written %ld s ago",
            reason(status), number, run->retries, run->checkpoint,
            (long)(time(NULL) - last / 1000000000));
    else
        say("the job ended with %s; starting it again (%ld of %ld) from the beginning, without a "
            "checkpoint",
            reason(status), number, run->retries);
}

int main(int argc, char **argv)
{
    struct run run;
    int status = parse(&run, argc, argv), next;
    int64_t before = 0;

    if (status >= 0)
        return status;
    written_begin(run.checkpoint);
    answer(pass_on);
    status = launch(&run, false);
    if (status < 0)
        return 128 + asked;
    for (long retry = 1; is_worth_it(status, before); retry++) {
        if (retry > run.retries) {
            say("the job ended with %s; giving up after %ld retries", reason(status), run.retries);
            break;
        }
        before = written_last();
        announce(&run, status, retry, before);
        sleep_for(run.delay);
        next = launch(&run, before != 0);
        if (next < 0)
            break;
        status = next;
    }
    return status;
}
