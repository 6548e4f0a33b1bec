/* ranks 1 */
/* SPDX-License-Identifier: MIT */
/* Errors in data that a device finds late (tests/backends/lagging): on several ranks they end the
 * job. */
#include <stdlib.h>

#include "core/device/device.h"
#include "ht_test.h"
#include "nn/nn_test.h"
#include "optim/optim.h"
#include "tensor_check.h"

static const int64_t classes = 3, rows = 2;

/* The loss of two rows, the second of which has an invalid class. */
static ht_tensor *bad_loss(ht_tensor *x)
{
    return ht_nll_loss(ht_log_softmax(x, 1),
                       ht_array((int64_t[]){1, 7}, 1, &rows, HT_INT64, HT_LOCAL), HT_MEAN);
}

static ht_tensor *scores(void)
{
    ht_tensor *x = ht_ones(HT_SHAPE(rows, classes), HT_FLOAT32, HT_LOCAL);

    ht_tensor_set_requires_grad(x, true);
    return x;
}

/* Not by their sum, which no step along this loss changes. */
static void assert_ones(ht_tensor *x)
{
    double most = 0;

    assert_int_equal(ht_tensor_item(ht_max(ht_detach(x), HT_NONE), &most), HT_SUCCESS);
    assert_true(most == 1);
}

static void begin(void)
{
    if (getenv("LAG_REFUSE") != NULL)
        HT_TEST_SKIP("kernels run on the host: no error is late");
    ht_use_device(ht_device_get("lag:1"));
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
}

static void end(void)
{
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
}

static void item_tells_a_bad_target(void **state)
{
    double value;

    (void)state;
    begin();
    assert_int_equal(ht_tensor_item(bad_loss(scores()), &value), HT_ERR_ARGUMENT);
    assert_message("ht_nll_loss: target 7 of row 1 is outside the 3 classes");
    assert_int_equal(ht_tensor_item(ht_ones(0, NULL, HT_FLOAT32, HT_LOCAL), &value), HT_SUCCESS);
    assert_true(value == 1); /* it is reported once */
    end();
}

static void a_wait_for_the_device_reports_the_fault(void **state)
{
    (void)state;
    begin();
    assert_non_null(bad_loss(scores()));
    assert_int_equal(ht_device_synchronize(ht_get_device()), HT_ERR_ARGUMENT);
    assert_message("ht_device_synchronize: ht_nll_loss: target 7 of row 1");
    assert_int_equal(ht_device_synchronize(ht_get_device()), HT_SUCCESS);
    end();
}

/* The parameter is unchanged, whether step() or the next wait reports the fault. */
static void an_optimizer_does_not_update_after_a_fault(void **state)
{
    ht_tensor *x;
    ht_optimizer *optimizer;

    (void)state;
    begin();
    x = scores();
    optimizer = ht_optim_sgd(ht_value_tensors(1, &x), 0.5, NULL);
    assert_int_equal(ht_backward(bad_loss(x)), HT_SUCCESS);
    if (ht_optimizer_step(optimizer) == HT_SUCCESS)
        assert_int_equal(ht_device_synchronize(ht_get_device()), HT_ERR_ARGUMENT);
    assert_message("ht_nll_loss: target 7 of row 1");
    assert_ones(x);
    ht_release(optimizer);
    end();
}

/* Nor does an update, if another call reports the error first. */
static void no_update_once_another_call_reported_the_fault(void **state)
{
    const ht_backend *lag;
    ht_device *device;
    ht_tensor *x;
    ht_optimizer *optimizer;
    void *event;

    (void)state;
    begin();
    device = ht_get_device();
    lag = device->backend;
    if (lag->event_wait == NULL)
        skip();
    x = scores();
    optimizer = ht_optim_sgd(ht_value_tensors(1, &x), 0.5, NULL);
    assert_int_equal(lag->event_new(device->stream, &event), 0);
    assert_int_equal(ht_backward(bad_loss(x)), HT_SUCCESS);
    assert_int_equal(lag->event_record(device->stream, event), 0);
    if (ht_optimizer_step(optimizer) == HT_SUCCESS)
        assert_int_not_equal(lag->event_wait(event), 0);
    ht_error_clear();
    assert_int_equal(ht_device_synchronize(device), HT_SUCCESS);
    assert_ones(x);

    ht_tensor_set_grad(x, ht_ones(HT_SHAPE(rows, classes), HT_FLOAT32, HT_LOCAL));
    assert_int_equal(ht_optimizer_step(optimizer), HT_SUCCESS); /* what comes later does update */
    assert_true(ht_item(ht_sum(ht_detach(x), HT_NONE)) == 0.5 * (double)(rows * classes));
    lag->event_free(event);
    ht_release(optimizer);
    end();
}

/* One that has come to light is the step's own. */
static void step_reports_a_known_fault(void **state)
{
    ht_tensor *x, *loss;
    ht_optimizer *optimizer;

    (void)state;
    setenv("LAG_RUN", "eager", true); /* for devices that are opened from now on */
    begin();
    ht_use_device(ht_device_get("lag:2"));
    unsetenv("LAG_RUN");
    x = scores();
    optimizer = ht_optim_sgd(ht_value_tensors(1, &x), 0.5, NULL);
    loss = bad_loss(x);
    assert_int_equal(ht_backward(loss), HT_SUCCESS);
    assert_int_equal(ht_optimizer_step(optimizer), HT_ERR_ARGUMENT);
    assert_message("ht_optimizer_step: ht_nll_loss: target 7 of row 1");
    assert_int_equal(optimizer->entries[0].steps, 0); /* a failed step does not count */
    assert_ones(x);
    ht_release(optimizer);
    end();
}

HT_TEST_SUITE(test_deferred_errors, cmocka_unit_test(item_tells_a_bad_target),
              cmocka_unit_test(a_wait_for_the_device_reports_the_fault),
              cmocka_unit_test(an_optimizer_does_not_update_after_a_fault),
              cmocka_unit_test(no_update_once_another_call_reported_the_fault),
              cmocka_unit_test(step_reports_a_known_fault));
