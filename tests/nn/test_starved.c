/* ranks 1 */
/* SPDX-License-Identifier: MIT */
/* Memory for a tensor runs out at every place of two programs in turn, under HT_ERRORS_RETURN: they
 * end with the error, and leave no object. */
#include "core/base/base.h"
#include "ht_test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "programs.h"
#include "tensor_check.h"

static char path[64];

static ht_status core(void)
{
    return ht_test_core_program(path);
}

static ht_status training(void)
{
    return ht_test_training_program(path, false);
}

/* The n-th tensor finds no memory, for n = 1, 2, ... until there are fewer. */
static void starve(ht_status (*program)(void))
{
    long n = 0, kernels = 0, left;

    snprintf(path, sizeof path, "starved.%d.h5", (int)getpid());
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    do {
        ht__alloc_fail(0, ++n, true);
        ht_status status = program();
        left = ht__alloc_fail(-1, 0, true);
        if (status != (left > 0 ? HT_SUCCESS : HT_ERR_MEMORY))
            fail_msg("tensor %ld without memory: %s: %s", n, ht_status_name(status),
                     ht_test_first_message);
        kernels += status != HT_SUCCESS &&
                   strstr(ht_test_first_message, "of scratch memory for a kernel") != NULL;
        ht_error_clear();
    } while (left <= 0);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    assert_true(n > 50);
    /* kernels of another device need none of the host */
    assert_true(kernels > 0 || strncmp(ht_device_name(ht_get_device()), "cuda", 4) == 0);
}

static void test_a_program_of_the_core_without_memory(void **state)
{
    (void)state;
    starve(core);
}

static void test_training_without_memory(void **state)
{
    (void)state;
    if (!ht_test_on_host())
        HT_TEST_SKIP("copies to the host are allocations too");
    starve(training);
}

HT_TEST_SUITE(test_starved, cmocka_unit_test(test_a_program_of_the_core_without_memory),
              cmocka_unit_test(test_training_without_memory));
