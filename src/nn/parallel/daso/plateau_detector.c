/* SPDX-License-Identifier: MIT
 *
 * Whether a metric has stopped improving: the best value so far, and the number of values since. */
#include "optim/optim.h"

#include <math.h>

#include "ht/daso.h"

struct ht_plateau_detector {
    ht_object base;
    double maximize, patience, threshold, absolute, cooldown; /* settings, as its state has them */
    double best;
    double bad;     /* values since the best */
    double resting; /* values of the cooldown that are left */
    double seen;
};

/* Its state by name. */
static const ht_optim_number numbers[] = {
    {"maximize", offsetof(ht_plateau_detector, maximize), true},
    {"patience", offsetof(ht_plateau_detector, patience), true},
    {"threshold", offsetof(ht_plateau_detector, threshold), false},
    {"absolute", offsetof(ht_plateau_detector, absolute), true},
    {"cooldown", offsetof(ht_plateau_detector, cooldown), true},
    {"best", offsetof(ht_plateau_detector, best), false},
    {"num_bad_epochs", offsetof(ht_plateau_detector, bad), true},
    {"cooldown_counter", offsetof(ht_plateau_detector, resting), true},
    {"last_epoch", offsetof(ht_plateau_detector, seen), true},
};

enum { NUMBERS = sizeof numbers / sizeof *numbers };

static void destroy(void *object)
{
    ht__object_fini(object);
    ht__free(object);
}

static ht_kind kind = {.name = "plateau detector", .destroy = destroy};

ht_plateau_detector_options ht_plateau_detector_options_default(void)
{
    return (ht_plateau_detector_options){
        .size = sizeof(ht_plateau_detector_options), .patience = 10, .threshold = 1e-4};
}

static ht_status check(const ht_plateau_detector_options *o)
{
    static const char what[] = "ht_plateau_detector_new";
    ht_status status = HT_CHECK_OPTIONS(NULL, what, o, ht_plateau_detector_options);

    if (status == HT_SUCCESS)
        status = ht__optim_check_count(what, "patience", o->patience, 0);
    if (status == HT_SUCCESS)
        status = ht__optim_check_range(what, "threshold", o->threshold, 0,
                                       o->absolute ? INFINITY : 1);
    if (status == HT_SUCCESS)
        status = ht__optim_check_count(what, "cooldown", o->cooldown, 0);
    return status;
}

ht_plateau_detector *ht_plateau_detector_new(const ht_plateau_detector_options *options)
{
    ht_plateau_detector_options o = options != NULL ? *options
                                                    : ht_plateau_detector_options_default();
    ht_plateau_detector *detector;

    if (check(&o) != HT_SUCCESS)
        return NULL;
    detector = ht__alloc(sizeof *detector);
    ht__object_init(detector, &kind);
    detector->maximize = o.maximize;
    detector->patience = (double)o.patience;
    detector->threshold = o.threshold;
    detector->absolute = o.absolute;
    detector->cooldown = (double)o.cooldown;
    ht_plateau_detector_reset(detector);
    return detector;
}

ht_status ht_plateau_detector_reset(ht_plateau_detector *detector)
{
    if (HT_IS_NULL(detector, "ht_plateau_detector_reset", "detector"))
        return ht_error_get(NULL);
    detector->best = detector->maximize != 0 ? -INFINITY : INFINITY;
    detector->bad = detector->resting = 0;
    return HT_SUCCESS;
}

/* The threshold of a value. A part of the best counts by its size, so that an improvement of a
 * negative metric is one in the same direction. */
static double bar(const ht_plateau_detector *detector)
{
    double sign = detector->maximize != 0 ? 1 : -1;

    if (detector->absolute != 0)
        return detector->best + sign * detector->threshold;
    return detector->best * (1 + (detector->best < 0 ? -sign : sign) * detector->threshold);
}

static bool is_better(const ht_plateau_detector *detector, double metric)
{
    return detector->maximize != 0 ? metric > bar(detector) : metric < bar(detector);
}

bool ht_plateau_detector_test_if_improving(ht_plateau_detector *detector, double metric)
{
    if (HT_IS_NULL(detector, "ht_plateau_detector_test_if_improving", "detector"))
        return false;
    detector->seen++;
    if (is_better(detector, metric)) {
        detector->best = metric;
        detector->bad = 0;
    } else {
        detector->bad++;
    }
    if (detector->resting > 0) {
        detector->resting--;
        detector->bad = 0;
    }
    if (detector->bad <= detector->patience)
        return false;
    detector->resting = detector->cooldown;
    detector->bad = 0;
    return true;
}

ht_value *ht_plateau_detector_get_state(const ht_plateau_detector *detector)
{
    ht_value *map;

    if (HT_IS_NULL(detector, "ht_plateau_detector_get_state", "detector"))
        return NULL;
    map = ht_value_map();
    for (int i = 0; i < NUMBERS; i++)
        ht_value_set(map, numbers[i].name,
                     ht_value_number(
                         *(const double *)(const void *)((const char *)detector + numbers[i].at)));
    return map;
}

/* HT_ERR_FORMAT unless the number `name` of the state is below `end`. */
static ht_status check_below(const char *what, const ht_value *state, const char *name, double end)
{
    const double number = ht_value_as_number(ht_value_get(state, name));

    if (number >= 0 && number < end)
        return HT_SUCCESS;
    return HT_FAIL(NULL, HT_ERR_FORMAT,
                   "%s: the state has \"%s\" %g, expected at least 0 and below %g", what, name,
                   number, end);
}

ht_status ht__plateau_detector_check_state(const char *what, const ht_value *state)
{
    ht_status status = HT_SUCCESS;

    for (int i = 0; i < NUMBERS && status == HT_SUCCESS; i++)
        status = ht__optim_check_state(what, state, &numbers[i]);
    if (status == HT_SUCCESS)
        status = check_below(what, state, "maximize", 2);
    if (status == HT_SUCCESS)
        status = check_below(what, state, "absolute", 2);
    if (status == HT_SUCCESS)
        status = check_below(what, state, "threshold",
                             ht_value_as_number(ht_value_get(state, "absolute")) != 0 ? INFINITY
                                                                                      : 1);
    return status;
}

ht_status ht_plateau_detector_set_state(ht_plateau_detector *detector, const ht_value *state)
{
    static const char what[] = "ht_plateau_detector_set_state";
    ht_status status;

    if (HT_IS_NULL(detector, what, "detector") || HT_IS_NULL(state, what, "state"))
        return ht_error_get(NULL);
    status = ht__plateau_detector_check_state(what, state);
    if (status != HT_SUCCESS)
        return status;
    for (int i = 0; i < NUMBERS; i++)
        *(double *)(void *)((char *)detector + numbers[i].at) = ht_value_as_number(
            ht_value_get(state, numbers[i].name));
    return HT_SUCCESS;
}
