/* ranks 1 */
/* SPDX-License-Identifier: MIT */
/* A device that fails in any one of its calls (tests/backends/lagging): training reports it, or
 * ends with the numbers of a run without a failure. On several ranks a device's failure ends the
 * job. */
#include <stdio.h>
#include <stdlib.h>

#include "ht_test.h"
#include "nn/nn_test.h"

static const int64_t rows = 4;

/* Two steps of a small model, alone or in a wrapper; the sum of its weights, or that of the error.
 */
static ht_status train(bool wrapped, double *sum)
{
    ht_scope *scope = ht_scope_open();
    ht_module *net, *model = NULL;
    ht_optimizer *optimizer = NULL;
    ht_status status;

    ht_nn_seed(7);
    net = ht_nn_linear(3, 2);
    if (net != NULL)
        optimizer = ht_optim_sgd(ht_module_parameters(net), 0.5, NULL);
    if (optimizer != NULL && wrapped)
        model = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false);
    for (int step = 0; step < 2 && ht_error_get(NULL) == HT_SUCCESS; step++) {
        ht_tensor *x = ht_linspace(0, 1, rows * 3, HT_FLOAT32, HT_LOCAL);
        ht_tensor *target = ht_array((int64_t[]){0, 1, 1, 0}, 1, &rows, HT_INT64, HT_LOCAL);

        x = x != NULL ? ht_reshape(x, HT_SHAPE(rows, 3)) : NULL;
        x = x != NULL ? ht_forward(model != NULL ? model : net, x) : NULL;
        if (x == NULL || target == NULL)
            break;
        ht_optimizer_zero_grad(optimizer);
        if (ht_backward(ht_nll_loss(ht_log_softmax(x, 1), target, HT_MEAN)) == HT_SUCCESS)
            ht_optimizer_step(optimizer);
    }
    if (ht_error_get(NULL) == HT_SUCCESS)
        ht_tensor_item(
            ht_sum(ht_detach(ht_value_as_tensor(ht_value_at(ht_module_parameters(net), 0))),
                   HT_NONE),
            sum);
    ht_scope_close(scope);
    ht_release(optimizer);
    ht_release(model);
    ht_release(net);
    status = ht_error_get(NULL); /* also of a wrapper that ends */
    ht_error_clear();
    return status;
}

static void check(bool wrapped)
{
    double expected = 0, sum = 0;
    char number[16];
    int told = 0, made = 0;

    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_use_device(ht_device_get("lag:3"));
    assert_int_equal(train(wrapped, &expected), HT_SUCCESS);
    assert_int_equal(train(wrapped, &sum), HT_SUCCESS);
    assert_true(sum == expected);
    for (int n = 1; n == made + 1; n++) {
        ht_status status;

        unsetenv("LAG_FAULT_MADE");
        snprintf(number, sizeof number, "%d", n);
        setenv("LAG_FAULT", number, true);
        status = train(wrapped, &sum);
        unsetenv("LAG_FAULT");
        if (ht_device_synchronize(ht_get_device()) != HT_SUCCESS) /* the remaining devices */
            ht_error_clear();
        made += getenv("LAG_FAULT_MADE") != NULL;
        told += status != HT_SUCCESS;
        if (status == HT_SUCCESS && sum != expected)
            fail_msg("call %d, %s, failed: the sum is %.9g, expected %.9g", n,
                     getenv("LAG_FAULT_MADE"), sum, expected);
    }
    assert_true(made > 20);
    assert_true(told > made / 2);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
}

static void every_failed_call_is_reported_or_harmless(void **state)
{
    (void)state;
    check(false);
    check(true);
}

HT_TEST_SUITE(test_device_faults, cmocka_unit_test(every_failed_call_is_reported_or_harmless));
