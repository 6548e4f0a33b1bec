/* ranks 1 */
/* SPDX-License-Identifier: MIT */
/* The strict reader of JSON: texts that are JSON, and texts that are not. */
#include "core/io/safetensors/json.h"
#include "core/base/base.h"
#include "ht_test.h"

#include <stdio.h>
#include <string.h>

static bool is_json(const char *text)
{
    ht_json json = {.start = text, .at = text, .end = text + strlen(text)};

    return ht__json_skip(&json) && ht__json_end(&json);
}

static void values_of_every_kind_pass(void **state)
{
    static const char *const texts[] = {
        "{}",
        "[]",
        " [ 1 , 2 ] ",
        "{\"a\":1,\"b\":{\"c\":[null,true,false]}}",
        "0",
        "-0",
        "10",
        "1.5e-3",
        "1E+7",
        "-12.25",
        "\"\"",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
        "\"\\u00e9\"",
        "\"\xc3\xa9\"",
        "\"\\ud83d\\ude00\"",
        "\n\t\r null",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (!is_json(texts[i]))
            fail_msg("%s is JSON", texts[i]);
    }
}

static void faults_are_found(void **state)
{
    static const char *const texts[] = {
        "",
        " ",
        "{",
        "}",
        "[",
        "[1",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{,}",
        "{a:1}",
        "{1:1}",
        "{\"a\" 1}",
        "{\"a\":1",
        "01",
        "+1",
        ".5",
        "1.",
        "1e",
        "1e+",
        "-",
        "- 1",
        "tru",
        "nul",
        "True",
        "NaN",
        "Infinity",
        "\"",
        "\"\\\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\ud83d\"",
        "\"\\ude00\"",
        "\"\\ud83d\\u0041\"",
        "\"\\u0000\"",
        "\"\n\"",
        "\"\xff\"",
        "\"\xc3\"",
        "\"\xc0\x80\"",
        "\"\xed\xa0\x80\"",
        "\"\xf4\x90\x80\x80\"",
        "\"\xe0\x80\x80\"",
        "1 2",
        "[]]",
        "'a'",
        "/**/1",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (is_json(texts[i]))
            fail_msg("%s is not JSON", texts[i]);
    }
}

static void strings_become_utf8(void **state)
{
    const char text[] = "\"a\\u0041\\u00e9\\u20ac\\ud83d\\ude00\\n\\/\xc3\xa9\" x";
    ht_json json = {.start = text, .at = text, .end = text + sizeof text - 1};
    char *got = ht__json_string(&json);

    (void)state;
    assert_non_null(got);
    assert_string_equal(got, "aA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\n/\xc3\xa9");
    ht__free(got);
    assert_false(ht__json_end(&json));
    assert_string_equal(json.why, "text follows its end");
}

static void json_integers_are_integral_and_in_range(void **state)
{
    static const struct {
        const char *text;
        bool valid;
        int64_t value;
    } cases[] = {
        {"0", true, 0},    {" 12", true, 12},   {"9223372036854775807", true, INT64_MAX},
        {"-1", false, 0},  {"01", false, 0},    {"9223372036854775808", false, 0},
        {"1.0", false, 0}, {"1e2", false, 0},   {"99999999999999999999", false, 0},
        {"", false, 0},    {"\"1\"", false, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i].text;
        ht_json json = {.start = text, .at = text, .end = text + strlen(text)};
        int64_t value = -1;

        if (ht__json_integer(&json, &value) != cases[i].valid)
            fail_msg("%s", text);
        if (cases[i].valid)
            assert_int_equal(value, cases[i].value);
    }
}

static void nesting_has_a_limit(void **state)
{
    char text[600] = "";

    (void)state;
    memset(text, '[', 128);
    memset(text + 128, ']', 128);
    assert_true(is_json(text));
    memset(text, '[', 129);
    memset(text + 129, ']', 129);
    assert_false(is_json(text));
    memset(text, '[', 500);
    assert_false(is_json(text));
}

HT_TEST_SUITE(test_json, cmocka_unit_test(values_of_every_kind_pass),
              cmocka_unit_test(faults_are_found), cmocka_unit_test(strings_become_utf8),
              cmocka_unit_test(json_integers_are_integral_and_in_range),
              cmocka_unit_test(nesting_has_a_limit));
