/* SPDX-License-Identifier: MIT
 *
 * NCCL (src/backends/cuda/library/nccl.h) without a GPU. Messages pass through memory that the
 * processes share, a piece at a time, so a group waits in its stream until its peers have come. A
 * GPU works by itself, whatever its host does. So while there is a communicator, a thread does the
 * work that waits in the queues.
 *
 * - EMULATED_NCCL=no|old: there is no library, or it lacks a function
 * - EMULATED_NCCL_JOIN=R: rank R cannot join
 * - EMULATED_NCCL_ERROR=N: messages have failed with this error
 * - EMULATED_NCCL_STALL=1: messages of this rank never end */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "backends/cuda/library/nccl.h"
#include "emulate.h"
#include "emulated_runtime.h"

enum { SYSTEM_ERROR = 2, INVALID_USAGE = 5, REMOTE_ERROR = 6, MOST_RANKS = 16, ROOM = 1 << 14 };

/* Bytes from one rank to another, in a ring. */
struct mailbox {
    std::atomic<uint64_t> written, read;
    unsigned char bytes[ROOM];
};

struct meeting {
    std::atomic<int> arrived, failed;
    char device[MOST_RANKS][HT_CUDA_BUS_ROOM];
    mailbox from_to[MOST_RANKS][MOST_RANKS];
};

struct communicator {
    int rank, size;
    meeting *shared = NULL;
    std::atomic<bool> aborted{false};

    ~communicator()
    {
        munmap(shared, sizeof *shared);
    }
};

struct message {
    bool leaves;
    unsigned char *data;
    uint64_t bytes, done; /* done: of them, behind the 8 of their number */
    int peer;
};

struct group {
    std::shared_ptr<communicator> comm;
    stream *of;
    std::vector<message> messages;
    bool stalls;
};

static thread_local group current;

bool ht_cuda_nccl_load(int *version, char *missing)
{
    *version = 22809;
    if (emulated_is("EMULATED_NCCL", "no"))
        snprintf(missing, HT_CUDA_NCCL_ROOM, "libnccl.so.2: cannot open shared object file");
    else if (emulated_is("EMULATED_NCCL", "old"))
        snprintf(missing, HT_CUDA_NCCL_ROOM, "libnccl.so.2 has no ncclSend");
    else
        return true;
    return false;
}

const char *ht_cuda_nccl_text(int error)
{
    return error == INVALID_USAGE  ? "invalid usage"
           : error == REMOTE_ERROR ? "remote process exited or there was a network error"
                                   : "unhandled system error";
}

int ht_cuda_nccl_id(unsigned char id[HT_LINK_ID])
{
    static int made;

    snprintf((char *)id, HT_LINK_ID, "/dev/shm/ht-emulated-nccl-%d-%d", (int)getpid(), made++);
    return 0;
}

/* The devices of all communicators work by themselves. */
static std::thread worker;
static std::atomic<int> communicators;

static void work(void)
{
    while (communicators > 0) {
        {
            std::lock_guard<std::recursive_mutex> alone(emulated_mutex);
            emulated_run_all();
        }
        usleep(100);
    }
}

static bool is_twice(const meeting *m, int rank, int size)
{
    bool twice = false;

    for (int r = 0; r < size; r++)
        twice |= r != rank && strcmp(m->device[r], m->device[rank]) == 0;
    return twice;
}

static int meet(meeting *m, int rank, int size)
{
    const bool fails = emulated_setting("EMULATED_NCCL_JOIN", -1) == rank;

    ht_cuda_get_bus(emulated_current, m->device[rank]);
    if (fails)
        m->failed = 1;
    m->arrived++;
    while (m->arrived < size)
        usleep(100);
    return fails                     ? SYSTEM_ERROR
           : m->failed               ? REMOTE_ERROR
           : is_twice(m, rank, size) ? INVALID_USAGE
                                     : 0;
}

int ht_cuda_nccl_join(void **made, const unsigned char id[HT_LINK_ID], int rank, int size)
{
    const int file = open((const char *)id, O_RDWR | O_CREAT, 0600);
    auto comm = std::make_shared<communicator>();
    int error;

    *made = NULL;
    if (file < 0 || size > MOST_RANKS || ftruncate(file, sizeof(meeting)) != 0)
        return SYSTEM_ERROR;
    comm->rank = rank;
    comm->size = size;
    comm->shared = static_cast<meeting *>(
        mmap(NULL, sizeof(meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    close(file);
    error = meet(comm->shared, rank, size);
    unlink((const char *)id);
    if (error != 0)
        return error;
    *made = new std::shared_ptr<communicator>(comm);
    if (communicators++ == 0)
        worker = std::thread(work);
    return 0;
}

int ht_cuda_nccl_begin(void)
{
    current = group();
    return 0;
}

static int add(void *comm, bool leaves, const void *data, size_t bytes, int peer, void *stream_)
{
    if (comm == NULL)
        return INVALID_USAGE;
    current.comm = *static_cast<std::shared_ptr<communicator> *>(comm);
    current.of = static_cast<stream *>(stream_);
    current.messages.push_back(
        {leaves, static_cast<unsigned char *>(const_cast<void *>(data)), bytes, 0, peer});
    return 0;
}

int ht_cuda_nccl_send(void *comm, const void *data, size_t bytes, int to, void *stream_)
{
    return add(comm, true, data, bytes, to, stream_);
}

int ht_cuda_nccl_receive(void *comm, void *data, size_t bytes, int from, void *stream_)
{
    return add(comm, false, data, bytes, from, stream_);
}

/* Byte number i of a message: its length first. */
static unsigned char *byte_of(message *m, uint64_t i)
{
    return i < sizeof m->bytes ? (unsigned char *)&m->bytes + i : m->data + (i - sizeof m->bytes);
}

static void check_length(const communicator *comm, const message *m, uint64_t length)
{
    if (length == m->bytes)
        return;
    fprintf(stderr, "emulated: rank %d receives %lu bytes of rank %d, which sends %lu\n",
            comm->rank, (unsigned long)m->bytes, m->peer, (unsigned long)length);
    abort();
}

static bool put(const communicator *comm, message *m)
{
    mailbox *box = &comm->shared->from_to[comm->rank][m->peer];
    const uint64_t all = m->bytes + sizeof m->bytes;
    uint64_t at = box->written;

    for (; m->done < all && at - box->read < ROOM; m->done++, at++)
        box->bytes[at % ROOM] = *byte_of(m, m->done);
    box->written = at;
    return m->done == all;
}

static bool get(const communicator *comm, message *m)
{
    mailbox *box = &comm->shared->from_to[m->peer][comm->rank];
    const uint64_t all = m->bytes + sizeof m->bytes, written = box->written;
    uint64_t at = box->read;

    if (m->done == 0 && written - at >= sizeof m->bytes) {
        uint64_t length = 0;

        for (size_t i = 0; i < sizeof length; i++)
            ((unsigned char *)&length)[i] = box->bytes[(at + i) % ROOM];
        check_length(comm, m, length);
        at += sizeof length;
        m->done = sizeof length;
    }
    for (; m->done > 0 && m->done < all && at < written; m->done++, at++)
        *byte_of(m, m->done) = box->bytes[at % ROOM];
    box->read = at;
    return m->done == all;
}

/* Whether all messages are there. */
static bool move(group *g)
{
    bool all = !g->stalls;

    if (g->comm->aborted)
        return true;
    for (message &m : g->messages)
        all &= m.leaves ? put(g->comm.get(), &m) : get(g->comm.get(), &m);
    return all;
}

/* The flaw: the messages do not wait for the work before them. */
int ht_cuda_nccl_end(void)
{
    ALONE;
    auto g = std::make_shared<group>(current);

    if (g->messages.empty())
        return 0;
    g->stalls = emulated_is("EMULATED_NCCL_STALL", "1");
    if (g->of->device != emulated_current)
        return INVALID_USAGE;
    emulated_give_waiting(
        g->of, [=] { return move(g.get()); }, emulated_has_flaw("link"));
    return 0;
}

int ht_cuda_nccl_error(void *)
{
    return (int)emulated_setting("EMULATED_NCCL_ERROR", 0);
}

void ht_cuda_nccl_free(void *made, bool aborts)
{
    auto *comm = static_cast<std::shared_ptr<communicator> *>(made);

    if (comm == NULL)
        return;
    (*comm)->aborted = aborts;
    delete comm;
    if (--communicators == 0)
        worker.join();
}
