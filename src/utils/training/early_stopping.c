/* SPDX-License-Identifier: MIT
 *
 * Early stopping: counts epochs since the best one. */
#include <math.h>

#include "core/tensor/tensor.h"
#include "ht/callbacks.h"

struct ht_early_stopping {
    ht_object base;
    ht_early_stopping_options options;
    double best;    /* NaN: none yet */
    int64_t waited; /* epochs since then */
};

static void destroy(void *object)
{
    ht__object_fini(object);
    ht__free(object);
}

static ht_kind kind = {.name = "early stopping", .destroy = destroy};

ht_early_stopping_options ht_early_stopping_options_default(void)
{
    return (ht_early_stopping_options){.size = sizeof(ht_early_stopping_options), .patience = 10};
}

ht_early_stopping *ht_early_stopping_new(const ht_early_stopping_options *options)
{
    ht_early_stopping_options o = options != NULL ? *options : ht_early_stopping_options_default();
    ht_early_stopping *stopping;

    if (HT_CHECK_OPTIONS(NULL, "ht_early_stopping_new", &o, ht_early_stopping_options) !=
        HT_SUCCESS)
        return NULL;
    if (o.patience < 0 || !(o.min_delta >= 0)) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT,
                "ht_early_stopping_new: patience is %lld and min_delta is %g, expected at least "
                "0 each",
                (long long)o.patience, o.min_delta);
        return NULL;
    }
    stopping = ht__alloc(sizeof *stopping);
    ht__object_init(stopping, &kind);
    stopping->options = o;
    stopping->best = NAN;
    return stopping;
}

bool ht_early_stopping_step(ht_early_stopping *stopping, double metric)
{
    double gain;

    if (HT_IS_NULL(stopping, "ht_early_stopping_step", "stopping"))
        return false;
    gain = stopping->options.maximize ? metric - stopping->best : stopping->best - metric;
    if (gain > stopping->options.min_delta || (isnan(stopping->best) && !isnan(metric))) {
        stopping->best = metric;
        stopping->waited = 0;
    } else {
        stopping->waited++;
    }
    return stopping->waited > stopping->options.patience;
}

ht_value *ht_early_stopping_state_dict(const ht_early_stopping *stopping)
{
    ht_value *map = ht_value_map();

    if (HT_IS_NULL(stopping, "ht_early_stopping_state_dict", "stopping"))
        return NULL;
    ht_value_set(map, "best", ht_value_number(stopping->best));
    ht_value_set(map, "waited", ht_value_number((double)stopping->waited));
    return map;
}

ht_status ht_early_stopping_load_state_dict(ht_early_stopping *stopping, const ht_value *state)
{
    const ht_value *best = ht_value_get(state, "best"), *waited = ht_value_get(state, "waited");
    int64_t epochs;

    if (HT_IS_NULL(stopping, "ht_early_stopping_load_state_dict", "stopping") ||
        HT_IS_NULL(state, "ht_early_stopping_load_state_dict", "state"))
        return ht_error_get(NULL);
    if (ht_value_get_kind(best) != HT_VALUE_NUMBER || !ht__value_whole(waited, &epochs))
        return HT_FAIL(NULL, HT_ERR_FORMAT,
                       "ht_early_stopping_load_state_dict: the state has no number \"best\" or no "
                       "integer \"waited\"");
    stopping->best = ht_value_as_number(best);
    stopping->waited = epochs;
    return HT_SUCCESS;
}
