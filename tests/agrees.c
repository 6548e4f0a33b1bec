/* SPDX-License-Identifier: MIT */
#include "ht_test.h"

#include <stdio.h>
#include <string.h>

#include "agrees.h"
#include "tensor_check.h"

/* Only the library's calls are tested, so these checks call MPI themselves. */
static bool alike(const void *mine, int bytes)
{
    char first[1024];
    int same;

    memcpy(first, mine, (size_t)bytes);
    MPI_Bcast(first, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    same = memcmp(first, mine, (size_t)bytes) == 0;
    MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return same;
}

static void assert_next_is_right(void)
{
    ht_tensor *one = ht_array(&(int64_t){1}, 0, NULL, HT_INT64, HT_LOCAL);

    assert_int_equal(ht_allreduce(HT_COMM_WORLD, one, one, HT_OP_SUM), HT_SUCCESS);
    assert_int_equal(*(const int64_t *)ht_test_data(one), ht_test_size);
}

void ht_test_agrees_from(const ht_test_agreed *row, const char *text, int odd)
{
    ht_scope *scope = ht_scope_open();
    char message[1024] = "";
    const char *last;
    int status;

    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    status = (int)row->call(ht_test_rank == odd);
    ht_error_get(&last);
    snprintf(message, sizeof message, "%s", last);
    if (status == HT_SUCCESS || !alike(&status, sizeof status) || !alike(message, sizeof message) ||
        (text != NULL && strstr(message, text) == NULL)) {
        print_error("%s, with rank %d the odd one: rank %d gets %s: %s\n", row->what, odd,
                    ht_test_rank, ht_status_name((ht_status)status), message);
        fail();
    }
    ht_error_clear();
    assert_next_is_right();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_scope_close(scope);
}

void ht_test_agrees(const ht_test_agreed *row, const char *text)
{
    ht_test_agrees_from(row, text, 0);
    if (ht_test_size > 1)
        ht_test_agrees_from(row, text, ht_test_size - 1);
}

void ht_test_agree_all(int count, const ht_test_agreed rows[])
{
    for (int i = 0; i < count; i++)
        ht_test_agrees(&rows[i], NULL);
}
