/* ranks 1 3 */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "ht_test.h"
#include "tensor_check.h"

struct seen {
    int lines;
    char last[128];
};

static void keep(ht_log_level level, const char *line, void *user)
{
    struct seen *seen = user;

    (void)level;
    seen->lines++;
    snprintf(seen->last, sizeof seen->last, "%s", line);
}

static void the_log_level_filters_lines(void **state)
{
    (void)state;
    struct seen seen = {0};
    ht_log_level before = ht_log_get_level();

    ht_log_set_sink(keep, &seen);
    ht_log_set_level(HT_LOG_WARN);
    ht_log_write(HT_LOG_INFO, "not wanted");
    assert_int_equal(seen.lines, 0);
    ht_log_write(HT_LOG_WARN, "rank %d of %d", ht_test_rank, ht_test_size);
    assert_int_equal(seen.lines, 1);
    assert_non_null(strstr(seen.last, "rank "));
    ht_log_write0(HT_LOG_ERROR, "once for all");
    assert_int_equal(seen.lines, ht_test_rank == 0 ? 2 : 1);
    ht_log_set_sink(NULL, NULL);
    ht_log_set_level(before);
}

/* Below the first level no line is written, above the last one each, also one of no level. */
static void levels_out_of_range_write_all_or_nothing(void **state)
{
    struct seen seen = {0};
    ht_log_level before = ht_log_get_level();

    (void)state;
    ht_log_set_sink(keep, &seen);
    for (int below = -1; below > -4; below--) {
        ht_log_set_level((ht_log_level)below);
        ht_log_write(HT_LOG_ERROR, "not wanted");
        assert_int_equal((int)ht_log_get_level(), -1);
    }
    assert_int_equal(seen.lines, 0);
    ht_log_set_level((ht_log_level)(HT_LOG_DEBUG + 5));
    ht_log_write((ht_log_level)(HT_LOG_DEBUG + 5), "above");
    assert_non_null(strstr(seen.last, "debug: above"));
    ht_log_write((ht_log_level)-5, "below");
    assert_non_null(strstr(seen.last, "error: below"));
    assert_int_equal(seen.lines, 2);
    ht_log_set_sink(NULL, NULL);
    ht_log_set_level(before);
}

static void keep_and_log(ht_log_level level, const char *line, void *user)
{
    keep(level, line, user);
    ht_log_write(HT_LOG_ERROR, "from within the sink of test_log");
    ht_log_set_sink(NULL, NULL);
}

/* Log lines of a sink itself go to stderr. */
static void a_sink_may_log(void **state)
{
    (void)state;
    struct seen seen = {0};

    ht_log_set_sink(keep_and_log, &seen);
    ht_log_write(HT_LOG_ERROR, "once");
    ht_log_write(HT_LOG_ERROR, "after the sink has taken itself away");
    assert_int_equal(seen.lines, 1);
    assert_non_null(strstr(seen.last, "once"));
}

static void names_of_dtypes_are_found_again(void **state)
{
    (void)state;
    for (int t = 0; t < HT_DTYPE_COUNT; t++)
        assert_int_equal(ht_dtype_from_name(ht_dtype_name((ht_dtype)t)), t);
    assert_int_equal(ht_dtype_from_name("float"), HT_DTYPE_COUNT);
    assert_string_equal(ht_dtype_name(HT_DTYPE_COUNT), "invalid");
    assert_string_equal(ht_dtype_name(HT_BFLOAT16), "bfloat16");
}

HT_TEST_SUITE(test_log, cmocka_unit_test(the_log_level_filters_lines),
              cmocka_unit_test(levels_out_of_range_write_all_or_nothing),
              cmocka_unit_test(a_sink_may_log), cmocka_unit_test(names_of_dtypes_are_found_again));
