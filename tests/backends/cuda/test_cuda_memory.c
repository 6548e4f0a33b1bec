/* ranks 1 own device */
/* SPDX-License-Identifier: MIT */
/* Want of memory for the code of kernels and for handles of libraries: the pool gives back what it
 * keeps, and the call is made again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_device.h"
#include "ht/kernels/elementwise.h"
#include "tensor_check.h"

enum { KIB = 1024 };

static void set_bytes(const char *name, long bytes)
{
    char text[24];

    snprintf(text, sizeof text, "%ld", bytes);
    setenv(name, text, true);
}

static int end(void **state)
{
    (void)state;
    unsetenv("EMULATED_DEVICES");
    unsetenv("EMULATED_MEMORY");
    unsetenv("EMULATED_CODE");
    unsetenv("EMULATED_HANDLE");
    return 0;
}

/* Devices that no other test has opened. */
static bool has_more_devices(void)
{
    if (cuda_device() == NULL || !cuda_is_emulated(cuda_device()))
        return false;
    setenv("EMULATED_DEVICES", "11", true);
    return true;
}

/* Leaves this number of bytes in the pool. */
static void leave(const ht_device *device, size_t bytes)
{
    void *memory = device->backend->memory_alloc(device->stream, bytes);

    assert_non_null(memory);
    device->backend->memory_free(device->stream, memory);
}

static int launch(const ht_device *device, ht_kernel kernel, void *memory)
{
    ht_loop loop = {.call = {.bytes = sizeof loop,
                             .kernel = kernel,
                             .dtype = HT_FLOAT32,
                             .operands = 2,
                             .what = "the test"},
                    .operand = {{.data = memory}, {.data = memory}},
                    .ndim = 1,
                    .shape = {100},
                    .stride = {{1}, {1}}};

    return device->kernels->at[kernel][HT_FLOAT32](device->stream, &loop.call);
}

static void code_of_kernels_is_loaded_again(void **state)
{
    const ht_device *device;
    float ones[100], got[100];
    void *memory, *rest;

    (void)state;
    if (!has_more_devices())
        HT_TEST_SKIP("cuda:0 is not emulated");
    device = ht_device_get("cuda:8");
    memory = device->backend->memory_alloc(device->stream, sizeof ones);
    for (int i = 0; i < 100; i++)
        ones[i] = 1;
    ht__device_put(device, memory, ones, sizeof ones);
    leave(device, 600 * KIB);
    set_bytes("EMULATED_MEMORY", 1024L * KIB);
    set_bytes("EMULATED_CODE", 512L * KIB);
    assert_int_equal(launch(device, HT_KERNEL_NEG, memory), 0);
    assert_int_equal(ht__device_get(device, got, memory, sizeof got), 0);
    assert_true(got[0] == -1 && got[99] == -1);

    /* Memory in use stays in use when libht is allowed to empty its cache. */
    rest = device->backend->memory_alloc(device->stream, 400 * KIB);
    assert_non_null(rest);
    assert_int_equal(launch(device, HT_KERNEL_EXP, memory), 1);
    assert_int_equal(ht_error_get(NULL), HT_ERR_MEMORY);
    assert_message("the test: cuda:8: out of memory");
    device->backend->memory_free(device->stream, rest);
    set_bytes("EMULATED_CODE", 300L * KIB);
    assert_int_equal(launch(device, HT_KERNEL_EXP, memory), 0);
    assert_int_equal(ht__device_get(device, got, memory, sizeof got), 0);
    assert_true(got[0] > 0.36f &&
                got[99] < 0.37f); /* exp(-1): the launch that failed did nothing */
    device->backend->memory_free(device->stream, memory);
}

/* How often the log had each of these. */
static const char *const told[] = {"products run by cuBLAS", "convolutions run by cuDNN",
                                   "too little memory for cuBLAS: products run without it",
                                   "too little memory for cuDNN: convolutions run without it"};
enum { BLAS, DNN, NO_BLAS, NO_DNN, TOLD };
static int counts[TOLD];

static void count_lines(ht_log_level level, const char *text, void *user)
{
    (void)level;
    (void)user;
    for (int i = 0; i < TOLD; i++)
        counts[i] += strstr(text, told[i]) != NULL;
}

static void expect_counts(int blas, int dnn, int no_blas, int no_dnn)
{
    assert_int_equal(counts[BLAS], blas);
    assert_int_equal(counts[DNN], dnn);
    assert_int_equal(counts[NO_BLAS], no_blas);
    assert_int_equal(counts[NO_DNN], no_dnn);
}

/* A product and a convolution, compared with the CPU's. */
static void compute(ht_device *device)
{
    ht_scope *scope = ht_scope_open();
    ht_device *cpu = ht_device_get("cpu");
    const int64_t dims[] = {2, 3, 6, 6}, kernel[] = {4, 3, 3, 3}, square[] = {8, 8};
    ht_tensor *x = ht_test_randn(4, dims, HT_FLOAT64, HT_NONE, 1);
    ht_tensor *w = ht_test_randn(4, kernel, HT_FLOAT64, HT_NONE, 2);
    ht_tensor *a = ht_test_randn(2, square, HT_FLOAT64, HT_NONE, 3);
    ht_tensor *far = ht_to_device(a, device);

    ht_test_expect_same(ht_to_device(ht_matmul(far, far), cpu), ht_matmul(a, a), 1e-12);
    ht_test_expect_same(
        ht_to_device(ht_conv2d(ht_to_device(x, device), ht_to_device(w, device), NULL, NULL), cpu),
        ht_conv2d(x, w, NULL, NULL), 1e-12);
    ht_scope_close(scope);
}

/* From now on, log lines are counted. Returns the level to give back to log_again. */
static ht_log_level count_logs(void)
{
    const ht_log_level level = ht_log_get_level();

    memset(counts, 0, sizeof counts);
    ht_log_set_sink(count_lines, NULL);
    ht_log_set_level(HT_LOG_INFO);
    return level;
}

static void log_again(ht_log_level level)
{
    ht_log_set_sink(NULL, NULL);
    ht_log_set_level(level);
}

static void handles_are_made_when_there_is_memory(void **state)
{
    ht_log_level level;
    ht_device *device;

    (void)state;
    if (!has_more_devices())
        HT_TEST_SKIP("cuda:0 is not emulated");
    level = count_logs();
    set_bytes("EMULATED_MEMORY", 1024L * KIB);
    set_bytes("EMULATED_HANDLE", 2048L * KIB);
    device = ht_device_get("cuda:9");
    compute(device);
    compute(device);
    expect_counts(0, 0, 1, 1);
    set_bytes("EMULATED_MEMORY", 8192L * KIB);
    compute(device);
    compute(device);
    expect_counts(1, 1, 1, 1);
    log_again(level);
}

static void handles_take_what_the_pool_kept(void **state)
{
    ht_log_level level;
    ht_device *device;

    (void)state;
    if (!has_more_devices())
        HT_TEST_SKIP("cuda:0 is not emulated");
    level = count_logs();
    set_bytes("EMULATED_MEMORY", 5120L * KIB);
    set_bytes("EMULATED_HANDLE", 2048L * KIB);
    device = ht_device_get("cuda:10");
    leave(device, 2560 * KIB);
    compute(device);
    expect_counts(1, 1, 0, 0);
    log_again(level);
}

HT_TEST_SUITE(test_cuda_memory, cmocka_unit_test_teardown(code_of_kernels_is_loaded_again, end),
              cmocka_unit_test_teardown(handles_are_made_when_there_is_memory, end),
              cmocka_unit_test_teardown(handles_take_what_the_pool_kept, end));
