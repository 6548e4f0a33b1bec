/* ranks 1 own device */
/* SPDX-License-Identifier: MIT */
/* Connectionist temporal classification of the CUDA module compared with the CPU's: repeated
 * classes, sequences that end early, one without a path, and a target that is not a class. */
#include <stdlib.h>

#include "backends/cpu/cpu_kernels.h"
#include "cuda_device.h"
#include "ht/kernels/nn.h"
#include "tensor_check.h"

enum { STEPS = 9, ROWS = 4, CLASSES = 5, WIDTH = 3 };

static const int64_t good[] = {1, 1, 2, 3, 4, 1, 2, 2, 2, 4, 3, 0};

/* The losses of all rows, and the gradient of x in *grad. */
static ht_tensor *losses(ht_device *device, ht_dtype dtype, const int64_t targets[], bool zero,
                         ht_tensor **grad)
{
    ht_ctc_options options = ht_ctc_options_default();
    ht_tensor *x = ht_to_device(ht_test_randn(HT_SHAPE(STEPS, ROWS, CLASSES), dtype, HT_NONE, 3),
                                device);
    ht_tensor *steps = ht_array((int64_t[]){9, 6, 3, 8}, HT_SHAPE(ROWS), HT_INT64, HT_NONE);
    ht_tensor *lengths = ht_array((int64_t[]){3, 2, 3, 2}, HT_SHAPE(ROWS), HT_INT64, HT_NONE);
    ht_tensor *y, *all = ht_array(targets, HT_SHAPE(ROWS, WIDTH), HT_INT64, HT_NONE);

    options.zero_infinity = zero;
    options.reduction = HT_NO_REDUCTION;
    ht_tensor_set_requires_grad(x, true);
    y = ht_ctc_loss_ext(ht_log_softmax(x, 2), ht_to_device(all, device),
                        ht_to_device(steps, device), ht_to_device(lengths, device), &options);
    if (y != NULL && grad != NULL) {
        assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
        *grad = ht_to_device(ht_tensor_grad(x), ht_device_get("cpu"));
    }
    return y;
}

static void paths_are_those_of_the_cpu(void **state)
{
    ht_device *device = cuda_device(), *cpu = ht_device_get("cpu");

    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    for (size_t order = 0; order < sizeof cuda_orders / sizeof *cuda_orders; order++)
        for (ht_dtype dtype = HT_FLOAT16; dtype <= HT_FLOAT64; dtype++)
            for (int zero = 0; zero < 2; zero++) {
                const int64_t before = ht_device_fallbacks(device);
                ht_tensor *expected, *got, *expected_grad, *grad;

                setenv("EMULATED_ORDER", cuda_orders[order], true);
                expected = losses(cpu, dtype, good, zero == 1, &expected_grad);
                got = losses(device, dtype, good, zero == 1, &grad);
                ht_test_expect_same(ht_to_device(got, cpu), expected, 4 * cpu_eps(dtype));
                /* It is made of exponentials of logarithms of up to 16, which have 16 units. */
                ht_test_expect_same(grad, expected_grad, 32 * cpu_eps(dtype));
                assert_int_equal(ht_device_fallbacks(device), before);
            }
    unsetenv("EMULATED_ORDER");
}

/* Operands of a call in the memory of a device: x, loss, alpha, and the integers. */
typedef struct operands {
    double x[2 * ROWS * CLASSES], loss[ROWS], alpha[ROWS * 2 * (2 * WIDTH + 1)];
    int64_t targets[ROWS * WIDTH], steps[ROWS], lengths[ROWS];
} operands;

/* ht_ctc_loss refuses such targets before. */
static void a_target_out_of_range_is_reported(void **state)
{
    ht_device *device = cuda_device();

    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    operands host = {.loss = {7, 7, 7, 7}, .steps = {2, 2, 2, 2}, .lengths = {1, 1, 2, 1}};
    operands *remote = device->backend->memory_alloc(device->stream, sizeof host);
    ht_ctc_call c = {.steps = 2, .rows = ROWS, .classes = CLASSES, .width = WIDTH};

    memcpy(host.targets, good, sizeof good);
    host.targets[2 * WIDTH + 1] = CLASSES;
    host.targets[1 * WIDTH + 2] = -1; /* after the end of its row */
    ht__device_put(device, remote, &host, sizeof host);
    c.call = (ht_kernel_call){.bytes = sizeof c,
                              .kernel = HT_KERNEL_CTC_FORWARD,
                              .dtype = HT_FLOAT64,
                              .operands = HT_CTC_OPERANDS,
                              .what = "the test"};
    c.x.data = remote->x;
    c.loss.data = remote->loss;
    c.alpha.data = remote->alpha;
    c.targets.data = remote->targets;
    c.input_lengths.data = remote->steps;
    c.target_lengths.data = remote->lengths;
    assert_int_equal(
        device->kernels->at[HT_KERNEL_CTC_FORWARD][HT_FLOAT64](device->stream, &c.call), 0);
    HT_TEST_EXPECT_ERROR(ht_device_synchronize(device), HT_ERR_ARGUMENT,
                         "the test: target 5 of row 2 is outside the 5 classes");
    assert_int_equal(ht__device_get(device, &host, remote, sizeof host), 0);
    assert_true(host.loss[2] == 0 && host.loss[1] < 0); /* the row is left out */
    device->backend->memory_free(device->stream, remote);
}

HT_TEST_SUITE(test_cuda_ctc, cmocka_unit_test(paths_are_those_of_the_cpu),
              cmocka_unit_test(a_target_out_of_range_is_reported));
