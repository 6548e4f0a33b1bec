/* SPDX-License-Identifier: MIT
 *
 * Cables with a length, for tests/multinode/launch on kernels without netem: bytes sent into the
 * near end of a cable leave its far end after the delay, in order; bytes sent into the far end
 * leave the near one at once. usage: cable NANOSECONDS NEAR FAR [NEAR FAR]...
 *
 * Makes a TAP device for each end and returns when all are there; they last as long as the process
 * that it leaves behind. Exit status 77 where there are no such devices.
 *
 * Packets pass as large as TCP makes them (64 KB), unread. Each costs two system calls and two
 * copies: about 0.2 of a core where two hosts talk at 1 Gbit/s. At most about 4 Gbit/s get through.
 * In a line packets wait from the time at which they were read, so that a process that comes late
 * adds to the delay and never takes from it. */
#define _GNU_SOURCE

#include <stdio.h>

#ifdef __linux__
#if __has_include(<linux/if_tun.h>)
#include <linux/if_tun.h>
#endif
#endif

#ifdef TUNSETIFF
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
    LARGEST = 65536 + 64, /* TCP's packet, its Ethernet header and how to cut it */
    MOST_WAITING = 4096,  /* in a line; more wait in the kernel, which drops from 500 on */
    TURN = 32             /* packets read before the other lines have their turn */
};

typedef struct packet {
    struct packet *next; /* owned by the line or the list that it is in */
    int64_t due;         /* ns, monotonic clock */
    size_t size;
    char bytes[LARGEST];
} packet;

typedef struct line {
    int from, to;
    int64_t delay;
    int waiting;
    packet *first, *last; /* due in this order */
} line;

/* The one used last comes first, so that few are touched. */
static packet *unused;

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void fail(const char *what)
{
    fprintf(stderr, "cable: %s: %s\n", what, strerror(errno));
    exit(77);
}

static int open_tap(const char *name)
{
    int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    struct ifreq how = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};

    if (device < 0)
        fail("/dev/net/tun");
    snprintf(how.ifr_name, sizeof how.ifr_name, "%s", name);
    if (ioctl(device, TUNSETIFF, &how) != 0)
        fail(name);
    /* The reader takes packets without checksums, and larger than the MTU. */
    if (ioctl(device, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6) != 0)
        fail("large packets");
    return device;
}

static packet *new_packet(void)
{
    packet *p = unused;

    if (p != NULL) {
        unused = p->next;
        return p;
    }
    p = malloc(sizeof *p);
    if (p == NULL)
        abort();
    return p;
}

static void give_back(packet *p)
{
    p->next = unused;
    unused = p;
}

static void take_in(line *l)
{
    for (int i = 0; i < TURN && l->waiting < MOST_WAITING; i++) {
        packet *p = new_packet();
        ssize_t size = read(l->from, p->bytes, LARGEST);

        if (size <= 0) {
            give_back(p);
            return;
        }
        p->next = NULL;
        p->size = (size_t)size;
        p->due = now() + l->delay;
        if (l->waiting++ == 0)
            l->first = p;
        else
            l->last->next = p;
        l->last = p;
    }
}

static void let_out(line *l)
{
    while (l->waiting > 0 && l->first->due <= now()) {
        packet *p = l->first;

        /* A device that is down takes nothing, and the packet is lost as on a cable that is cut. */
        (void)!write(l->to, p->bytes, p->size);
        l->first = p->next;
        l->waiting--;
        give_back(p);
    }
}

/* NULL: nothing waits in any line. */
static const struct timespec *until_next(const line lines[], int count, struct timespec *t)
{
    int64_t next = INT64_MAX, left;

    for (int i = 0; i < count; i++) {
        if (lines[i].waiting > 0 && lines[i].first->due < next)
            next = lines[i].first->due;
    }
    if (next == INT64_MAX)
        return NULL;
    left = next - now();
    left = left > 0 ? left : 0;
    *t = (struct timespec){.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
    return t;
}

static void carry(line lines[], struct pollfd ends[], int count)
{
    struct timespec t;

    for (;;) {
        for (int i = 0; i < count; i++) {
            /* One that is not read while the line is full. */
            ends[i].fd = lines[i].waiting < MOST_WAITING ? lines[i].from : -1;
            ends[i].events = POLLIN;
        }
        if (ppoll(ends, (nfds_t)count, until_next(lines, count, &t), NULL) < 0)
            continue; /* suspended, and woken */
        for (int i = 0; i < count; i++) {
            if (ends[i].revents & POLLERR) /* the device went with its host */
                exit(0);
            if (ends[i].revents & POLLIN)
                take_in(&lines[i]);
            let_out(&lines[i]);
        }
    }
}

/* On time, though more ranks compute than there are cores. Where that is not allowed: late. */
static void hurry(void)
{
    struct sched_param first = {.sched_priority = 1};

    prctl(PR_SET_TIMERSLACK, 1UL);
    sched_setscheduler(0, SCHED_FIFO, &first);
}

int main(int argc, char **argv)
{
    int count = argc - 2; /* of lines, two of each cable, and of ends */
    line *lines = calloc((size_t)argc, sizeof *lines);
    struct pollfd *ends = calloc((size_t)argc, sizeof *ends);

    if (count < 2 || count % 2 != 0 || lines == NULL || ends == NULL) {
        fprintf(stderr, "usage: cable NANOSECONDS NEAR FAR [NEAR FAR]...\n");
        return 2;
    }
    for (int i = 0; i < count; i++)
        lines[i].from = lines[i ^ 1].to = open_tap(argv[i + 2]);
    for (int i = 0; i < count; i += 2)
        lines[i].delay = atoll(argv[1]);
    if (daemon(1, 0) != 0)
        fail("daemon");
    hurry();
    carry(lines, ends, count);
}

#else
int main(void)
{
    fprintf(stderr, "cable: built without TAP devices (linux/if_tun.h)\n");
    return 77;
}
#endif
