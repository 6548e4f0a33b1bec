/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* A module whose memory the host reaches (tests/core/near_backend.c), and modules with a flaw. */
#include <stdlib.h>
#include <string.h>

#include "core/device/device.h"
#include "ht_test.h"
#include "tensor_check.h"

static const int64_t shape[2] = {5, 4};

/* Before the module is loaded for good. */
static void a_flawed_module_is_refused(void **state)
{
    static const char *const flaws[][2] = {
        {"refuses", "the backend of 'near' failed to open it and gave no reason"},
        {"name", "libht_near.so is named 'far', expected 'near'"},
        {"copy", "libht_near.so has no memory_copy"},
        {"side_copy", "libht_near.so has no complete set of functions for events"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof flaws / sizeof *flaws; i++) {
        setenv("HT_NEAR_FLAW", flaws[i][0], true);
        HT_TEST_EXPECT_ERROR(ht_device_get("near"), i == 0 ? HT_ERR_DEVICE : HT_ERR_UNSUPPORTED,
                             flaws[i][1]);
    }
    unsetenv("HT_NEAR_FLAW");
}

/* Missing kernels, and those that refuse, run on the host, in its own memory. */
static void missing_kernels_run_on_the_host(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_device *cpu = ht_device_get("cpu"), *near = ht_device_get("near");
    ht_tensor *x = ht_to_device(ht_test_randn(2, shape, HT_FLOAT32, 0, 1), cpu);
    ht_tensor *y = ht_to_device(x, near);
    const bool some = ht_tensor_lsize(x) > 0;
    int64_t before = ht_device_fallbacks(near);

    assert_true(!some || ht_tensor_data(y) != NULL);
    ht_test_expect_same(ht_to_device(ht_neg(y), cpu), ht_neg(x), 0);
    assert_int_equal(ht_device_fallbacks(near), before);
    ht_test_expect_same(ht_to_device(ht_exp(y), cpu), ht_exp(x), 0);
    assert_int_equal(ht_device_fallbacks(near), before + some);
    ht_test_expect_same(ht_to_device(ht_neg(ht_transpose(y, 0, 1)), cpu),
                        ht_neg(ht_transpose(x, 0, 1)), 0);
    ht_test_expect_same(ht_to_device(ht_matmul(y, ht_transpose(y, 0, 1)), cpu),
                        ht_matmul(x, ht_transpose(x, 0, 1)), 0);
    ht_test_expect_same(ht_to_device(ht_sum(y, HT_NONE), cpu), ht_sum(x, HT_NONE), 0);
    ht_scope_close(scope);
}

static void ht_fallback_error_reports_missing_kernels(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_tensor *y = ht_to_device(ht_ones(2, shape, HT_FLOAT32, 0), ht_device_get("near"));

    ht__fallback_is_error = true; /* HT_FALLBACK=error */
    HT_TEST_EXPECT_ERROR(ht_exp(y), HT_ERR_UNSUPPORTED,
                         "ht_exp: near:0 has no kernel EXP for float32 (HT_FALLBACK=error "
                         "forbids running it on the host)");
    ht__fallback_is_error = false;
    ht_scope_close(scope);
}

struct heard {
    const char *device;
    int lines, others;
};

static void hear(ht_log_level level, const char *line, void *user)
{
    struct heard *heard = user;

    (void)level;
    if (strstr(line, "runs on the host") == NULL)
        return;
    heard->lines++;
    heard->others += strstr(line, heard->device) == NULL;
}

/* Each device names its own, for each dtype once; kernels that ran before the log was on, too. */
static void the_log_names_each_kernel_on_each_device_once(void **state)
{
    static const char *const devices[] = {"near:0", "near:1"};
    const ht_log_level before = ht_log_get_level();
    struct heard heard;

    (void)state;
    ht_log_set_sink(hear, &heard);
    for (int i = 0; i < 2; i++) {
        ht_device *device = ht_device_get(devices[i]);
        ht_tensor *x = ht_to_device(ht_ones(HT_SHAPE(4), HT_FLOAT32, HT_NONE), device);
        ht_tensor *wide = ht_to_device(ht_ones(HT_SHAPE(4), HT_FLOAT64, HT_NONE), device);

        heard = (struct heard){.device = devices[i]};
        ht_log_set_level(HT_LOG_WARN);
        ht_log(x);
        ht_log_set_level(HT_LOG_INFO);
        ht_log(x);
        ht_log(x);
        assert_int_equal(heard.lines, 1);
        ht_log(wide);
        ht_sqrt(wide);
        ht_sqrt(wide);
        assert_int_equal(heard.lines, 3);
        assert_int_equal(heard.others, 0);
    }
    ht_log_set_level(before);
    ht_log_set_sink(NULL, NULL);
}

HT_TEST_SUITE(test_near_device, cmocka_unit_test(a_flawed_module_is_refused),
              cmocka_unit_test(missing_kernels_run_on_the_host),
              cmocka_unit_test(ht_fallback_error_reports_missing_kernels),
              cmocka_unit_test(the_log_names_each_kernel_on_each_device_once));
