/* SPDX-License-Identifier: MIT
 *
 * The cache of plans. A lock protects planning, because planners are not thread-safe. */
#include "core/base/base.h"

#include <pthread.h>
#include <string.h>

#include "backends/cpu/fft/fft.h"

#define PLANS 32

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ht_fft_plan *plans[PLANS]; /* owned */
static int64_t uses;

static void drop(ht_fft_plan *plan)
{
    if (plan == NULL || plan->kept || plan->users > 0)
        return;
    plan->destroy(plan->plan);
    ht__free(plan);
}

static void forget(int place)
{
    if (plans[place] == NULL)
        return;
    plans[place]->kept = false;
    drop(plans[place]);
    plans[place] = NULL;
}

static void forget_all(void)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < PLANS; i++)
        forget(i);
    pthread_mutex_unlock(&lock);
}

/* The place of the plan, or the one that has been out of use for longest. */
static int find(const ht_fft_key *key)
{
    int oldest = 0;

    for (int i = 0; i < PLANS; i++) {
        if (plans[i] == NULL)
            return i;
        if (memcmp(&plans[i]->key, key, sizeof *key) == 0)
            return i;
        if (plans[i]->used < plans[oldest]->used)
            oldest = i;
    }
    return oldest;
}

static ht_fft_plan *find_or_make(const ht_fft_key *key, void *(*make)(const ht_fft_call *call),
                                 void (*destroy)(void *plan), const ht_fft_call *call)
{
    const int place = find(key);
    void *made;

    if (plans[place] != NULL && memcmp(&plans[place]->key, key, sizeof *key) == 0)
        return plans[place];
    made = make(call);
    if (made == NULL)
        return NULL;
    forget(place);
    ht__at_finalize(forget_all);
    plans[place] = ht__alloc(sizeof *plans[place]);
    *plans[place] = (ht_fft_plan){.key = *key, .plan = made, .destroy = destroy, .kept = true};
    return plans[place];
}

ht_fft_plan *ht__cpu_fft_plan(const ht_fft_key *key, void *(*make)(const ht_fft_call *call),
                              void (*destroy)(void *plan), const ht_fft_call *call)
{
    ht_fft_plan *plan;

    pthread_mutex_lock(&lock);
    plan = find_or_make(key, make, destroy, call);
    if (plan != NULL) {
        plan->users++;
        plan->used = ++uses;
    }
    pthread_mutex_unlock(&lock);
    return plan;
}

void ht__cpu_fft_plan_done(ht_fft_plan *plan)
{
    pthread_mutex_lock(&lock);
    plan->users--;
    drop(plan);
    pthread_mutex_unlock(&lock);
}
