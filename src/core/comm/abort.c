/* SPDX-License-Identifier: MIT
 *
 * The end of a job that has failed. Ranks that fail for the same reason should report it once. So
 * each failing rank sends its message to all others on a separate communicator and listens for a
 * moment. The lowest rank with a message prints it for all ranks that have it. MPI_Abort ends ranks
 * that never fail. */
#include "core/comm/mpi.h"
#include "core/timeline/timeline.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Milliseconds. */
enum {
    TAG = 1,
    GRACE = 300,          /* for ranks with the same failure */
    GRACE_TIMEOUT = 2000, /* the same for deadlines, and for messages that differ */
    PATIENCE = 30000,     /* for the one that prints and ends the job, on a machine that is busy */
    LIMIT = 3000          /* for MPI_Abort itself */
};

static const int limit = LIMIT, whole = GRACE_TIMEOUT + PATIENCE + LIMIT;

/* The message of a failing rank to the others: it fails with this text, or has printed it for all.
 */
struct record {
    int code;
    int printed;
    char message[1016];
};

static MPI_Comm wire = MPI_COMM_NULL;
static int wire_rank, wire_size;

/* One flag per rank, made in time: a rank without memory must still be able to say so. */
static bool *alike, *heard, *silent;

void ht__abort_start(MPI_Comm world)
{
    MPI_Comm_rank(world, &wire_rank);
    MPI_Comm_size(world, &wire_size);
    alike = ht__alloc(3 * (size_t)wire_size); /* before the wire, without which ranks speak alone */
    heard = alike + wire_size;
    silent = heard + wire_size;
    MPI_Comm_dup(world, &wire);
    MPI_Comm_set_errhandler(wire, MPI_ERRORS_RETURN);
}

void ht__abort_end(void)
{
    MPI_Comm_free(&wire);
    ht__free(alike);
}

/* Sleeps for a moment; true until `ms` have passed on this clock. */
static bool pause_within(struct ht_clock *clock, int ms)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return ht__clock_elapsed(clock, HT_CLOCK_STALL) < 1e-3 * ms;
}

static void sleep_ms(int ms)
{
    struct ht_clock clock = {0};

    while (pause_within(&clock, ms))
        continue;
}

static void *end_late(void *ms)
{
    sleep_ms(*(const int *)ms);
    _exit(EXIT_FAILURE);
}

/* MPI_Abort does not return when it works, but it may hang when the launcher has ended. */
static void end_within(const int *ms)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, end_late, (void *)ms) == 0)
        pthread_detach(thread);
}

/* Writes "0-2, 5" for the ranks that are marked. */
static void name_ranks(char *text, size_t bytes, const bool *marked, int size)
{
    size_t at = 0;

    text[0] = '\0';
    for (int first = 0; first < size; first++) {
        int last = first;

        if (!marked[first])
            continue;
        while (last + 1 < size && marked[last + 1])
            last++;
        at += (size_t)snprintf(text + at, bytes - at, last > first ? "%s%d-%d" : "%s%d",
                               at > 0 ? ", " : "", first, last);
        if (at >= bytes)
            return;
        first = last;
    }
}

static void print(const struct record *mine)
{
    char who[256], line[2048], missing[256] = "", doing[1024] = "";
    int count = 0;

    for (int r = 0; r < wire_size; r++) {
        count += alike[r];
        silent[r] = !heard[r];
    }
    name_ranks(who, sizeof who, alike, wire_size);
    if (mine->code == HT_ERR_TIMEOUT) {
        name_ranks(missing, sizeof missing, silent, wire_size);
        for (int r = 0; r < wire_size; r++)
            silent[r] |= !alike[r]; /* those in something else are asked too */
        ht__watch_describe(doing, sizeof doing, silent);
    }

    int length = snprintf(line, sizeof line, "ht: %s%s%s%s%s%s%s\n",
                          wire_size == 1 ? ""
                          : count > 1    ? "ranks "
                                         : "rank ",
                          wire_size == 1 ? "" : who, wire_size == 1 ? "" : ": ", mine->message,
                          missing[0] != '\0' ? "; not heard from: rank " : "", missing, doing);
    if (write(STDERR_FILENO, line, (size_t)length) < 0)
        return;
}

static void tell_all(const struct record *record)
{
    for (int r = 0; r < wire_size; r++) {
        MPI_Request request;

        if (r == wire_rank)
            continue;
        /* Never completed: the record outlives the job, and so does what MPI knows of it. */
        if (MPI_Isend(record, sizeof *record, MPI_BYTE, r, TAG, wire, &request) == MPI_SUCCESS)
            MPI_Request_free(&request);
    }
}

/* Takes in the records that have come. */
static bool listen(const struct record *mine, bool *others)
{
    bool printed = false;

    for (;;) {
        struct record theirs;
        MPI_Status status;
        int there = 0;

        if (MPI_Iprobe(MPI_ANY_SOURCE, TAG, wire, &there, &status) != MPI_SUCCESS || !there)
            return printed;
        MPI_Recv(&theirs, sizeof theirs, MPI_BYTE, status.MPI_SOURCE, TAG, wire, MPI_STATUS_IGNORE);
        heard[status.MPI_SOURCE] = true;
        if (theirs.code != mine->code || strcmp(theirs.message, mine->message) != 0) {
            *others = true;
            continue;
        }
        alike[status.MPI_SOURCE] = true;
        printed |= theirs.printed != 0;
    }
}

static int count_of(const bool *marked, int size)
{
    int count = 0;

    for (int r = 0; r < size; r++)
        count += marked[r];
    return count;
}

static void speak_once(const struct record *mine)
{
    static struct record note;
    struct ht_clock clock = {0};
    bool printed = false, others = false;
    int grace = mine->code == HT_ERR_TIMEOUT ? GRACE_TIMEOUT : GRACE;

    alike[wire_rank] = heard[wire_rank] = true;
    tell_all(mine);
    while (count_of(heard, wire_size) < wire_size && pause_within(&clock, grace))
        printed |= listen(mine, &others);
    printed |= listen(mine, &others);

    int lowest = 0;

    while (!alike[lowest])
        lowest++;
    if (printed || lowest != wire_rank) {
        sleep_ms(PATIENCE); /* the one that prints ends the job */
        return;
    }
    note = *mine;
    note.printed = 1;
    tell_all(&note);
    print(mine);
    if (others)
        sleep_ms(GRACE_TIMEOUT); /* so that the other messages are printed too */
}

static void only_first_thread(void)
{
    static atomic_flag entered = ATOMIC_FLAG_INIT;

    while (atomic_flag_test_and_set(&entered))
        sleep_ms(LIMIT);
}

/* Without the others: there is no way to them yet, or this thread may not use it. */
static void print_alone(const struct record *mine)
{
    char doing[1024] = "";
    int rank = 0, size = 1;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (mine->code == HT_ERR_TIMEOUT)
        ht__watch_describe(doing, sizeof doing, NULL);
    fprintf(stderr, size > 1 ? "ht: rank %3$d: %1$s%2$s\n" : "ht: %1$s%2$s\n", mine->message, doing,
            rank);
}

void ht__end_job(ht_status code, const char *message)
{
    static struct record mine;
    int initialized = 0, finalized = 0;

    only_first_thread();
    fflush(NULL);
    ht__timeline_flush();
    mine.code = (int)code;
    snprintf(mine.message, sizeof mine.message, "%s", message);
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (!initialized || finalized) {
        fprintf(stderr, "ht: %s\n", message);
        exit(EXIT_FAILURE);
    }
    end_within(&whole);
    if (wire != MPI_COMM_NULL && ht__mpi_usable()) {
        speak_once(&mine);
    } else {
        print_alone(&mine);
    }
    end_within(&limit);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    _exit(EXIT_FAILURE);
}

void ht__abort_wait(void)
{
    fflush(NULL);
    ht__timeline_flush();
    end_within(&whole);
    for (;;)
        sleep_ms(LIMIT);
}
