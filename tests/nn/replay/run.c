/* SPDX-License-Identifier: MIT
 *
 * The operands and settings of a run, for the calls. */
#include <math.h>
#include <string.h>

#include "replay.h"

ht_tensor *replay_in(replay_run *r, const char *key)
{
    for (int i = 0; i < r->c->tensors; i++)
        if (strcmp(r->c->tensor[i].key, key) == 0) {
            r->used[i] = true;
            return r->tensor[i];
        }
    return NULL;
}

static const replay_setting *setting(replay_run *r, const char *key)
{
    for (int i = 0; i < r->c->settings; i++)
        if (strcmp(r->c->setting[i].key, key) == 0) {
            r->set[i] = true;
            return &r->c->setting[i];
        }
    return NULL;
}

double replay_entry(replay_run *r, const char *key, int index, double otherwise)
{
    const replay_setting *s = setting(r, key);

    return s != NULL && s->count > index ? s->number[index] : otherwise;
}

double replay_number(replay_run *r, const char *key, double otherwise)
{
    return replay_entry(r, key, 0, otherwise);
}

const char *replay_word(replay_run *r, const char *key, const char *otherwise)
{
    const replay_setting *s = setting(r, key);

    return s != NULL && s->count == 0 ? s->word : otherwise;
}

int replay_list(replay_run *r, const char *key, int most, int64_t list[])
{
    const replay_setting *s = setting(r, key);

    if (s == NULL || s->count == 0)
        return 0;
    for (int i = 0; i < most; i++) {
        const double number = s->number[i < s->count ? i : s->count - 1];

        list[i] = isnan(number) ? 0 : number < 0x1p63 ? (int64_t)number : INT64_MAX;
    }
    return s->count;
}

ht_reduction_mode replay_reduction(replay_run *r)
{
    static const char *const names[] = {"mean", "sum", "none", "batchmean"};
    static const ht_reduction_mode modes[] = {HT_MEAN, HT_SUM, HT_NO_REDUCTION, HT_BATCH_MEAN};
    const char *name = replay_word(r, "reduction", "mean");

    for (int i = 0; i < 4; i++)
        if (strcmp(names[i], name) == 0)
            return modes[i];
    return (ht_reduction_mode)0;
}

ht_tensor *replay_leave(replay_run *r, const char *why)
{
    r->why = why;
    return NULL;
}

ht_tensor *replay_joined(int count, ht_tensor *const results[])
{
    ht_tensor *flat[8];

    for (int i = 0; i < count; i++) {
        if (results[i] == NULL)
            return NULL;
        flat[i] = ht_flatten(results[i], 0);
    }
    return ht_concatenate(count, flat, 0);
}
