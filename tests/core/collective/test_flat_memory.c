/* ranks 2 3 */
/* SPDX-License-Identifier: MIT */
/* Repeated calls leave no memory behind, whatever types MPI makes for them. */
#include <malloc.h>

#include "core/comm/mpi.h"
#include "ht_test.h"

#include "ht/communication.h"
#include "ht/devices.h"
#include "ht/factories.h"
#include "ht/manipulations.h"

enum { WARM = 30, TIMES = 330, BYTES_PER_CALL = 128 };

static ht_tensor *rows, *part, *other;

static void resplit(void)
{
    ht_resplit(rows, 1);
}

static void roll(void)
{
    ht_roll(rows, 3, 0);
}

static void bcast(void)
{
    ht_bcast(HT_COMM_WORLD, part, 0);
}

static void alltoall(void)
{
    ht_alltoall(HT_COMM_WORLD, part, other);
}

static void send_to_the_next(void)
{
    ht_request *request = ht_isend(HT_COMM_WORLD, part, (ht_test_rank + 1) % ht_test_size, 1);

    ht_recv(HT_COMM_WORLD, other, (ht_test_rank + ht_test_size - 1) % ht_test_size, 1);
    ht_wait(&request);
}

static void buffered_send_to_the_next(void)
{
    ht_bsend(HT_COMM_WORLD, part, (ht_test_rank + 1) % ht_test_size, 1);
    ht_recv(HT_COMM_WORLD, other, (ht_test_rank + ht_test_size - 1) % ht_test_size, 1);
}

static const struct {
    const char *name;
    void (*call)(void);
    int64_t limit; /* a larger count is sent as a derived type; 0: INT_MAX */
} calls[] = {
    {"resplit", resplit, 0},
    {"roll", roll, 0},
    {"bcast", bcast, 5},
    {"alltoall", alltoall, 5},
    {"isend", send_to_the_next, 5},
    {"bsend", buffered_send_to_the_next, 5},
};

static size_t allocated(void)
{
    const struct mallinfo2 now = mallinfo2();

    return now.uordblks + now.hblkhd;
}

static void repeated_calls_keep_memory_flat(void **state)
{
    (void)state;
    ht_use_device(ht_device_get("cpu")); /* the queue of a lagging device holds copies */
    rows = ht_zeros(HT_SHAPE(24, 24), HT_FLOAT64, 0);
    part = ht_zeros(HT_SHAPE(24 * ht_test_size), HT_FLOAT64, HT_LOCAL);
    other = ht_zeros(HT_SHAPE(24 * ht_test_size), HT_FLOAT64, HT_LOCAL);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        size_t before = 0;

        ht__count_set_limit(calls[i].limit);
        for (int k = 0; k < TIMES; k++) {
            ht_scope *scope = ht_scope_open();

            calls[i].call();
            ht_scope_close(scope);
            if (k == WARM)
                before = allocated();
        }
        ht__count_set_limit(0);
        if (allocated() > before + (size_t)(TIMES - WARM) * BYTES_PER_CALL)
            fail_msg("%s: %zu bytes after %d calls, %zu after %d", calls[i].name, before, WARM,
                     allocated(), TIMES);
    }
}

HT_TEST_SUITE(test_flat_memory, cmocka_unit_test(repeated_calls_keep_memory_flat));
