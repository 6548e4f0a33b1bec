/* ranks 1 3 */
/* SPDX-License-Identifier: MIT */
/* Not a test of the library: one test for each way in which a test can end, for tests/harness.sh.
 */
#include "ht_test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <mpi.h>

#include "ht.h"

static void passes(void **state)
{
    (void)state;
    assert_true(ht_test_rank < ht_test_size);
}

/* If HT_TEST_SEEN names a file: the first time, when it is not there yet. */
static void fails_at_first(void **state)
{
    const char *path = getenv("HT_TEST_SEEN");
    FILE *seen = path != NULL && ht_test_rank == 0 ? fopen(path, "r") : NULL;
    const bool fails = path != NULL && ht_test_rank == 0 && seen == NULL;

    (void)state;
    if (seen != NULL)
        fclose(seen);
    if (fails)
        fclose(fopen(path, "w"));
    assert_false(fails);
}

static void fails_on_last_rank(void **state)
{
    (void)state;
    assert_int_not_equal(ht_test_rank, ht_test_size - 1);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void crashes(void **state)
{
    (void)state;
    raise(SIGSEGV);
}

static void leaves_by_exit(void **state)
{
    (void)state;
    exit(0);
}

static void aborts_job(void **state)
{
    (void)state;
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void leaks(void **state)
{
    int64_t shape[] = {3};

    (void)state;
    ht_retain(ht_zeros(1, shape, HT_FLOAT32, HT_NONE));
}

static void is_skipped(void **state)
{
    (void)state;
    HT_TEST_SKIP("on purpose");
}

static void hangs(void **state)
{
    (void)state;
    for (;;)
        pause();
}

static void is_never_reached(void **state)
{
    (void)state;
}

HT_TEST_SUITE(test_harness, cmocka_unit_test(passes), cmocka_unit_test(fails_at_first),
              cmocka_unit_test(fails_on_last_rank), cmocka_unit_test(crashes),
              cmocka_unit_test(leaves_by_exit), cmocka_unit_test(aborts_job),
              cmocka_unit_test(leaks), cmocka_unit_test(is_skipped), cmocka_unit_test(hangs),
              cmocka_unit_test(is_never_reached));
