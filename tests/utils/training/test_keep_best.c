/* ranks 1 3 */
/* SPDX-License-Identifier: MIT */
/* The best models by a metric: the files that exist after each epoch, which hold the models of
 * these epochs; a run that resumes; a save that fails. */
#include "ht_test.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../data/files.h"
#include "ht.h"
#include "tensor_check.h"

static ht_status save(const char *path, void *module)
{
    return ht_module_save_state(module, path, HT_COMM_WORLD);
}

/* A model whose bias is the epoch. */
static void set_epoch(ht_module *model, int64_t epoch)
{
    bool was = ht_set_grad_enabled(false);

    ht_fill_(ht_module_find_parameter(model, "bias"), (double)epoch);
    ht_set_grad_enabled(was);
}

/* The epochs whose files are there, as letters: 1 is a. */
static void assert_files(const char *expected)
{
    char found[27] = "", name[32];
    size_t count = 0;

    ht_barrier(HT_COMM_WORLD);
    for (int epoch = 1; epoch <= 26; epoch++) {
        snprintf(name, sizeof name, "best-%d.h5", epoch);
        if (access(files_path(name), F_OK) == 0)
            found[count++] = (char)('a' + epoch - 1);
    }
    assert_string_equal(found, expected);
    ht_barrier(HT_COMM_WORLD);
}

static void test_keeps_the_best(void **state)
{
    static const double metrics[] = {0.5, 0.7, 0.6, 0.6, NAN, 0.65, 0.1, 0.9};
    static const char *const files[] = {"a", "ab", "bc", "bc", "bc", "bf", "bf", "bh"};
    ht_module *model = ht_nn_linear(1, 1);
    ht_keep_best *best;

    (void)state;
    files_open();
    best = ht_keep_best_new(files_path("best"), 2, true, save, model, HT_COMM_WORLD);
    for (int i = 0; i < 8; i++) {
        set_epoch(model, i + 1);
        assert_int_equal(ht_keep_best_step(best, metrics[i], i + 1), HT_SUCCESS);
        assert_files(files[i]);
    }
    assert_int_equal(ht_keep_best_count(best), 2);
    assert_string_equal(ht_keep_best_path(best, 0), files_path("best-8.h5"));
    assert_string_equal(ht_keep_best_path(best, 1), files_path("best-2.h5"));
    assert_null(ht_keep_best_path(best, 2));
    ht_module_load_state(model, ht_keep_best_path(best, 1), HT_COMM_WORLD);
    assert_true(ht_item(ht_module_find_parameter(model, "bias")) == 2);
    ht_release(best);
    ht_release(model);
    files_remove();
}

/* For a falling metric; and a run that resumes from a state knows which file to remove. */
static void test_state(void **state)
{
    ht_module *model = ht_nn_linear(1, 1);
    ht_keep_best *best, *resumed;

    (void)state;
    files_open();
    best = ht_keep_best_new(files_path("best"), 2, false, save, model, HT_COMM_WORLD);
    resumed = ht_keep_best_new(files_path("best"), 2, false, save, model, HT_COMM_WORLD);
    ht_keep_best_step(best, 3, 1);
    ht_keep_best_step(best, 2, 2);
    assert_int_equal(ht_keep_best_load_state_dict(resumed, ht_keep_best_state_dict(best)),
                     HT_SUCCESS);
    ht_keep_best_step(resumed, 2.5, 3);
    assert_files("bc");
    ht_release(resumed);
    ht_release(best);
    ht_release(model);
    files_remove();
}

static int failing = -1;

/* One rank alone fails, after all have saved. */
static ht_status save_or_fail(const char *path, void *module)
{
    ht_status status = save(path, module);

    return failing == ht_test_rank ? HT_ERR_IO : status;
}

/* An epoch that is run again does not take a better run's file away, and has one entry. */
static void test_an_epoch_again(void **state)
{
    ht_module *model = ht_nn_linear(1, 1);
    ht_keep_best *best;

    (void)state;
    files_open();
    best = ht_keep_best_new(files_path("best"), 2, true, save, model, HT_COMM_WORLD);
    set_epoch(model, 1);
    ht_keep_best_step(best, 0.9, 1);
    set_epoch(model, 2);
    ht_keep_best_step(best, 0.5, 1); /* worse */
    ht_module_load_state(model, files_path("best-1.h5"), HT_COMM_WORLD);
    assert_true(ht_item(ht_module_find_parameter(model, "bias")) == 1);
    assert_int_equal(ht_keep_best_count(best), 1);
    ht_keep_best_step(best, 0.7, 2);
    set_epoch(model, 3);
    ht_keep_best_step(best, 0.8, 2); /* better */
    ht_module_load_state(model, files_path("best-2.h5"), HT_COMM_WORLD);
    assert_true(ht_item(ht_module_find_parameter(model, "bias")) == 3);
    assert_int_equal(ht_keep_best_count(best), 2);
    ht_keep_best_step(best, 0.85, 3);
    assert_files("ac");
    ht_keep_best_step(best, 0.85, 4); /* an equal of a later epoch */
    assert_files("ac");
    ht_keep_best_step(best, 0.85, 2); /* and of an earlier one, which is run again */
    assert_files("ab");
    if (ht_test_size > 1)
        HT_TEST_EXPECT_ERROR(ht_keep_best_step(best, ht_test_rank == 0 ? NAN : 1, 4),
                             HT_ERR_ARGUMENT, "ht_keep_best_step: the metric of epoch 4 is nan on");
    ht_release(best);
    ht_release(model);
    files_remove();
}

/* The earlier files stay, also when the new one would have replaced them. */
static void test_failed_save_loses_nothing(void **state)
{
    ht_module *model = ht_nn_linear(1, 1);
    ht_keep_best *best;

    (void)state;
    files_open();
    best = ht_keep_best_new(files_path("best"), 1, true, save_or_fail, model, HT_COMM_WORLD);
    ht_keep_best_step(best, 1, 1);
    for (failing = 0; failing < ht_test_size; failing++) {
        HT_TEST_EXPECT_ERROR(assert_int_equal(ht_keep_best_step(best, 2, 2), HT_ERR_IO), HT_ERR_IO,
                             "best-2.h5 failed: HT_ERR_IO");
    }
    failing = -1;
    unlink(files_path("best-2.h5")); /* a rank without the fault wrote it */
    assert_files("a");
    assert_int_equal(ht_keep_best_count(best), 1);
    ht_keep_best_step(best, 1.5, 3);
    assert_files("c");
    ht_release(best);
    ht_release(model);
    files_remove();
}

/* Memory is that of the files that are there. */
static void test_keeps_all(void **state)
{
    ht_module *model = ht_nn_linear(2, 1);
    ht_keep_best *best;

    (void)state;
    files_open();
    best = ht_keep_best_new(files_path("all"), INT_MAX, true, save, model, HT_COMM_WORLD);
    for (int i = 0; i < 5; i++)
        assert_int_equal(ht_keep_best_step(best, i % 2, i), HT_SUCCESS);
    assert_int_equal(ht_keep_best_count(best), 5);
    ht_release(best);
    ht_release(model);
    files_remove();
}

static void test_misuse(void **state)
{
    const char *message;

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_null(ht_keep_best_new("x", 0, true, save, NULL, HT_COMM_WORLD));
    ht_error_get(&message);
    assert_non_null(strstr(message, "ht_keep_best_new: keep is 0, expected at least 1"));
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
}

HT_TEST_SUITE(test_keep_best, cmocka_unit_test(test_keeps_the_best), cmocka_unit_test(test_state),
              cmocka_unit_test(test_an_epoch_again),
              cmocka_unit_test(test_failed_save_loses_nothing), cmocka_unit_test(test_keeps_all),
              cmocka_unit_test(test_misuse));
