/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
#include "ht_test.h"

#include <stdio.h>
#include <string.h>

#include "ht.h"

static void test_library_matches_header(void **state)
{
    (void)state;
    assert_string_equal(ht_version(), HT_VERSION);
}

static void version_string_and_number_agree(void **state)
{
    int major, minor, patch;

    (void)state;
    assert_int_equal(sscanf(HT_VERSION, "%d.%d.%d", &major, &minor, &patch), 3);
    assert_int_equal(major * 10000 + minor * 100 + patch, HT_VERSION_NUMBER);
}

static void test_the_configuration_is_shown(void **state)
{
    FILE *file = ht_test_rank == 0 ? tmpfile() : NULL;
    char text[1 << 14] = "";

    (void)state;
    assert_int_equal(ht_show_config(HT_COMM_WORLD, file), HT_SUCCESS);
    if (file == NULL)
        return;
    rewind(file);
    assert_in_range(fread(text, 1, sizeof text - 1, file), 100, sizeof text - 1);
    fclose(file);
    assert_int_equal(strncmp(text, "libht      " HT_VERSION "\nMPI ", 19), 0);
    assert_non_null(strstr(text, "\ndevices    cpu:0"));
}

HT_TEST_SUITE(test_version, cmocka_unit_test(test_the_configuration_is_shown),
              cmocka_unit_test(test_library_matches_header),
              cmocka_unit_test(version_string_and_number_agree));
