/* ranks 1 */
/* SPDX-License-Identifier: MIT */
/* DASO's phases, skips and waits against Heat's on recorded loss curves, and what they mean for
 * single batches. */
#include "ht_test.h"

#include <string.h>

#include "golden/daso.h"
#include "ht.h"
#include "nn/parallel/daso/schedule.h"

static ht_daso_schedule schedule_of(int total, int warmup, int cooldown, int max_skips)
{
    ht_plateau_detector_options o = ht_plateau_detector_options_default();
    ht_daso_schedule s = {.total_epochs = total,
                          .warmup_epochs = warmup,
                          .cooldown_epochs = cooldown,
                          .max_global_skips = max_skips,
                          .skip_reduction_factor = 2,
                          .local_skip_factor = 4};

    o.patience = 2;
    o.threshold = 0.05;
    s.detector = ht_plateau_detector_new(&o);
    ht__daso_schedule_reset(&s);
    return s;
}

static ht_daso_phase phase_of(const ht_daso_schedule *s, int epoch)
{
    if (epoch >= s->total_epochs - s->cooldown_epochs)
        return HT_DASO_COOLDOWN;
    return epoch < s->warmup_epochs ? HT_DASO_WARMUP : HT_DASO_CYCLING;
}

static void skips_of_each_epoch_are_those_of_heat(void **state)
{
    (void)state;
    for (size_t run = 0; run < sizeof golden_daso / sizeof *golden_daso; run++) {
        ht_daso_schedule s = schedule_of(golden_daso[run].total, golden_daso[run].warmup,
                                         golden_daso[run].cooldown, golden_daso[run].max_skips);

        s.skip_reduction_factor = golden_daso[run].reduction;
        s.local_skip_factor = golden_daso[run].local_factor;
        for (int e = 0; e < golden_daso[run].total; e++) {
            const int *skips = golden_daso[run].skips[e];

            ht__daso_schedule_epoch(&s, golden_daso[run].losses[e]);
            if (s.global_skip != skips[0] || s.local_skip != skips[1] || s.wait != skips[2])
                fail_msg("run %zu after epoch %d: %d %d %d, expected %d %d %d", run, e,
                         (int)s.global_skip, (int)s.local_skip, (int)s.wait, skips[0], skips[1],
                         skips[2]);
            assert_int_equal(s.phase, phase_of(&s, e + 1));
        }
        ht_release(s.detector);
    }
}

/* Losses of the warm-up do not count, but for the one that leads out of it: the first plateau is
 * three epochs later. */
static void test_no_plateaus_of_the_warmup(void **state)
{
    static const int skips[] = {0, 0, 0, 4, 4, 4, 2};
    ht_daso_schedule s = schedule_of(20, 4, 0, 8);

    (void)state;
    for (int e = 0; e < 7; e++) {
        ht__daso_schedule_epoch(&s, 1);
        assert_int_equal(s.global_skip, skips[e]);
    }
    ht_release(s.detector);
}

/* Heat's first epoch always blocks, and then its skips stay 0 for ever. */
static void test_no_warmup_cycles_at_once(void **state)
{
    ht_daso_schedule s = schedule_of(4, 0, 1, 2);

    (void)state;
    assert_int_equal(s.phase, HT_DASO_CYCLING);
    assert_int_equal(s.global_skip, 2); /* 4, but no more than max_global_skips */
    ht_release(s.detector);
}

/* Large factors: Heat divides down to 0, and then blocks for ever. */
static void test_skips_stay_at_least_1(void **state)
{
    ht_daso_schedule s = schedule_of(100, 0, 0, 2);

    (void)state;
    s.skip_reduction_factor = 9;
    s.local_skip_factor = 9;
    for (int e = 0; e < 20; e++) {
        ht__daso_schedule_epoch(&s, 1);
        assert_true(s.global_skip >= 1 && s.local_skip >= 1 && s.wait >= 1);
    }
    ht_release(s.detector);
}

/* The epoch of a state in a run with other phases. */
static void test_a_state_of_other_phases(void **state)
{
    static const struct {
        int epoch, skips[3], expected[3];
        ht_daso_phase phase;
    } rows[] = {
        {1, {0, 0, 0}, {0, 0, 0}, HT_DASO_WARMUP},  {1, {8, 2, 2}, {0, 0, 0}, HT_DASO_WARMUP},
        {2, {8, 2, 2}, {8, 2, 2}, HT_DASO_CYCLING}, {5, {8, 2, 2}, {8, 2, 2}, HT_DASO_CYCLING},
        {5, {0, 0, 0}, {4, 1, 1}, HT_DASO_CYCLING}, {5, {8, 0, 0}, {8, 1, 1}, HT_DASO_CYCLING},
        {7, {8, 2, 2}, {0, 0, 0}, HT_DASO_COOLDOWN}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ht_daso_schedule s = schedule_of(9, 2, 2, 8);

        s.epoch = rows[i].epoch;
        s.global_skip = rows[i].skips[0];
        s.local_skip = rows[i].skips[1];
        s.wait = rows[i].skips[2];
        ht__daso_schedule_resume(&s);
        assert_int_equal(s.phase, rows[i].phase);
        assert_int_equal(s.global_skip, rows[i].expected[0]);
        assert_int_equal(s.local_skip, rows[i].expected[1]);
        assert_int_equal(s.wait, rows[i].expected[2]);
        ht_release(s.detector);
    }
}

/* r: receive, s: send, m: blocking mean, l: gradients averaged locally. */
static void write_batches(const ht_daso_schedule *s, int batches, char *text)
{
    for (int b = 0; b < batches; b++) {
        ht_daso_actions a = ht__daso_schedule_actions(s, b, batches);

        if (ht__daso_schedule_local_sync(s, b, batches))
            *text++ = 'l';
        if (a.receive)
            *text++ = 'r';
        if (a.send)
            *text++ = 's';
        if (a.blocking)
            *text++ = 'm';
        *text++ = ' ';
    }
    *text = '\0';
}

static void test_batches_of_an_epoch(void **state)
{
    static const struct {
        int global_skip, local_skip, wait, batches;
        const char *expected;
    } cases[] = {
        {0, 0, 0, 3, "lrm lrm lrm "},
        {4, 1, 1, 6, "lrs lr l l lrs lrm "},
        {8, 2, 2, 10, "lrs l lr  l  l  lrs lrm "},
        {1, 1, 1, 3, "lrs lrs lrm "},
        {4, 4, 4, 1, "lrm "},
        {6, 3, 2, 8, "lrs l lr l   lrs lrm "},
    };
    ht_daso_schedule s = schedule_of(100, 0, 0, 8);
    char text[200];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        s.global_skip = cases[i].global_skip;
        s.local_skip = cases[i].local_skip;
        s.wait = cases[i].wait;
        write_batches(&s, cases[i].batches, text);
        assert_string_equal(text, cases[i].expected);
    }
    ht_release(s.detector);
}

HT_TEST_SUITE(test_daso_schedule, cmocka_unit_test(skips_of_each_epoch_are_those_of_heat),
              cmocka_unit_test(test_no_plateaus_of_the_warmup),
              cmocka_unit_test(test_no_warmup_cycles_at_once),
              cmocka_unit_test(test_skips_stay_at_least_1),
              cmocka_unit_test(test_a_state_of_other_phases),
              cmocka_unit_test(test_batches_of_an_epoch));
