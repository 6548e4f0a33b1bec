/* SPDX-License-Identifier: MIT */
/* A program in which memory runs out, for tests/nn/starved.sh: starved PROGRAM HANDLER FILE. Ends
 * with status 1 after an error, which under HT_ERRORS_RETURN it prints, and with 9 if memory ran
 * out and nothing was said. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "programs.h"

int main(int argc, char **argv)
{
    ht_status status;
    long left;

    if (argc != 4)
        return 2;
    ht_init(&argc, &argv);
    if (strcmp(argv[2], "return") == 0) {
        ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
        ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    }
    status = strcmp(argv[1], "core") == 0 ? ht_test_core_program(argv[3])
                                          : ht_test_training_program(argv[3], true);
    if (status != HT_SUCCESS)
        fprintf(stderr, "rank %d: %s\n", ht_comm_rank(HT_COMM_WORLD), ht_test_first_message);
    ht_finalize();
    left = ht__alloc_fail(-1, 0, false);
    if (status == HT_SUCCESS && getenv("HT_DEBUG_FAIL_ALLOC") != NULL && left <= 0)
        return 9;
    return status != HT_SUCCESS;
}
