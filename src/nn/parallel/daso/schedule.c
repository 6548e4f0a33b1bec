/* SPDX-License-Identifier: MIT
 *
 * DASO's phases, skips and waits, and their effects on one batch. */
#include "nn/parallel/daso/schedule.h"

enum { FIRST_GLOBAL_SKIP = 4 };

static int64_t at_least_1(int64_t n)
{
    return n > 1 ? n : 1;
}

const char *ht_daso_phase_name(ht_daso_phase phase)
{
    static const char *const names[] = {"warm-up", "cycling", "cool-down"};

    return (size_t)phase < sizeof names / sizeof *names ? names[phase] : NULL;
}

static void set(ht_daso_schedule *s, int64_t global_skip, int64_t local_skip, int64_t wait)
{
    s->global_skip = global_skip;
    s->local_skip = local_skip;
    s->wait = wait;
}

static ht_daso_phase phase_of(const ht_daso_schedule *s)
{
    if (s->epoch >= s->total_epochs - s->cooldown_epochs)
        return HT_DASO_COOLDOWN;
    return s->epoch < s->warmup_epochs ? HT_DASO_WARMUP : HT_DASO_CYCLING;
}

/* The epoch that begins. The first cycling epoch has its own skips: the one after the warm-up, the
 * first one of a run without a warm-up, or the first one of a state that had blocked until now. */
static void enter(ht_daso_schedule *s)
{
    s->phase = phase_of(s);
    if (s->phase != HT_DASO_CYCLING)
        set(s, 0, 0, 0);
    else if (s->epoch == s->warmup_epochs || s->global_skip == 0)
        set(s, s->max_global_skips < FIRST_GLOBAL_SKIP ? s->max_global_skips : FIRST_GLOBAL_SKIP, 1,
            1);
}

void ht__daso_schedule_reset(ht_daso_schedule *s)
{
    ht_plateau_detector_reset(s->detector);
    s->epoch = 0;
    enter(s);
}

/* Skips of the cycling phase stay as they are, even in its first epoch. */
void ht__daso_schedule_resume(ht_daso_schedule *s)
{
    s->phase = phase_of(s);
    if (s->phase == HT_DASO_CYCLING && s->global_skip > 0)
        set(s, s->global_skip, at_least_1(s->local_skip), at_least_1(s->wait));
    else
        enter(s);
}

/* Exchange more often on a plateau; if that is not possible, reset the skips. */
static void cycle(ht_daso_schedule *s)
{
    int64_t local = at_least_1(s->max_global_skips / s->local_skip_factor);

    if (s->global_skip > 1)
        set(s, at_least_1(s->global_skip / s->skip_reduction_factor),
            at_least_1(s->local_skip / s->skip_reduction_factor), at_least_1(s->wait - 1));
    else
        set(s, s->max_global_skips, local, local);
}

/* The detector sees the losses of the cycling phase, beginning with the one that leads into it. */
void ht__daso_schedule_epoch(ht_daso_schedule *s, double loss)
{
    s->epoch++;
    enter(s);
    if (s->phase == HT_DASO_CYCLING && ht_plateau_detector_test_if_improving(s->detector, loss))
        cycle(s);
}

ht_daso_actions ht__daso_schedule_actions(const ht_daso_schedule *s, int64_t batch, int64_t batches)
{
    if (s->global_skip == 0 || batch == batches - 1)
        return (ht_daso_actions){.receive = true, .blocking = true};
    if (batch % s->global_skip == 0)
        return (ht_daso_actions){.receive = true, .send = true};
    return (ht_daso_actions){.receive = batch % s->global_skip == s->wait};
}

/* The sent parameters are the node's, not one rank's. So the batch of a global exchange is
 * averaged, and so are those until it has come back, and the last. */
bool ht__daso_schedule_local_sync(const ht_daso_schedule *s, int64_t batch, int64_t batches)
{
    return s->local_skip <= 1 || batch % s->local_skip == 0 || batch % s->global_skip <= s->wait ||
           batch == batches - 1;
}
