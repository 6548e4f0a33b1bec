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

static bool is_vector(const replay_case *c)
{
    return input(c)->ndim == 1;
}

static bool has_eps_0(const replay_case *c)
{
    for (int i = 0; i < c->settings; i++)
        if (strcmp(c->setting[i].key, "eps") == 0 && c->setting[i].number[0] == 0)
            return true;
    return false;
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
    {"batch_norm", false, is_vector, "x is (N, C, ...)"},
    {"BatchNorm1d", true, has_eps_0, "eps may be 0"},
    {"BatchNorm2d", true, has_eps_0, "eps may be 0"},
    {"BatchNorm3d", true, has_eps_0, "eps may be 0"},
    {"hardsigmoid", false, has_a_slope, "PyTorch's slope is float32's 1/6 in float64, too"},
    {"optim.LBFGS", false, runs_away, "the steps grow without bound, and rounding with them"},
};

const char *replay_known(const replay_case *c)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if ((known[i].name == NULL || strcmp(known[i].name, c->name) == 0) &&
            known[i].refused == c->refused && known[i].is(c))
            return known[i].why;
    return NULL;
}
