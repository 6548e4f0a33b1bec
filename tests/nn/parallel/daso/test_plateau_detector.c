/* ranks 1 */
/* SPDX-License-Identifier: MIT */
/* The plateau detector against Heat's on recorded values, its state, and what it refuses. */
#include "ht_test.h"

#include <math.h>

#include "golden/daso.h"
#include "ht.h"

enum { CURVES = sizeof golden_detector / sizeof *golden_detector };

static ht_plateau_detector *detector_of(int curve)
{
    ht_plateau_detector_options o = ht_plateau_detector_options_default();

    o.maximize = golden_detector[curve].maximize;
    o.absolute = golden_detector[curve].absolute;
    o.patience = golden_detector[curve].patience;
    o.cooldown = golden_detector[curve].cooldown;
    o.threshold = golden_detector[curve].threshold;
    return ht_plateau_detector_new(&o);
}

static void check_from(ht_plateau_detector *detector, int curve, int first)
{
    for (int i = first; i < GOLDEN_DETECTOR_VALUES; i++)
        assert_int_equal(
            ht_plateau_detector_test_if_improving(detector, golden_detector[curve].values[i]),
            golden_detector[curve].plateau[i]);
}

static void test_detector_golden(void **state)
{
    (void)state;
    for (int c = 0; c < CURVES; c++) {
        ht_plateau_detector *detector = detector_of(c);

        check_from(detector, c, 0);
        ht_plateau_detector_reset(detector);
        check_from(detector, c, 0);
        ht_release(detector);
    }
}

/* A detector that takes over in the middle, also one with other settings. */
static void test_detector_state(void **state)
{
    (void)state;
    for (int c = 0; c < CURVES; c++) {
        ht_plateau_detector *first = detector_of(c), *second = ht_plateau_detector_new(NULL);
        ht_value *map;

        for (int i = 0; i < 7; i++)
            ht_plateau_detector_test_if_improving(first, golden_detector[c].values[i]);
        map = ht_plateau_detector_get_state(first);
        assert_true(ht_value_as_number(ht_value_get(map, "last_epoch")) == 7);
        assert_int_equal(ht_plateau_detector_set_state(second, map), HT_SUCCESS);
        check_from(second, c, 7);
        ht_release(first);
        ht_release(second);
    }
}

/* A reset ends the cooldown, too, in which nothing is a plateau. */
static void test_detector_reset_in_the_cooldown(void **state)
{
    ht_plateau_detector_options o = ht_plateau_detector_options_default();
    ht_plateau_detector *detector;

    (void)state;
    o.patience = 0;
    o.cooldown = 3;
    detector = ht_plateau_detector_new(&o);
    assert_false(ht_plateau_detector_test_if_improving(detector, 1));
    assert_true(ht_plateau_detector_test_if_improving(detector, 1));
    assert_false(ht_plateau_detector_test_if_improving(detector, 1));
    ht_plateau_detector_reset(detector);
    assert_false(ht_plateau_detector_test_if_improving(detector, 1));
    assert_true(ht_plateau_detector_test_if_improving(detector, 1));
    ht_release(detector);
}

/* A metric that is to rise, below zero: Heat takes falling from -1 to -1.04 as an improvement. */
static void test_detector_negative_maximum(void **state)
{
    ht_plateau_detector_options o = ht_plateau_detector_options_default();
    ht_plateau_detector *detector;

    (void)state;
    o.maximize = true;
    o.patience = 0;
    o.threshold = 0.05;
    detector = ht_plateau_detector_new(&o);
    assert_false(ht_plateau_detector_test_if_improving(detector, -1));
    assert_true(ht_plateau_detector_test_if_improving(detector, -1.04));
    assert_true(ht_plateau_detector_test_if_improving(detector, -0.96));
    assert_false(ht_plateau_detector_test_if_improving(detector, -0.94));
    assert_true(ht_plateau_detector_test_if_improving(detector, NAN));
    ht_release(detector);
}

/* Numbers of a state have the ranges of the options. */
static void test_detector_state_out_of_range(void **state)
{
    static const struct {
        const char *name;
        double value;
    } cases[] = {{"threshold", 1},
                 {"threshold", -1},
                 {"threshold", INFINITY},
                 {"maximize", 2},
                 {"absolute", 3}};
    ht_plateau_detector *detector = ht_plateau_detector_new(NULL);

    (void)state;
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ht_value *map = ht_plateau_detector_get_state(detector);

        ht_value_set(map, cases[i].name, ht_value_number(cases[i].value));
        assert_int_equal(ht_plateau_detector_set_state(detector, map), HT_ERR_FORMAT);
        assert_message(cases[i].name);
    }
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(detector);
}

static void test_detector_misuse(void **state)
{
    ht_plateau_detector_options o = ht_plateau_detector_options_default(), unset = {0};
    ht_plateau_detector *detector = ht_plateau_detector_new(NULL);
    ht_value *map = ht_plateau_detector_get_state(detector);

    (void)state;
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    assert_null(ht_plateau_detector_new(&unset));
    assert_message("start from ht_plateau_detector_options_default()");
    o.threshold = 1;
    assert_null(ht_plateau_detector_new(&o));
    assert_message("threshold is 1, expected 0 <= threshold < 1");
    ht_value_set(map, "best", ht_value_list());
    assert_int_equal(ht_plateau_detector_set_state(detector, map), HT_ERR_FORMAT);
    assert_message("ht_plateau_detector_set_state: the state has no number \"best\"");
    map = ht_plateau_detector_get_state(detector);
    ht_value_set(map, "num_bad_epochs", ht_value_number(-1));
    assert_int_equal(ht_plateau_detector_set_state(detector, map), HT_ERR_FORMAT);
    assert_message("the state has no integer \"num_bad_epochs\" of at least 0");
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(detector);
}

HT_TEST_SUITE(test_plateau_detector, cmocka_unit_test(test_detector_golden),
              cmocka_unit_test(test_detector_state),
              cmocka_unit_test(test_detector_reset_in_the_cooldown),
              cmocka_unit_test(test_detector_negative_maximum),
              cmocka_unit_test(test_detector_state_out_of_range),
              cmocka_unit_test(test_detector_misuse));
