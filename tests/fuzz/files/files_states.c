/* SPDX-License-Identifier: MIT
 *
 * States of all that has one: what comes back is the same, and a state with one bad entry is
 * refused, with nothing changed. */
#include "fuzz/files/files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ht.h"

static struct {
    ht_module *net;
    ht_optimizer *sgd, *adam;
    ht_scheduler *step, *plateau;
    ht_early_stopping *stopping;
    ht_metric *mean, *accuracy;
} all; /* owned */

static ht_value *of_net(void)
{
    return ht_module_state_dict(all.net);
}
static ht_value *of_sgd(void)
{
    return ht_optimizer_state_dict(all.sgd);
}
static ht_value *of_adam(void)
{
    return ht_optimizer_state_dict(all.adam);
}
static ht_value *of_step(void)
{
    return ht_scheduler_state_dict(all.step);
}
static ht_value *of_plateau(void)
{
    return ht_scheduler_state_dict(all.plateau);
}
static ht_value *of_stopping(void)
{
    return ht_early_stopping_state_dict(all.stopping);
}
static ht_value *of_mean(void)
{
    return ht_metric_state_dict(all.mean);
}
static ht_value *of_accuracy(void)
{
    return ht_metric_state_dict(all.accuracy);
}

static ht_status to_net(const ht_value *x)
{
    return ht_module_load_state_dict(all.net, x);
}
static ht_status to_sgd(const ht_value *x)
{
    return ht_optimizer_load_state_dict(all.sgd, x);
}
static ht_status to_adam(const ht_value *x)
{
    return ht_optimizer_load_state_dict(all.adam, x);
}
static ht_status to_step(const ht_value *x)
{
    return ht_scheduler_load_state_dict(all.step, x);
}
static ht_status to_plateau(const ht_value *x)
{
    return ht_scheduler_load_state_dict(all.plateau, x);
}
static ht_status to_stopping(const ht_value *x)
{
    return ht_early_stopping_load_state_dict(all.stopping, x);
}
static ht_status to_mean(const ht_value *x)
{
    return ht_metric_load_state_dict(all.mean, x);
}
static ht_status to_accuracy(const ht_value *x)
{
    return ht_metric_load_state_dict(all.accuracy, x);
}

static const struct stated {
    const char *name;
    ht_value *(*get)(void);
    ht_status (*set)(const ht_value *state);
} stated[] = {{"module", of_net, to_net},
              {"SGD", of_sgd, to_sgd},
              {"Adam", of_adam, to_adam},
              {"step_lr", of_step, to_step},
              {"reduce_lr_on_plateau", of_plateau, to_plateau},
              {"early stopping", of_stopping, to_stopping},
              {"mean", of_mean, to_mean},
              {"accuracy", of_accuracy, to_accuracy}};
enum { STATED = sizeof stated / sizeof *stated };

static void begin(struct files *files)
{
    ht_sgd_options sgd = ht_sgd_options_default();

    (void)files;
    sgd.momentum = 0.5;
    all.net = ht_nn_sequential(
        HT_LIST(ht_module *, ht_nn_linear(3, 2), ht_nn_batch_norm1d(2, NULL)));
    all.sgd = ht_optim_sgd(ht_module_parameters(all.net), 0.1, &sgd);
    all.adam = ht_optim_adam(ht_module_parameters(all.net), 0.1, NULL);
    all.step = ht_optim_step_lr(all.sgd, 2, 0.5);
    all.plateau = ht_optim_reduce_lr_on_plateau(all.adam, NULL);
    all.stopping = ht_early_stopping_new(NULL);
    all.mean = ht_metric_mean(HT_COMM_WORLD);
    all.accuracy = ht_metric_accuracy(1, HT_COMM_WORLD);
}

static void end(struct files *files)
{
    (void)files;
    ht_release(all.accuracy);
    ht_release(all.mean);
    ht_release(all.stopping);
    ht_release(all.plateau);
    ht_release(all.step);
    ht_release(all.adam);
    ht_release(all.sgd);
    ht_release(all.net);
}

/* A step of everything. */
static void train(struct files *files, const uint64_t n[])
{
    const int64_t shape[] = {4, 3};
    ht_tensor *x = ht_full(2, shape, (double)(n[0] % 7) - 3, HT_FLOAT32, HT_LOCAL);

    ht_backward(ht_sum(ht_mul(ht_forward(all.net, x), ht_forward(all.net, x)), HT_NONE));
    expect(files, "ht_optimizer_step", ht_optimizer_step(all.sgd), HT_SUCCESS);
    expect(files, "ht_optimizer_step", ht_optimizer_step(all.adam), HT_SUCCESS);
    ht_optimizer_zero_grad(all.sgd);
    ht_scheduler_step(all.step);
    ht_scheduler_step_metric(all.plateau, (double)(n[1] % 5));
    ht_early_stopping_step(all.stopping, (double)(n[2] % 5));
    ht_metric_add(all.mean, (double)(n[3] % 9), 2);
}

/* How an entry can be bad. */
enum poison {
    A_NAN,
    NEGATIVE,
    A_HALF,
    MISSING,
    A_LIST,
    OTHER_SHAPE,
    COMPLEX_ONE,
    BELOW_ZERO,
    SCATTERED_ONE,
    POISONS
};
static const char *const poisons[] = {"NaN",     "-1",      "0.5",
                                      "missing", "a list",  "of another shape",
                                      "complex", "below 0", "on all ranks"};

struct poisoning {
    int left; /* entries before the bad one */
    enum poison poison;
    const char *key; /* of the bad one; NULL: there was none, or it cannot be so */
};

static ht_value *poison_number(struct poisoning *p, double number)
{
    (void)number;
    switch (p->poison) {
    case A_NAN:
        return ht_value_number(NAN);
    case NEGATIVE:
        return ht_value_number(-1);
    case A_HALF:
        return ht_value_number(0.5);
    default:
        return ht_value_list();
    }
}

static ht_value *poison_tensor(struct poisoning *p, ht_tensor *x)
{
    const int64_t shape[] = {5, 1, 2};

    switch (p->poison) {
    case OTHER_SHAPE:
        return ht_value_tensor(ht_full(3, shape, 1, ht_tensor_dtype(x), HT_LOCAL));
    case COMPLEX_ONE:
        return ht_value_tensor(ht_astype(ht_detach(x), HT_COMPLEX64));
    case SCATTERED_ONE:
        return ht_value_tensor(ht_zeros(ht_tensor_ndim(x), ht_tensor_shape(x), ht_tensor_dtype(x),
                                        ht_tensor_ndim(x) > 0 ? 0 : HT_NONE));
    case BELOW_ZERO:
        return ht_value_tensor(ht_full_like(ht_detach(x), -1));
    default:
        return ht_value_list();
    }
}

static bool can_be(enum poison poison, const ht_value *value)
{
    ht_value_kind kind = ht_value_get_kind(value);

    if (kind == HT_VALUE_TENSOR && ht_tensor_size(ht_value_as_tensor(value)) == 0)
        return poison == MISSING || poison == A_LIST || poison == OTHER_SHAPE;
    return poison == MISSING || poison == A_LIST || (kind == HT_VALUE_NUMBER) == (poison <= A_HALF);
}

/* A copy; of number `left` a bad one. NULL: it is to be left out. */
static ht_value *copy(struct poisoning *p, const ht_value *value, const char *key)
{
    ht_value_kind kind = ht_value_get_kind(value);
    bool is_leaf = kind == HT_VALUE_NUMBER || kind == HT_VALUE_TENSOR;
    ht_value *made_of;

    if (is_leaf && p->left-- == 0 && can_be(p->poison, value)) {
        p->key = key;
        if (p->poison == MISSING)
            return NULL;
        return kind == HT_VALUE_NUMBER ? poison_number(p, ht_value_as_number(value))
                                       : poison_tensor(p, ht_value_as_tensor(value));
    }
    if (kind == HT_VALUE_NUMBER)
        return ht_value_number(ht_value_as_number(value));
    if (kind == HT_VALUE_TENSOR)
        return ht_value_tensor(ht_copy(ht_detach(ht_value_as_tensor(value))));
    made_of = kind == HT_VALUE_MAP ? ht_value_map() : ht_value_list();
    for (int i = 0; i < ht_value_count(value); i++) {
        const char *name = ht_value_key(value, i);
        ht_value *item = copy(p, ht_value_at(value, i), name != NULL ? name : key);

        if (item != NULL && name != NULL)
            ht_value_set(made_of, name, item);
        else if (item != NULL)
            ht_value_append(made_of, item);
    }
    return made_of;
}

static ht_value *copy_of(const ht_value *value)
{
    struct poisoning none = {.left = -1};

    return copy(&none, value, "");
}

/* Entries that may have this value, or may be missing. */
static bool is_allowed(const struct stated *one, const struct poisoning *p, int ranks)
{
    static const char *const counted[] = {"step", "last_epoch", "waited", "num_bad_epochs",
                                          "cooldown_counter"};
    static const char *const titles[] = {"SGD", "Adam", "ht_metric_mean", "ht_metric_accuracy"};
    bool counts = false, is_free = strcmp(p->key, "params") == 0; /* its length counts */

    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        counts = counts || strcmp(p->key, counted[i]) == 0;
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        if (strcmp(p->key, titles[i]) == 0 && p->poison != MISSING)
            return true;
    }
    switch (p->poison) {
    case A_NAN:
        return one->get == of_stopping && strcmp(p->key, "best") == 0; /* none yet */
    case NEGATIVE:
    case A_HALF:
        return !counts;
    case MISSING:
        return strcmp(p->key, "initial_lr") == 0 ||
               strcmp(p->key, "momentum_buffer") == 0; /* of a momentum that has just begun */
    case BELOW_ZERO:
        return strcmp(p->key, "counts") != 0;
    case SCATTERED_ONE:
        return ranks == 1 || is_free || strcmp(p->key, "moments") == 0;
    case COMPLEX_ONE:
        return is_free;
    default:
        return false;
    }
}

static void load_bad(struct files *files, const uint64_t n[])
{
    const struct stated *one = &stated[n[0] % STATED];
    struct poisoning p = {.left = (int)(n[1] % 14), .poison = (enum poison)(n[2] % POISONS)};
    ht_value *before = copy_of(one->get()), *bad = copy(&p, before, "");
    ht_status status;

    say(files, " of %s: %s is %s", one->name, p.key != NULL ? p.key : "nothing", poisons[p.poison]);
    if (p.key == NULL)
        return;
    status = one->set(bad);
    expect(files, one->name, status, is_allowed(one, &p, files->size) ? ANYTHING : HT_ERR_FORMAT);
    if (status != HT_SUCCESS && !values_are_equal(before, one->get()))
        wrong(files, "the state of %s was refused and has changed something", one->name);
    if (status == HT_SUCCESS) /* whatever it was */
        expect(files, one->name, one->set(before), HT_SUCCESS);
}

/* Through a file, into an object that has run on. */
static void load_back(struct files *files, const uint64_t n[])
{
    const struct stated *one = &stated[n[0] % STATED];
    const char *path = in_folder(files, "state.h5");
    ht_value *before = copy_of(one->get());

    say(files, " of %s", one->name);
    expect(files, "ht_checkpoint_save", ht_checkpoint_save(before, path, HT_COMM_WORLD, NULL),
           HT_SUCCESS);
    train(files, n + 1);
    expect(files, one->name, one->set(ht_checkpoint_load(path, HT_COMM_WORLD, NULL)), HT_SUCCESS);
    if (!values_are_equal(before, one->get()))
        wrong(files, "the state of %s is another one after it was loaded", one->name);
}

static const struct act_row rows[] = {{"train", 3, train},
                                      {"load a bad state", 10, load_bad},
                                      {"load a state back", 2, load_back},
                                      {NULL, 0, NULL}};

const struct world world_states = {"states", rows, begin, NULL, end};
