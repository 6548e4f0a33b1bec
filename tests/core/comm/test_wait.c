/* ranks 2 */
/* SPDX-License-Identifier: MIT */
/* The names of waits: those of the public functions that the program called, although these are
 * made of others. Rank 1 begins when rank 0 waits for it.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "core/comm/comm.h"
#include "ht.h"
#include "ht_test.h"

static struct {
    const char *expected, *other; /* other: a name that was found instead; NULL: none */
    MPI_Comm comm;
    int waits;
    bool begun; /* rank 1 was told to begin */
} seen;

static void begin(void)
{
    if (!seen.begun && ht_test_rank == 0)
        MPI_Send(NULL, 0, MPI_BYTE, 1, 0, seen.comm);
    seen.begun = true;
}

/* Called by each wait that lasts. */
static bool look(void)
{
    const char *name = atomic_load(&ht__watch.what);

    begin();
    seen.waits++;
    if (strcmp(name, seen.expected) != 0)
        seen.other = name;
    return false;
}

/* The operands are matrices x and y with different splits, one row of x, and complex numbers z. */
#define CALLS(X)                                       \
    X(ht_resplit, (x, 1))                              \
    X(ht_redistribute, (x, (int64_t[]){3, 1}))         \
    X(ht_reshape, (y, HT_SHAPE(8, 2)))                 \
    X(ht_squeeze, (row, 0))                            \
    X(ht_broadcast_to, (row, HT_SHAPE(3, 4)))          \
    X(ht_logical_and, (x, y))                          \
    X(ht_add, (x, y))                                  \
    X(ht_concatenate, (2, (ht_tensor *[]){x, row}, 0)) \
    X(ht_vstack, (2, (ht_tensor *[]){x, row}))         \
    X(ht_flip, (x, HT_AXES(0)))                        \
    X(ht_roll, (x, 1, 0))                              \
    X(ht_rot90, (x, 3, 0, 1))                          \
    X(ht_tile, (x, HT_LIST(int64_t, 2, 1)))            \
    X(ht_getitem, (x, HT_KEY(mask)))                   \
    X(ht_sort, (x, 0, false, &a, &b))                  \
    X(ht_unique, (x, &a, NULL, NULL))                  \
    X(ht_matmul, (x, x))                               \
    X(ht_cov, (x, NULL, true, false))                  \
    X(ht_cdist, (x, y, false))                         \
    X(ht_norm, (x))                                    \
    X(ht_solve, (x, y))                                \
    X(ht_inv, (x))                                     \
    X(ht_det, (x))                                     \
    X(ht_qr, (x, &a, &b))                              \
    X(ht_svd, (x, &a, &b, &c))                         \
    X(ht_pinv, (x))                                    \
    X(ht_fft, (z, 4, 0, HT_FFT_BACKWARD))              \
    X(ht_fftshift, (x, HT_AXES(0)))                    \
    X(ht_permutation, (x))                             \
    X(ht_print, (x, out))

static void expect(const char *name)
{
    seen.expected = name;
    seen.other = NULL;
    seen.waits = 0;
    seen.begun = false;
    if (ht_test_rank == 1)
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, seen.comm, MPI_STATUS_IGNORE);
}

static void check(void)
{
    begin();
    if (seen.other != NULL)
        fail_msg("%s waits as %s", seen.expected, seen.other);
    if (ht_test_rank == 0 && seen.waits == 0)
        fail_msg("%s does not wait for rank 1", seen.expected);
}

static void waits_name_the_called_function(void **state)
{
    ht_tensor *x = ht_add(ht_ones(HT_SHAPE(4, 4), HT_FLOAT64, 0), ht_eye(4, 4, HT_FLOAT64, 0));
    ht_tensor *y = ht_resplit(x, 1), *row = ht_ones(HT_SHAPE(1, 4), HT_FLOAT64, 0);
    ht_tensor *z = ht_astype(x, HT_COMPLEX128), *mask = ht_gt(x, y), *a, *b, *c;
    FILE *out = tmpfile();

    (void)state;
    assert_non_null(out);
    MPI_Comm_dup(ht_comm_mpi(HT_COMM_WORLD), &seen.comm);
    ht__wait_set_serve(look);
#define CHECK(f, arguments) \
    expect(#f);             \
    f arguments;            \
    check();
    CALLS(CHECK)
#undef CHECK
    ht__wait_set_serve(NULL);
    MPI_Comm_free(&seen.comm);
    fclose(out);
}

HT_TEST_SUITE(test_wait, cmocka_unit_test(waits_name_the_called_function));
