/* SPDX-License-Identifier: MIT */
/* Programs that continue after an error. */
#ifndef HT_TESTS_NN_PARALLEL_DATA_DATA_PARALLEL_ERRORS_H
#define HT_TESTS_NN_PARALLEL_DATA_DATA_PARALLEL_ERRORS_H

#include "data_parallel_test.h"

static inline void set_handlers(ht_errhandler handler)
{
    ht_comm_set_errhandler(HT_COMM_WORLD, handler);
    ht_comm_set_errhandler(HT_COMM_SELF, handler);
    ht_error_clear();
}

static inline void expect_message(const char *part)
{
    const char *message;

    assert_int_not_equal(ht_error_get(&message), HT_SUCCESS);
    if (strstr(message, part) == NULL)
        fail_msg("'%s' is not in '%s'", part, message);
    ht_error_clear();
}

static inline ht_status one_step(ht_module *dp, ht_optimizer *optimizer)
{
    ht_scope *scope = ht_scope_open();
    ht_status status = ht_optimizer_zero_grad(optimizer);

    if (status == HT_SUCCESS)
        status = backward_rows(dp, 4 * ht_test_rank, 4);
    if (status == HT_SUCCESS)
        status = ht_optimizer_step(optimizer);
    ht_scope_close(scope);
    return status;
}

#endif
