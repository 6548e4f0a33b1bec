/* SPDX-License-Identifier: MIT
 *
 * Cases of training: knobs from a seed, what the ways of training must have in common, and the
 * simplest knobs that still show a difference. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/train/train.h"

static const struct {
    const char *name;
    int count;
} knobs[] = {
#define KNOB_ROW(name, count) {#name, count},
    KNOB_LIST(KNOB_ROW)
#undef KNOB_ROW
};

static struct notes one, blocking, flowing, resumed;

/* Makes the settings consistent. */
static void settle(struct plan *plan)
{
    int *k = plan->knob;

    if (k[KNOB_JOIN] >= 3) {
        /* Other collective calls are made by all ranks, at every step. */
        k[KNOB_READ] = k[KNOB_WRITE] = k[KNOB_STOP] = k[KNOB_SIDE] = k[KNOB_HOOK] = 0;
        k[KNOB_METRIC] = k[KNOB_SCALING] = k[KNOB_DROPOUT] = 0;
        k[KNOB_NORM] = k[KNOB_NORM] >= 2 ? 0 : k[KNOB_NORM];
        /* Ranks out of data clip nothing, and have their share in gradients that stay. */
        if (k[KNOB_ZEROING] == 2 || k[KNOB_SECOND] == 2)
            k[KNOB_CLIP] = 0;
    }
    if (k[KNOB_HOOK] == 5 || k[KNOB_SIDE] == 2)
        k[KNOB_STOP] = 0; /* a hook has no state; and half of the ranks save their own */
    if (k[KNOB_WAY] == 3)
        k[KNOB_SECOND] = k[KNOB_ZEROING] = 0;
    if (k[KNOB_SECOND] == 3 && k[KNOB_WAY] == 1)
        k[KNOB_WAY] = 2;
    if (k[KNOB_ZEROING] == 2 || (k[KNOB_SECOND] == 2 && k[KNOB_ZEROING] != 3))
        k[KNOB_STOP] = 0; /* gradients that stay are in no checkpoint */
    if (k[KNOB_WAY] == 0)
        k[KNOB_PASSES] = 0;
}

/* Notes that exist on several ranks only. */
static bool is_ours(const struct notes *notes, int i)
{
    return strstr(notes->name[i], "character") != NULL ||
           strstr(notes->name[i], "other ranks") != NULL;
}

static void compare(const char *what, const struct notes *a, const struct notes *b,
                    double tolerance, char *failure, size_t size)
{
    int j = 0;

    if (failure[0] != '\0')
        return;
    for (int i = 0; i < a->count; i++, j++) {
        double x = a->value[i], y;

        if (tolerance > 0 && is_ours(a, i)) {
            j--;
            continue;
        }
        y = j < b->count ? b->value[j] : NAN;
        if (x == y || (isnan(x) && isnan(y) && j < b->count) ||
            fabs(x - y) <= tolerance * (1 + fabs(y)))
            continue;
        snprintf(failure, size, "%s: %s (number %d of %d) is %.17g and %.17g", what, a->name[i], i,
                 a->count, x, y);
        return;
    }
    if (j != b->count)
        snprintf(failure, size, "%s: %d numbers and %d", what, j, b->count);
}

static bool agree(char *failure, size_t size)
{
    struct {
        int failed, rank;
    } mine = {failure[0] != '\0', ht_comm_rank(HT_COMM_WORLD)}, first;

    MPI_Allreduce(&mine, &first, 1, MPI_2INT, MPI_MAXLOC, MPI_COMM_WORLD);
    if (first.failed)
        MPI_Bcast(failure, (int)size, MPI_CHAR, first.rank, MPI_COMM_WORLD);
    return !first.failed;
}

static void look_for_trouble(const char *what, const struct notes *notes, char *failure,
                             size_t size)
{
    if (notes->trouble[0] != '\0' && failure[0] == '\0')
        snprintf(failure, size, "%s: %s", what, notes->trouble);
}

/* "" or the failure, the same on all ranks. */
static void run_plan(const struct plan *given, char *failure, size_t size)
{
    struct plan plan = *given;
    int64_t objects = objects_alive();
    bool alike;

    settle(&plan);
    /* Where statistics, masks and what a hook leaves out are the same on one rank. */
    alike = plan.knob[KNOB_NORM] != 2 && plan.knob[KNOB_DROPOUT] != 3 && plan.knob[KNOB_HOOK] != 5;
    failure[0] = '\0';
    train(&plan, MODE_BLOCKING, &blocking);
    look_for_trouble("blocking", &blocking, failure, size);
    if (!agree(failure, size))
        return;
    train(&plan, MODE_FLOWING, &flowing);
    look_for_trouble("non-blocking", &flowing, failure, size);
    compare("non-blocking and blocking", &flowing, &blocking, 0, failure, size);
    if (!agree(failure, size))
        return;
    if (plan.knob[KNOB_STOP] > 0) {
        train(&plan, MODE_RESUMED, &resumed);
        look_for_trouble("interrupted", &resumed, failure, size);
        compare("interrupted and not", &resumed, &flowing, 0, failure, size);
        if (!agree(failure, size))
            return;
    }
    if (alike) {
        train(&plan, MODE_ONE, &one);
        look_for_trouble("on one rank", &one, failure, size);
        compare("on all ranks and on one", &flowing, &one, 1e-8, failure, size);
    }
    if (failure[0] == '\0' && objects_alive() != objects)
        snprintf(failure, size, "%lld objects are left", (long long)(objects_alive() - objects));
    agree(failure, size);
}

static void print_plan(const struct plan *plan)
{
    for (int i = 0; i < KNOB_COUNT; i++) {
        if (plan->knob[i] != 0)
            fprintf(stderr, "  %s %d", knobs[i].name, plan->knob[i]);
    }
    fputc('\n', stderr);
}

static void shrink(struct plan *plan, char *failure, size_t size)
{
    static char other[1024];

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < KNOB_COUNT; i++) {
            int kept = plan->knob[i];

            for (plan->knob[i] = 0; plan->knob[i] < kept; plan->knob[i]++) {
                run_plan(plan, other, sizeof other);
                if (other[0] != '\0' && same_failure(other, failure)) {
                    snprintf(failure, size, "%s", other);
                    break;
                }
            }
        }
    }
}

bool family_train(uint64_t seed, bool trace)
{
    static char failure[1024];
    struct random random = {hash_of(seed, 777)};
    struct plan plan = {.seed = hash_of(seed, 888) % 1000000007,
                        .ranks = ht_comm_size(HT_COMM_WORLD)};

    for (int i = 0; i < KNOB_COUNT; i++)
        plan.knob[i] = (int)random_below(&random, knobs[i].count);
    if (plan.knob[KNOB_HOOK] == 5 && random_chance(&random, 60)) { /* what meets too rarely */
        plan.knob[KNOB_WAY] = 3;
        plan.knob[KNOB_SCALING] = plan.knob[KNOB_OVERFLOW] = 2;
        plan.knob[KNOB_JOIN] = 0;
    }
    if (trace && ht_comm_rank(HT_COMM_WORLD) == 0)
        print_plan(&plan);
    every_second_rank(); /* an object that stays */
    run_plan(&plan, failure, sizeof failure);
    if (failure[0] == '\0')
        return true;
    shrink(&plan, failure, sizeof failure);
    if (ht_comm_rank(HT_COMM_WORLD) == 0) {
        fprintf(stderr, "fuzz: train, seed %llu, %d ranks: %s\n", (unsigned long long)seed,
                plan.ranks, failure);
        print_plan(&plan);
    }
    return false;
}
