/* SPDX-License-Identifier: MIT
 *
 * States with one entry that cannot be: refused, with nothing changed. The best epochs that are
 * kept, compared with the fuzzer's list. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/fuzz.h"

static char failure[512];

static void complain(const char *what, const char *entry)
{
    const char *message;

    ht_error_get(&message);
    if (failure[0] == '\0')
        snprintf(failure, sizeof failure, "%s, entry %s: %s", what, entry, message);
}

/* --- States as text: to compare, and to find an entry to damage --- */

enum { TEXT = 20000 };

static void write_state(const ht_value *value, char *text)
{
    ht_tensor *x = ht_value_as_tensor(value);
    size_t used = strlen(text);

    if (x != NULL) {
        char *printed = ht_tensor_str(ht_astype(x, HT_FLOAT64));

        snprintf(text + used, TEXT - used, "%s;", printed);
        free(printed);
        return;
    }
    if (ht_value_get_kind(value) == HT_VALUE_NUMBER)
        snprintf(text + used, TEXT - used, "%.17g;", ht_value_as_number(value));
    for (int i = 0; i < ht_value_count(value); i++)
        write_state(ht_value_at(value, i), text);
}

static ht_value *bad_tensor(ht_tensor *x)
{
    int64_t shape[HT_MAX_NDIM] = {0};

    memcpy(shape, ht_tensor_shape(x), (size_t)ht_tensor_ndim(x) * sizeof *shape);
    shape[ht_tensor_ndim(x) - 1]++; /* the first may be of ranks */
    return ht_value_tensor(ht_full_ext(ht_tensor_ndim(x), shape, HT_NUM(7), ht_tensor_dtype(x),
                                       HT_NONE, ht_device_get("cpu"), HT_COMM_SELF));
}

/* A copy in which numbers are other ones, and the entry `bad` cannot be. */
static ht_value *damaged(const ht_value *state, int bad, bool negative)
{
    ht_value *copy = ht_value_map();

    for (int i = 0; i < ht_value_count(state); i++) {
        ht_value *value = ht_value_at(state, i);
        ht_tensor *x = ht_value_as_tensor(value);

        if (x != NULL && i == bad && ht_tensor_ndim(x) > 0)
            value = bad_tensor(x);
        else if (x != NULL && ht_dtype_is_floating(ht_tensor_dtype(x)))
            value = ht_value_tensor(ht_add_scalar(x, 3));
        else if (i == bad && ht_value_get_kind(value) == HT_VALUE_NUMBER)
            value = ht_value_number(negative ? -3 : NAN);
        else if (i == bad)
            continue; /* it is missing */
        ht_value_set(copy, ht_value_key(state, i), value);
    }
    return copy;
}

/* --- Objects that have a state --- */

struct thing {
    ht_module *net;
    ht_optimizer *optimizer;
    ht_scheduler *schedule;
    ht_metric *metric;
    ht_optim_wrapper *wrapper;
};

static void thing_new(struct thing *thing)
{
    thing->net = ht_nn_batch_norm1d(3, NULL);
    thing->optimizer = ht_optim_adam(ht_module_parameters(thing->net), 0.1, NULL);
    thing->schedule = ht_optim_step_lr(thing->optimizer, 2, 0.5);
    thing->metric = ht_metric_mean(HT_COMM_SELF);
    thing->wrapper = ht_optim_wrapper_new(thing->optimizer, NULL);
}

static void thing_use(struct thing *thing, int steps)
{
    int64_t shape[] = {4, 3};

    for (int i = 0; i < steps; i++) {
        ht_tensor *x = ht_full_ext(2, shape, HT_NUM(i + 1.0), HT_FLOAT32, HT_NONE,
                                   ht_device_get("cpu"), HT_COMM_SELF),
                  *y = ht_forward(thing->net, x);

        ht_optim_wrapper_begin(thing->wrapper, thing->net);
        ht_optim_wrapper_update_params(thing->wrapper, ht_sum(ht_mul(y, x), HT_NONE));
        ht_scheduler_step(thing->schedule);
        ht_metric_add(thing->metric, i, 1);
    }
}

static void thing_end(struct thing *thing)
{
    ht_release(thing->wrapper);
    ht_release(thing->schedule);
    ht_release(thing->metric);
    ht_release(thing->optimizer);
    ht_release(thing->net);
}

enum { NET, OPTIMIZER, SCHEDULE, METRIC, WRAPPER, KINDS };
static const char *const names[KINDS] = {
    "ht_module_load_state_dict", "ht_optimizer_load_state_dict", "ht_scheduler_load_state_dict",
    "ht_metric_load_state_dict", "ht_optim_wrapper_load_state_dict"};

static ht_value *state_of(struct thing *thing, int kind)
{
    switch (kind) {
    case NET:
        return ht_module_state_dict(thing->net);
    case OPTIMIZER:
        return ht_optimizer_state_dict(thing->optimizer);
    case SCHEDULE:
        return ht_scheduler_state_dict(thing->schedule);
    case METRIC:
        return ht_metric_state_dict(thing->metric);
    default:
        return ht_optim_wrapper_state_dict(thing->wrapper);
    }
}

static ht_status load_state(struct thing *thing, int kind, const ht_value *state)
{
    switch (kind) {
    case NET:
        return ht_module_load_state_dict(thing->net, state);
    case OPTIMIZER:
        return ht_optimizer_load_state_dict(thing->optimizer, state);
    case SCHEDULE:
        return ht_scheduler_load_state_dict(thing->schedule, state);
    case METRIC:
        return ht_metric_load_state_dict(thing->metric, state);
    default:
        return ht_optim_wrapper_load_state_dict(thing->wrapper, state);
    }
}

static void check_state(struct random *random)
{
    static char before[TEXT], after[TEXT];
    struct thing thing;
    int kind = (int)random_below(random, KINDS), bad;
    ht_value *state;

    thing_new(&thing);
    thing_use(&thing, (int)random_below(random, 4));
    state = state_of(&thing, kind);
    before[0] = after[0] = '\0';
    write_state(state, before);
    bad = (int)random_below(random, ht_value_count(state));
    state = damaged(state, bad, random_chance(random, 50));
    if (load_state(&thing, kind, state) == HT_SUCCESS)
        complain(names[kind], ht_value_key(state_of(&thing, kind), bad));
    ht_error_clear();
    write_state(state_of(&thing, kind), after);
    if (strcmp(before, after) != 0)
        complain("a refused state has changed something", names[kind]);
    thing_end(&thing);
}

/* --- The best epochs --- */

enum { EPOCHS = 12, KEPT = 2 };
static double metric_of_file[EPOCHS]; /* NaN: there is none */
static double metric_now;

static ht_status save_metric(const char *path, void *user)
{
    FILE *file = fopen(path, "w");

    (void)user;
    if (file == NULL)
        return HT_ERR_IO;
    fprintf(file, "%.17g", metric_now);
    fclose(file);
    return HT_SUCCESS;
}

static double saved_metric(const char *prefix, int epoch)
{
    char path[600];
    double value = NAN;
    FILE *file;

    snprintf(path, sizeof path, "%s-%d.h5", prefix, epoch);
    file = fopen(path, "r");
    if (file == NULL)
        return NAN;
    if (fscanf(file, "%lf", &value) != 1)
        value = NAN;
    fclose(file);
    return value;
}

static void keep(int epoch, double metric)
{
    int worst = -1, count = 0;

    if (isnan(metric) || (!isnan(metric_of_file[epoch]) && !(metric < metric_of_file[epoch])))
        return;
    metric_of_file[epoch] = metric;
    for (int i = 0; i < EPOCHS; i++) {
        count += !isnan(metric_of_file[i]);
        if (!isnan(metric_of_file[i]) && (worst < 0 || metric_of_file[i] >= metric_of_file[worst]))
            worst = i;
    }
    if (count > KEPT)
        metric_of_file[worst] = NAN;
}

static void check_best(struct random *random, bool shows)
{
    char prefix[512], text[32];
    ht_keep_best *best;

    snprintf(prefix, sizeof prefix, "%s/best-%d", fuzz_folder, ht_comm_rank(HT_COMM_WORLD));
    best = ht_keep_best_new(prefix, KEPT, false, save_metric, NULL, HT_COMM_SELF);
    for (int i = 0; i < EPOCHS; i++)
        metric_of_file[i] = NAN;
    for (int i = 0; i < 8; i++) {
        int epoch = (int)random_below(random, 4);

        metric_now = random_chance(random, 10) ? NAN : (double)random_below(random, 5) + i / 100.0;
        keep(epoch, metric_now);
        if (shows)
            fprintf(stderr, "  epoch %d, metric %g\n", epoch, metric_now);
        if (ht_keep_best_step(best, metric_now, epoch) != HT_SUCCESS)
            complain("ht_keep_best_step", "failed");
    }
    for (int i = 0; i < EPOCHS; i++) {
        double found = saved_metric(prefix, i);
        char path[600];

        snprintf(text, sizeof text, "%g, not %g", found, metric_of_file[i]);
        if (found != metric_of_file[i] && !(isnan(found) && isnan(metric_of_file[i])))
            complain("ht_keep_best has in the file of an epoch", text);
        snprintf(path, sizeof path, "%s-%d.h5", prefix, i);
        unlink(path);
    }
    ht_release(best);
}

bool family_states(uint64_t seed, bool trace)
{
    struct random random = {hash_of(seed, 2020)};
    int64_t objects = objects_alive();
    ht_scope *scope = ht_scope_open();
    struct {
        int failed, rank;
    } mine = {0, ht_comm_rank(HT_COMM_WORLD)}, one;

    failure[0] = '\0';
    if (random_chance(&random, 30))
        check_best(&random, trace);
    else
        check_state(&random);
    ht_scope_close(scope);
    ht_error_clear();
    if (objects_alive() != objects)
        complain("objects are left", "");
    mine.failed = failure[0] != '\0';
    MPI_Allreduce(&mine, &one, 1, MPI_2INT, MPI_MAXLOC, MPI_COMM_WORLD);
    if (one.failed && one.rank == mine.rank)
        fprintf(stderr, "fuzz: states, seed %llu, %d ranks: %s\n", (unsigned long long)seed,
                ht_comm_size(HT_COMM_WORLD), failure);
    return !one.failed;
}
