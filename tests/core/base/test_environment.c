/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* Valid values of environment variables, and the messages for others. */
#include "ht_test.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/environment.h"
#include "ht.h"

static char lines[4096];

static void keep(ht_log_level level, const char *line, void *user)
{
    size_t used = strlen(lines);

    (void)level;
    (void)user;
    snprintf(lines + used, sizeof lines - used, "%s\n", line);
}

/* Whether rank 0 alone logs this text while the variable has the value. */
static bool says(const char *name, const char *value, const char *text)
{
    const char *was = getenv(name);
    char *before = was != NULL ? strdup(was) : NULL;
    bool said;

    lines[0] = '\0';
    setenv(name, value, 1);
    ht_log_set_sink(keep, NULL);
    ht__env_check();
    ht_log_set_sink(NULL, NULL);
    if (before != NULL)
        setenv(name, before, 1);
    else
        unsetenv(name);
    free(before);
    said = strstr(lines, text) != NULL;
    return ht_test_rank == 0 ? said : lines[0] == '\0';
}

static bool is_taken(const char *name, const char *value)
{
    return says(name, value, "") && strstr(lines, name) == NULL;
}

static void invalid_values_of_variables_are_ignored(void **state)
{
    (void)state;
    assert_true(
        says("HT_DEBUG_COLLECTIVE", "yes", "HT_DEBUG_COLLECTIVE=yes is ignored: expected 0|1"));
    assert_true(
        says("HT_LOG", "verbose", "HT_LOG=verbose is ignored: expected error|warn|info|debug"));
    assert_true(
        says("HT_SIMD", "avx513", "HT_SIMD=avx513 is ignored: expected baseline|avx2|avx512"));
    assert_true(says("HT_TIMEOUT", "30s",
                     "HT_TIMEOUT=30s is ignored: expected a number of seconds of at least 0"));
    assert_true(says("HT_TIMEOUT", "-1", "HT_TIMEOUT=-1 is ignored"));
    assert_true(says("HT_BUCKET_CAP_MB", "1,5", "HT_BUCKET_CAP_MB=1,5 is ignored"));
    assert_true(says("HT_RANKS_PER_NODE", "0", "HT_RANKS_PER_NODE=0 is ignored"));
    assert_true(says("HT_RANKS_PER_NODE", "4x", "HT_RANKS_PER_NODE=4x is ignored"));
    assert_true(says("HT_DEBUG_FAIL_ALLOC", "1",
                     "HT_DEBUG_FAIL_ALLOC=1 is ignored: expected rank:n[:tensors]"));
    assert_true(says("HT_IO_THREADS", "2", "HT_IO_THREADS=2 is ignored"));
}

static void valid_values_of_variables_are_taken(void **state)
{
    double number = 0;

    (void)state;
    assert_true(is_taken("HT_LOG", "debug"));
    assert_true(is_taken("HT_LOG", ""));
    assert_true(is_taken("HT_TIMEOUT", "30.5"));
    assert_true(is_taken("HT_TIMEOUT", "0"));
    assert_true(is_taken("HT_DEBUG_FAIL_ALLOC", "0:12"));
    assert_true(is_taken("HT_DEBUG_FAIL_ALLOC", "0:12:tensors"));
    setenv("HT_BUCKET_CAP_MB", "2.5", 1);
    assert_true(ht__env_number(HT_ENV_HT_BUCKET_CAP_MB, &number) && number == 2.5);
    unsetenv("HT_BUCKET_CAP_MB");
    assert_false(ht__env_number(HT_ENV_HT_BUCKET_CAP_MB, &number));
    setenv("HT_RANKS_PER_NODE", "3", 1);
    assert_int_equal(ht__env_count(HT_ENV_HT_RANKS_PER_NODE), 3);
    unsetenv("HT_RANKS_PER_NODE");
    setenv("HT_EXCHANGE", "messages", 1);
    assert_int_equal(ht__env_choice(HT_ENV_HT_EXCHANGE), 1);
    setenv("HT_EXCHANGE", "messagesx", 1);
    assert_int_equal(ht__env_choice(HT_ENV_HT_EXCHANGE), -1);
    unsetenv("HT_EXCHANGE");
}

static void misspelt_variables_are_reported(void **state)
{
    (void)state;
    assert_true(says("HT_TIMOUT", "5", "HT_TIMOUT is not a variable of libht, but HT_TIMEOUT is"));
    assert_true(says("HT_LGO", "5", "HT_LGO is not a variable of libht, but HT_LOG is"));
    assert_true(says("HT_SOMETHING_ELSE", "5", "HT_SOMETHING_ELSE is not a variable of libht\n"));
    assert_true(is_taken("HT_TEST_ANYTHING", "5"));
    assert_true(is_taken("HT_USER_ANYTHING", "5"));
}

static void numbers_do_not_depend_on_the_locale(void **state)
{
    static const char *const with_comma[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};
    double number = 1;

    (void)state;
    for (size_t i = 0; i < 3 && setlocale(LC_NUMERIC, with_comma[i]) == NULL; i++)
        continue; /* where there is none, the rest is tested still */
    assert_true(ht_number_from_text("30.5", &number) && number == 30.5);
    assert_true(ht_number_from_text("-1e-3", &number) && number == -1e-3);
    number = 7;
    assert_false(ht_number_from_text("30,5", &number));
    assert_false(ht_number_from_text("30.5s", &number));
    assert_false(ht_number_from_text("", &number));
    assert_false(ht_number_from_text(NULL, &number));
    assert_true(number == 7);
    setlocale(LC_NUMERIC, "C");
}

HT_TEST_SUITE(test_environment, cmocka_unit_test(invalid_values_of_variables_are_ignored),
              cmocka_unit_test(valid_values_of_variables_are_taken),
              cmocka_unit_test(misspelt_variables_are_reported),
              cmocka_unit_test(numbers_do_not_depend_on_the_locale));
