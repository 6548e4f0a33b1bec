/* SPDX-License-Identifier: MIT
 *
 * Questions to missing ranks, and their answers: the operation or the layer that each of them is
 * in. All of it runs under the watchdog's lock. */

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/comm/mpi.h"

/* Before there is a communicator of the library's own, the tags are among those of the program. */
enum { ASK = 32051, ANSWER = 32052 };
static const double patience = 1; /* s for all answers */

struct answer {
    int question; /* a late answer to an earlier one is not mistaken for this one's */
    uint64_t operations;
    char what[256]; /* it waits in; "": in nothing */
    char where[128];
};

static MPI_Comm wire = MPI_COMM_NULL;
static int wire_rank, wire_size;
static struct answer *answers; /* one per rank, made in time: a rank may be out of memory */
static bool *asked;            /* ranks that have not answered yet */

/* A message that is there, taken before another thread can. */
static bool take(int tag, void *data, size_t bytes, int *source)
{
    MPI_Message message;
    MPI_Status status;
    int there = 0;

    if (MPI_Improbe(MPI_ANY_SOURCE, tag, wire, &there, &message, &status) != MPI_SUCCESS || !there)
        return false;
    *source = status.MPI_SOURCE;
    return MPI_Mrecv(data, (int)bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

void ht__ask_answer(void)
{
    int question, source;

    while (take(ASK, &question, sizeof question, &source)) {
        struct answer mine = {.question = question,
                              .operations = atomic_load(&ht__watch.operations)};
        const char *what = ht__watch_waits_in(), *where = atomic_load(&ht__watch.where);

        snprintf(mine.what, sizeof mine.what, "%s", what != NULL ? what : "");
        snprintf(mine.where, sizeof mine.where, "%s", where != NULL ? where : "");
        MPI_Send(&mine, sizeof mine, MPI_BYTE, source, ANSWER, wire);
    }
}

/* Asks those that are marked in `asked`. All questions are sent before any answer is awaited, so
 * that no rank is blamed for the absence of another. A rank that has answered loses its mark. */
static void ask(void)
{
    static int question;
    struct ht_clock clock = {0};
    int missing = 0;

    question++;
    for (int r = 0; r < wire_size; r++) {
        MPI_Request request;

        if (!asked[r])
            continue;
        missing++;
        if (MPI_Isend(&question, sizeof question, MPI_BYTE, r, ASK, wire, &request) == MPI_SUCCESS)
            MPI_Request_free(&request);
    }
    while (missing > 0 && ht__clock_elapsed(&clock, HT_CLOCK_STALL) < patience) {
        struct answer one;
        int source;

        ht__ask_answer(); /* two ranks may ask each other */
        while (take(ANSWER, &one, sizeof one, &source)) {
            if (one.question != question || !asked[source])
                continue;
            answers[source] = one;
            asked[source] = false;
            missing--;
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

/* Writes "; rank 1 ...". */
static size_t describe_one(char *text, size_t room, int rank)
{
    unsigned long long mine = atomic_load(&ht__watch.operations);
    const struct answer *it = &answers[rank];
    int length;

    if (asked[rank])
        length = snprintf(text, room, "; rank %d does not answer", rank);
    else if (it->what[0] != '\0')
        length = snprintf(text, room, "; rank %d is in %s (its operation %llu, here %llu)", rank,
                          it->what, (unsigned long long)it->operations, mine);
    else
        length = snprintf(text, room, "; rank %d computes%s%s, after %llu operations of %llu", rank,
                          it->where[0] != '\0' ? ", last in " : "", it->where,
                          (unsigned long long)it->operations, mine);
    return (size_t)length < room ? (size_t)length : room - 1;
}

void ht__ask_describe(char *text, size_t room, const bool *whom)
{
    size_t at = 0;

    text[0] = '\0';
    if (wire == MPI_COMM_NULL)
        return;
    for (int r = 0; r < wire_size; r++)
        asked[r] = whom != NULL ? whom[r] : r != wire_rank;
    ask();
    for (int r = 0; r < wire_size; r++) {
        if (whom != NULL ? whom[r] : asked[r])
            at += describe_one(text + at, room - at, r);
    }
}

/* Whether a rank below this one waits too: that one speaks. */
static bool lower_rank_waits(void)
{
    for (int r = 0; r < wire_rank; r++) {
        memset(asked, 0, (size_t)wire_size * sizeof *asked);
        asked[r] = true;
        ask();
        if (!asked[r] && answers[r].what[0] != '\0')
            return true;
    }
    return false;
}

bool ht__ask_who_waits_elsewhere(const char *what, char *text, size_t room)
{
    size_t at = 0;

    text[0] = '\0';
    if (lower_rank_waits())
        return false;
    for (int r = 0; r < wire_size; r++)
        asked[r] = r != wire_rank;
    ask();
    for (int r = 0; r < wire_size; r++) {
        if (r != wire_rank && (asked[r] || strcmp(answers[r].what, what) != 0))
            at += describe_one(text + at, room - at, r);
    }
    return true;
}

void ht__ask_start(MPI_Comm world)
{
    MPI_Comm_rank(world, &wire_rank);
    MPI_Comm_size(world, &wire_size);
    answers = ht__alloc((size_t)wire_size * sizeof *answers);
    asked = ht__alloc((size_t)wire_size * sizeof *asked);
    wire = world;
}

void ht__ask_connect(MPI_Comm own)
{
    wire = own;
}

void ht__watch_meet(ht_comm *world, const char *what)
{
    MPI_Request request;

    ht__wait_posted(world, MPI_Ibarrier(wire, &request), &request, what);
}

void ht__ask_end(void)
{
    MPI_Comm_free(&wire);
    ht__free(answers);
    ht__free(asked);
    answers = NULL;
    asked = NULL;
}
