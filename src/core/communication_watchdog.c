/* SPDX-License-Identifier: MIT
 *
 * The watchdog: a thread per rank that sleeps, answers ranks that miss others with what this rank
 * is doing, and holds a deadline over the calls of MPI that nobody can poll: making communicators
 * and shared memory, opening files. Waits that poll have theirs in communication_wait.c. Below
 * MPI_THREAD_MULTIPLE there is no thread: waits that poll still end in time, but the ranks that are
 * missing cannot say what they do instead. */
#include "message.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Before there is a communicator of the library's own, the tags are among those of the program. */
enum { ASK = 32051, ANSWER = 32052 };
enum { PERIOD = 250 /* ms */, PATIENCE = 1000 /* ms for all answers */, NOTICE = 10 /* s */ };

struct answer {
    int question; /* a late answer to an earlier one is not mistaken for this one's */
    uint64_t operations;
    char what[256]; /* it waits in; "": in nothing */
    char where[128];
};

struct ht_watch ht__watch;

/* What the thread guards: the program's thread is inside a call that cannot be polled. */
static _Atomic(const char *) guarded;
static atomic_uint guards; /* begun so far, to tell two of the same name apart */

static MPI_Comm wire = MPI_COMM_NULL; /* this and the next four: under the lock */
static int wire_rank, wire_size;
static struct answer *answers; /* one per rank, made in time: a rank may be out of memory */
static bool *asked;            /* who has not answered yet */
static bool stopping;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stop = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static atomic_bool running;

const char *ht__watch_guard(const char *what)
{
    const char *outer = atomic_load_explicit(&guarded, memory_order_relaxed);

    atomic_fetch_add_explicit(&guards, 1, memory_order_relaxed);
    atomic_store_explicit(&guarded, outer != NULL ? outer : what, memory_order_relaxed);
    return outer;
}

void ht__watch_unguard(const char *outer)
{
    atomic_fetch_add_explicit(&guards, 1, memory_order_relaxed);
    atomic_store_explicit(&guarded, outer, memory_order_relaxed);
}

/* ---- questions and answers ---------------------------------------------------------------------
 */
static const char *waits_in(void)
{
    const char *what = atomic_load(&ht__watch.what);

    return what != NULL ? what : atomic_load(&guarded);
}

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

static void answer_all(void)
{
    int question, source;

    while (take(ASK, &question, sizeof question, &source)) {
        struct answer mine = {.question = question,
                              .operations = atomic_load(&ht__watch.operations)};
        const char *what = waits_in(), *where = atomic_load(&ht__watch.where);

        snprintf(mine.what, sizeof mine.what, "%s", what != NULL ? what : "");
        snprintf(mine.where, sizeof mine.where, "%s", where != NULL ? where : "");
        MPI_Send(&mine, sizeof mine, MPI_BYTE, source, ANSWER, wire);
    }
}

/* Asks those that are marked in `asked`, all before any answer is awaited, so that no rank's
 * absence is held against another. Who has answered is no longer marked. */
static void ask(void)
{
    static int question;
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
    for (int ms = 0; ms < PATIENCE && missing > 0; ms++) {
        struct answer one;
        int source;

        answer_all(); /* two ranks may ask each other */
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

void ht__watch_describe(char *text, size_t room, const bool *whom)
{
    size_t at = 0;

    text[0] = '\0';
    if (!running || wire == MPI_COMM_NULL)
        return;
    pthread_mutex_lock(&lock);
    for (int r = 0; r < wire_size; r++)
        asked[r] = whom != NULL ? whom[r] : r != wire_rank;
    ask();
    for (int r = 0; r < wire_size; r++) {
        if (whom != NULL ? whom[r] : asked[r])
            at += describe_one(text + at, room - at, r);
    }
    pthread_mutex_unlock(&lock);
}

/* ---- the thread --------------------------------------------------------------------------------
 */
/* Looks every period; an ended call, or the next one, starts the count again. Each period counts
 * as itself however long it took, so that a suspended job does not time out. */
static void guard_deadline(unsigned *last, double *waited)
{
    const char *what = atomic_load(&guarded);
    unsigned now = atomic_load(&guards);
    char text[512];

    if (what == NULL || now != *last) {
        *last = now;
        *waited = 0;
        return;
    }
    *waited += PERIOD * 1e-3;
    if (*waited <= ht__wait_timeout())
        return;
    snprintf(text, sizeof text, HT_TIMEOUT_TEXT, what, ht__wait_timeout());
    pthread_mutex_unlock(&lock); /* the end asks the others, which takes it */
    ht__abort(HT_ERR_TIMEOUT, text);
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

static void give_notice(const char *what)
{
    char others[1024] = "";
    size_t at = 0;

    if (lower_rank_waits())
        return;
    for (int r = 0; r < wire_size; r++)
        asked[r] = r != wire_rank;
    ask();
    for (int r = 0; r < wire_size; r++) {
        if (r != wire_rank && (asked[r] || strcmp(answers[r].what, what) != 0))
            at += describe_one(others + at, sizeof others - at, r);
    }
    ht_log_write(HT_LOG_WARN, "%s: waits for other ranks since %d s; the job ends after %g%s", what,
                 NOTICE, ht__wait_timeout(), others);
}

/* Once, long before the deadline: a line for who looks at a job that stands still. */
static void look_at_wait(uint64_t *last, double *waited)
{
    static bool noticed;
    const char *what = atomic_load(&ht__watch.what);
    uint64_t now = atomic_load(&ht__watch.moves);

    if (what == NULL || now != *last || noticed) {
        *last = now;
        *waited = 0;
        return;
    }
    *waited += PERIOD * 1e-3;
    if (*waited < NOTICE)
        return;
    noticed = true;
    give_notice(what);
}

static void *watch(void *unused)
{
    unsigned last_guard = 0;
    uint64_t last_move = 0;
    double guarded_for = 0, waited = 0;

    (void)unused;
    pthread_mutex_lock(&lock);
    while (!stopping) {
        struct timespec until;

        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += PERIOD * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&stop, &lock, &until);
        if (stopping)
            break;
        answer_all();
        guard_deadline(&last_guard, &guarded_for);
        look_at_wait(&last_move, &waited);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

void ht__watch_start(MPI_Comm world)
{
    int level;

    MPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE || ht__wait_timeout() <= 0)
        return;
    MPI_Comm_rank(world, &wire_rank);
    MPI_Comm_size(world, &wire_size);
    answers = ht__alloc((size_t)wire_size * sizeof *answers);
    asked = ht__alloc((size_t)wire_size * sizeof *asked);
    wire = world;
    stopping = false;
    running = pthread_create(&thread, NULL, watch, NULL) == 0;
}

void ht__watch_connect(MPI_Comm world)
{
    MPI_Comm copy;

    if (ht__mpi_check(NULL, MPI_Comm_dup(world, &copy), "ht_init") != HT_SUCCESS)
        return;
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    pthread_mutex_lock(&lock);
    wire = copy;
    pthread_mutex_unlock(&lock);
}

void ht__watch_meet(ht_comm *world, const char *what)
{
    MPI_Request request;

    if (ht__mpi_check(world, MPI_Ibarrier(wire, &request), what) == HT_SUCCESS)
        ht__wait_mpi(world, 1, &request, what);
}

bool ht__watch_running(void)
{
    return running;
}

void ht__watch_end(void)
{
    if (running) {
        pthread_mutex_lock(&lock);
        stopping = true;
        pthread_cond_signal(&stop);
        pthread_mutex_unlock(&lock);
        pthread_join(thread, NULL);
        running = false;
    }
    MPI_Comm_free(&wire);
    ht__free(answers);
    ht__free(asked);
    answers = NULL;
    asked = NULL;
}
