/* SPDX-License-Identifier: MIT
 *
 * The line search of L-BFGS for the strong Wolfe conditions: brackets a step, then narrows the
 * bracket by cubic interpolation. Decisions and their order are those of torch.optim.LBFGS. */
#include "optim/rules/lbfgs.h"

#include <math.h>

enum { MIN_PROGRESS = 10 }; /* a trial step stays that part of the bracket away from its ends */

static const double sufficient = 1e-4, curvature = 0.9, least_bracket = 1e-9;

/* The minimum of the cubic through both points, in [low, high]. */
static double interpolate(const ht_lbfgs_point *a, const ht_lbfgs_point *b, double low, double high)
{
    const double d1 = a->slope + b->slope - 3 * (a->loss - b->loss) / (a->t - b->t);
    const double square = d1 * d1 - a->slope * b->slope;
    const ht_lbfgs_point *first = a->t <= b->t ? a : b, *last = a->t <= b->t ? b : a;
    double d2, t;

    if (!(square >= 0))
        return (low + high) / 2;
    d2 = sqrt(square);
    t = last->t -
        (last->t - first->t) * ((last->slope + d2 - d1) / (last->slope - first->slope + 2 * d2));
    return fmin(fmax(t, low), high);
}

/* The one of two points with the lower loss. */
static int low_of(const ht_lbfgs_point bracket[2])
{
    return bracket[0].loss <= bracket[1].loss ? 0 : 1;
}

static double lesser_t(const ht_lbfgs_point bracket[2])
{
    return fmin(bracket[0].t, bracket[1].t);
}

static double greater_t(const ht_lbfgs_point bracket[2])
{
    return fmax(bracket[0].t, bracket[1].t);
}

/* The result of the first phase. */
typedef struct found {
    ht_lbfgs_point bracket[2];
    bool done; /* bracket[0] satisfies the conditions */
    int tries;
} found;

/* Lengthens the step until it satisfies the conditions, or a bracket contains one that does. */
static ht_status bracket_step(ht_lbfgs_search *search, const ht_lbfgs_point *start, double t,
                              found *result)
{
    ht_lbfgs_point before = *start, now;
    ht_status status = search->at(search, t, &now);

    result->tries = 0;
    while (status == HT_SUCCESS && result->tries < search->most) {
        double low, high;

        if (now.loss > start->loss + sufficient * now.t * start->slope ||
            (result->tries > 1 && now.loss >= before.loss) || now.slope >= 0 ||
            fabs(now.slope) <= -curvature * start->slope)
            break;
        low = now.t + 0.01 * (now.t - before.t);
        high = now.t * 10;
        t = interpolate(&before, &now, low, high);
        before = now;
        status = search->at(search, t, &now);
        result->tries++;
    }
    if (status != HT_SUCCESS)
        return status;
    result->done = result->tries < search->most &&
                   !(now.loss > start->loss + sufficient * now.t * start->slope ||
                     (result->tries > 1 && now.loss >= before.loss)) &&
                   fabs(now.slope) <= -curvature * start->slope;
    result->bracket[0] = result->done ? now : result->tries == search->most ? *start : before;
    result->bracket[1] = now;
    return HT_SUCCESS;
}

/* A trial step that makes progress: one close to an end of the bracket for the second time, or
 * beyond it, moves away from that end. */
static double trial(const ht_lbfgs_point bracket[2], bool *stuck)
{
    const double low = lesser_t(bracket), high = greater_t(bracket);
    const double margin = (high - low) / MIN_PROGRESS;
    double t = interpolate(&bracket[0], &bracket[1], low, high);
    const bool close = fmin(high - t, t - low) < margin;

    if (close && (*stuck || t >= high || t <= low)) {
        t = fabs(t - high) < fabs(t - low) ? high - margin : low + margin;
        *stuck = false;
    } else {
        *stuck = close;
    }
    return t;
}

/* Puts a trial point into the bracket; true: it satisfies the conditions. */
static bool take(ht_lbfgs_point bracket[2], int *low, const ht_lbfgs_point *start,
                 const ht_lbfgs_point *now)
{
    const int high = 1 - *low;
    const bool done = fabs(now->slope) <= -curvature * start->slope;

    if (now->loss > start->loss + sufficient * now->t * start->slope ||
        now->loss >= bracket[*low].loss) {
        bracket[high] = *now;
        *low = low_of(bracket);
        return false;
    }
    if (!done && now->slope * (bracket[high].t - bracket[*low].t) >= 0)
        bracket[high] = bracket[*low];
    bracket[*low] = *now;
    return done;
}

ht_status ht__lbfgs_strong_wolfe(ht_lbfgs_search *search, const ht_lbfgs_point *start, double t,
                                 ht_lbfgs_point *best)
{
    found first;
    ht_status status = bracket_step(search, start, t, &first);
    bool stuck = false;
    int low;

    if (status != HT_SUCCESS)
        return status;
    low = first.done ? 0 : low_of(first.bracket);
    while (!first.done && first.tries < search->most) {
        ht_lbfgs_point now;

        if ((greater_t(first.bracket) - lesser_t(first.bracket)) * search->longest < least_bracket)
            break;
        status = search->at(search, trial(first.bracket, &stuck), &now);
        if (status != HT_SUCCESS)
            return status;
        first.tries++;
        first.done = take(first.bracket, &low, start, &now);
    }
    *best = first.bracket[low];
    return HT_SUCCESS;
}
