/* SPDX-License-Identifier: MIT
 *
 * Samples for which libht differs from PyTorch. A row that no longer holds is a failure. */
#include <math.h>
#include <string.h>

#include "replay.h"

static const replay_tensor *operand(const replay_case *c, const char *key)
{
    for (int i = 0; i < c->tensors; i++)
        if (strcmp(c->tensor[i].key, key) == 0)
            return &c->tensor[i];
    return NULL;
}

static const replay_tensor *input(const replay_case *c)
{
    const replay_tensor *x = operand(c, "input");

    return x != NULL ? x : &c->tensor[0];
}

static bool mean_of_nothing(const replay_case *c)
{
    return c->result.size == 1 && c->result.ndim == 0 && input(c)->size == 0 &&
           isnan(c->result.data[0]);
}

static bool is_scalar(const replay_case *c)
{
    return input(c)->ndim == 0;
}

static bool is_vector(const replay_case *c)
{
    return input(c)->ndim == 1;
}

static bool is_empty(const replay_case *c)
{
    return input(c)->size == 0;
}

static bool has_one_row_of_weights(const replay_case *c)
{
    const replay_tensor *weight = operand(c, "weight");

    return weight != NULL && weight->ndim == 1;
}

static bool has_probabilities(const replay_case *c)
{
    const replay_tensor *target = operand(c, "target");

    return target != NULL && ht_dtype_is_floating(target->dtype) && c->settings == 1 &&
           strcmp(c->setting[0].key, "ignore_index") == 0;
}

static bool has_eps_0(const replay_case *c)
{
    for (int i = 0; i < c->settings; i++)
        if (strcmp(c->setting[i].key, "eps") == 0 && c->setting[i].number[0] == 0)
            return true;
    return false;
}

static bool has_targets(const replay_case *c)
{
    const replay_tensor *target = operand(c, "target");

    return is_scalar(c) || (target != NULL && target->ndim == 1 && input(c)->ndim == 1);
}

static bool divides_by_less_than_0(const replay_case *c)
{
    for (int i = 0; i < c->settings; i++)
        if (strcmp(c->setting[i].key, "divisor_override") == 0 && c->setting[i].number[0] < 0)
            return true;
    return false;
}

/* Without a batch's axis in front, where that would be right. */
static bool has_no_channels(const replay_case *c)
{
    return input(c)->shape[0] == 0 && c->settings == 1 && c->setting[0].number[0] == 1;
}

static bool has_a_slope(const replay_case *c)
{
    for (int64_t i = 0; i < input(c)->size; i++)
        if (input(c)->grad[i] != 0)
            return true;
    return false;
}

/* A line search that runs away from a minimum finds longer and longer steps. */
static bool runs_away(const replay_case *c)
{
    bool maximizes = false, searches = false;

    for (int i = 0; i < c->settings; i++) {
        maximizes |= strcmp(c->setting[i].key, "maximize") == 0;
        searches |= strcmp(c->setting[i].key, "line_search_fn") == 0;
    }
    return maximizes && searches;
}

static const struct {
    const char *name; /* NULL: any */
    bool refused;
    bool (*is)(const replay_case *c);
    const char *why;
} known[] = {
    {NULL, false, mean_of_nothing, "a mean of no elements is 0 (ht/losses.h)"},
    {"softmax", false, is_scalar, "a scalar has no axis"},
    {"softmin", false, is_scalar, "a scalar has no axis"},
    {"log_softmax", false, is_scalar, "a scalar has no axis"},
    {"cosine_similarity", false, is_scalar, "a scalar has no axis"},
    {"multi_margin_loss", false, has_targets, "x is (C) or (N, C), and target () or (N)"},
    {"multilabel_margin_loss", false, is_scalar, "x is (C) or (N, C), and target () or (N)"},
    {"feature_alpha_dropout", false, is_scalar, "x is (N, C, ...) even if nothing is dropped"},
    {"feature_alpha_dropout", false, is_vector, "x is (N, C, ...) even if nothing is dropped"},
    {"batch_norm", false, is_vector, "x is (N, C, ...)"},
    {"linear", false, has_one_row_of_weights, "the weight of ht_linear is (out, in)"},
    {"cross_entropy", true, has_probabilities, "probabilities do not read ignore_index"},
    {"BatchNorm1d", true, has_eps_0, "eps may be 0"},
    {"BatchNorm2d", true, has_eps_0, "eps may be 0"},
    {"BatchNorm3d", true, has_eps_0, "eps may be 0"},
    {"hardsigmoid", false, has_a_slope, "PyTorch's slope is float32's 1/6 in float64, too"},
    {"avg_pool2d", false, divides_by_less_than_0, "a divisor is above 0"},
    {"avg_pool3d", false, divides_by_less_than_0, "a divisor is above 0"},
    {"optim.LBFGS", false, runs_away, "the steps grow without bound, and rounding with them"},
    {"group_norm", true, is_empty, "channels may be empty"},
    {"max_pool1d", true, has_no_channels, "channels may be empty"},
    {"max_pool3d", true, has_no_channels, "channels may be empty"},
};

const char *replay_known(const replay_case *c)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if ((known[i].name == NULL || strcmp(known[i].name, c->name) == 0) &&
            known[i].refused == c->refused && known[i].is(c))
            return known[i].why;
    return NULL;
}
