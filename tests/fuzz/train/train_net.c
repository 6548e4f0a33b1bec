/* SPDX-License-Identifier: MIT
 *
 * The model that is trained, its data, and what each rank's rows count for. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/train/train.h"

enum { MOST_VALUES = 64 }; /* of a parameter, which is 6 x 6 at the most */

static ht_tensor *net_forward(ht_module *self, ht_tensor *x)
{
    struct net *net = ht_module_data(self);
    const struct plan *plan = net->plan;

    x = ht_tanh(ht_forward(net->first, x));
    x = ht_tanh(ht_forward(net->hidden, x));
    if (plan->knob[KNOB_TIED] == 2)
        x = ht_tanh(ht_forward(net->hidden, x));
    if (net->norm != NULL)
        x = ht_forward(net->norm, x);
    if (net->mean != NULL)
        x = ht_batch_norm(x, net->mean, net->var, NULL, NULL, ht_module_is_training(self), 0.1,
                          1e-5);
    if (net->dropout != NULL)
        x = ht_forward(net->dropout, x);
    x = ht_forward(net->last, x);
    return net->scale != NULL ? ht_mul(x, net->scale) : x;
}

static const ht_module_type net_type = {.name = "net", .forward = net_forward};

/* The same values, independent of the library's draws. */
static void set_parameter(const char *name, ht_tensor *parameter, void *user)
{
    uint64_t seed = *(uint64_t *)user;
    double data[MOST_VALUES];

    for (const char *c = name; *c != '\0'; c++)
        seed = hash_of(seed, (uint64_t)*c);
    for (int64_t i = 0; i < ht_tensor_size(parameter); i++)
        data[i] = data_number(DATA_NORMAL, HT_FLOAT64, seed, (uint64_t)i).re / 2;
    set_values(parameter, data);
}

static void add_running(ht_module *self, struct net *net, int64_t middle)
{
    double ones[16];

    for (int i = 0; i < 16; i++)
        ones[i] = 1;
    ht_module_add_buffer(self, "mean", &net->mean,
                         ht_array(ones, 1, &middle, HT_FLOAT64, HT_LOCAL));
    ht_module_add_buffer(self, "var", &net->var, ht_array(ones, 1, &middle, HT_FLOAT64, HT_LOCAL));
}

ht_module *net_new(const struct plan *plan, enum mode mode, uint64_t seed)
{
    ht_module *self = ht_module_new(sizeof(struct net), &net_type);
    struct net *net = ht_module_data(self);
    int64_t in = plan->knob[KNOB_FEATURES] + 1, middle = plan->knob[KNOB_HIDDEN] + 1;
    int64_t out = plan->knob[KNOB_OUTPUTS] + 1, one = 1;

    net->plan = plan;
    ht_module_add(self, "first", &net->first, ht_nn_linear(in, middle));
    ht_module_add(self, "hidden", &net->hidden, ht_nn_linear(middle, middle));
    if (plan->knob[KNOB_NORM] >= 2 && plan->knob[KNOB_FUNCTION] == 0)
        ht_module_add(self, "norm", &net->norm,
                      mode == MODE_ONE || plan->knob[KNOB_NORM] == 2
                          ? ht_nn_batch_norm1d(middle, NULL)
                          : ht_nn_sync_batch_norm(middle, NULL, HT_COMM_WORLD));
    if (plan->knob[KNOB_NORM] == 2 && plan->knob[KNOB_FUNCTION] == 1)
        add_running(self, net, middle);
    if (plan->knob[KNOB_DROPOUT] == 3)
        ht_module_add(self, "dropout", &net->dropout, ht_nn_dropout(0.3));
    ht_module_add(self, "last", &net->last, ht_nn_linear(middle, out));
    if (plan->knob[KNOB_ROOT] == 2) {
        double ones = 1;

        ht_module_add_parameter(self, "scale", &net->scale,
                                ht_array(&ones, 1, &one, HT_FLOAT64, HT_LOCAL));
    }
    ht_module_to_dtype(self, HT_FLOAT64);
    ht_module_named_parameters(self, set_parameter, &seed);
    if (plan->knob[KNOB_FROZEN] == 2)
        ht_tensor_set_requires_grad(ht_module_find_parameter(self, "first.weight"), false);
    return self;
}

bool has_data(const struct plan *plan, int step, int rank)
{
    int most = plan->knob[KNOB_STEPS] + 2;

    if (plan->knob[KNOB_JOIN] < 3 || rank == (int)(plan->seed % (uint64_t)plan->ranks))
        return step < most;
    return step < (int)(hash_of(plan->seed, (uint64_t)rank + 5000) % (uint64_t)most);
}

static int active(const struct plan *plan, int step)
{
    int count = 0;

    for (int rank = 0; rank < plan->ranks; rank++)
        count += has_data(plan, step, rank);
    return count;
}

static int64_t drawn_rows(const struct plan *plan, int step, int pass, int rank)
{
    uint64_t h = hash_of(plan->seed, (uint64_t)(step * 1000 + pass * 100 + rank));
    int how = plan->knob[KNOB_ROWS];

    if (!has_data(plan, step, rank))
        return 0;
    if (how == 0 || plan->knob[KNOB_AVERAGING] % 3 != 0)
        return 2 + step % 2;
    if (how == 3 && hash_of(plan->seed, (uint64_t)(step * 10 + pass)) % 3 == 0)
        return 0;
    if (how == 1 || rank == step % plan->ranks)
        return 1 + (int64_t)(h % 4);
    return (int64_t)(h % 3);
}

/* One row alone has no variance; plain batch norm takes none, synchronised 2 on some rank. */
int64_t rows_of(const struct plan *plan, int step, int pass, int rank)
{
    int64_t rows = drawn_rows(plan, step, pass, rank);

    return plan->knob[KNOB_NORM] >= 2 && rows == 1 ? 2 : rows;
}

int passes_of(const struct plan *plan)
{
    return plan->knob[KNOB_WAY] == 0 ? 1 : plan->knob[KNOB_PASSES] + 1;
}

bool overflows(const struct plan *plan, int step, int pass, int rank)
{
    uint64_t h = hash_of(plan->seed, (uint64_t)(step * 10 + pass) + 7000);

    return plan->knob[KNOB_WAY] == 3 && plan->knob[KNOB_SCALING] == 2 &&
           plan->knob[KNOB_OVERFLOW] == 2 && h % 3 == 0 &&
           rank == (int)(h / 3 % (uint64_t)plan->ranks) && rows_of(plan, step, pass, rank) > 0;
}

bool overflows_somewhere(const struct plan *plan, int step)
{
    for (int i = 0; i < passes_of(plan) * plan->ranks; i++) {
        if (overflows(plan, step, i / plan->ranks, i % plan->ranks))
            return true;
    }
    return false;
}

/* The factor of the mean loss of one rank's batch in the gradient of the step. */
double coefficient(const struct plan *plan, int step, int pass, int rank)
{
    bool by_wrapper = plan->knob[KNOB_WAY] == 3;

    switch (plan->knob[KNOB_AVERAGING]) {
    case 1: /* no_sync adds the passes up */
        return 1.0 / (plan->knob[KNOB_JOIN] == 4 ? active(plan, step) : plan->ranks) /
               (plan->knob[KNOB_WAY] == 2 ? 1 : passes_of(plan));
    case 2:
        return by_wrapper ? 1.0 / passes_of(plan) : 1;
    default: /* divided by all rows in the end */
        return (double)rows_of(plan, step, pass, rank);
    }
}

/* The rows of one rank, or (rank -1) of all. */
static ht_tensor *rows(const struct training *t, int pass, int rank, int64_t width, uint64_t salt)
{
    const struct plan *plan = t->plan;
    int first = rank < 0 ? 0 : rank, last = rank < 0 ? plan->ranks - 1 : rank;
    int64_t shape[] = {0, width}, count = 0;
    double data[64 * 16];

    for (int r = first; r <= last; r++) {
        uint64_t place = (uint64_t)((t->step * 10 + pass) * 10 + r);
        int64_t own = rows_of(plan, t->step, pass, r) * width;

        for (int64_t i = 0; i < own; i++)
            data[count++] = data_number(DATA_NORMAL, HT_FLOAT64, hash_of(plan->seed + salt, place),
                                        (uint64_t)i)
                                .re;
    }
    shape[0] = count / width;
    return ht_array(data, 2, shape, HT_FLOAT64, HT_LOCAL);
}

/* The mean loss of a rank's batch; of no rows NULL, or the loss of such a batch. */
ht_tensor *batch_loss(struct training *t, int pass, int rank, int64_t *count)
{
    const struct plan *plan = t->plan;
    ht_tensor *x = rows(t, pass, rank, plan->knob[KNOB_FEATURES] + 1, 1);
    ht_tensor *y = rows(t, pass, rank, plan->knob[KNOB_OUTPUTS] + 1, 2), *loss;

    *count = rows_of(plan, t->step, pass, rank);
    if (*count == 0 &&
        (t->mode == MODE_ONE || (plan->knob[KNOB_EMPTY] == 0 && plan->knob[KNOB_NORM] < 2)))
        return NULL;
    loss = ht_mse_loss(ht_forward(t->model, x), y, HT_MEAN);
    return overflows(plan, t->step, pass, rank) ? ht_mul_scalar(loss, INFINITY) : loss;
}

/* One batch of all rows, with all that they count for: where the rows of a batch see each other. */
ht_tensor *loss_of_all_rows(struct training *t, int pass)
{
    ht_tensor *x = rows(t, pass, -1, t->plan->knob[KNOB_FEATURES] + 1, 1);
    ht_tensor *y = rows(t, pass, -1, t->plan->knob[KNOB_OUTPUTS] + 1, 2);
    double weight = 0;

    for (int rank = 0; rank < t->plan->ranks; rank++)
        weight += coefficient(t->plan, t->step, pass, rank);
    x = ht_forward(t->model, x);
    return weight > 0 ? ht_mul_scalar(ht_mse_loss(x, y, HT_MEAN), weight) : NULL;
}
