/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
#include "ht_test.h"

#include <stdio.h>

#include "ht.h"

static void test_library_matches_header(void **state)
{
    (void)state;
    assert_string_equal(ht_version(), HT_VERSION);
}

static void test_string_and_number_agree(void **state)
{
    int major, minor, patch;

    (void)state;
    assert_int_equal(sscanf(HT_VERSION, "%d.%d.%d", &major, &minor, &patch), 3);
    assert_int_equal(major * 10000 + minor * 100 + patch, HT_VERSION_NUMBER);
}

HT_TEST_SUITE(test_version, cmocka_unit_test(test_library_matches_header),
              cmocka_unit_test(test_string_and_number_agree));
