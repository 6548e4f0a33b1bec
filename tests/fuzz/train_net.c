/* SPDX-License-Identifier: MIT
 *
 * The model that is trained, its data, and what each rank's rows count for. */
#include <stdlib.h>
#include <string.h>

#include "train.h"

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
    x = ht_forward(net->last, x);
    return net->scale != NULL ? ht_mul(x, net->scale) : x;
}

static const ht_module_type net_type = {.name = "net", .forward = net_forward};

/* The same values whatever the library draws. */
static void set_parameter(const char *name, ht_tensor *parameter, void *user)
{
    uint64_t seed = *(uint64_t *)user;
    double *data;

    for (const char *c = name; *c != '\0'; c++)
        seed = hash_of(seed, (uint64_t)*c);
    data = ht_tensor_mutable_data(parameter);
    for (int64_t i = 0; i < ht_tensor_size(parameter); i++)
        data[i] = data_number(DATA_NORMAL, HT_FLOAT64, seed, (uint64_t)i).re / 2;
}

ht_module *net_new(const struct plan *plan, enum mode mode, uint64_t seed)
{
    ht_module *self = ht_module_new(sizeof(struct net), &net_type);
    struct net *net = ht_module_data(self);
    int64_t in = plan->knob[KNOB_FEATURES] + 1, middle = plan->knob[KNOB_HIDDEN] + 1;
    int64_t out = plan->knob[KNOB_OUTPUTS] + 1, one = 1;
    bool was;

    net->plan = plan;
    ht_module_add(self, "first", &net->first, ht_nn_linear(in, middle));
    ht_module_add(self, "hidden", &net->hidden, ht_nn_linear(middle, middle));
    if (plan->knob[KNOB_NORM] >= 2)
        ht_module_add(self, "norm", &net->norm,
                      mode == MODE_ONE || plan->knob[KNOB_NORM] == 2
                          ? ht_nn_batch_norm1d(middle, NULL)
                          : ht_nn_sync_batch_norm(middle, NULL, HT_COMM_WORLD));
    ht_module_add(self, "last", &net->last, ht_nn_linear(middle, out));
    if (plan->knob[KNOB_ROOT] == 2) {
        double ones = 1;

        ht_module_add_parameter(self, "scale", &net->scale,
                                ht_array_local(&ones, 1, &one, HT_FLOAT64));
    }
    ht_module_to_dtype(self, HT_FLOAT64);
    was = ht_set_grad_enabled(false);
    ht_module_named_parameters(self, set_parameter, &seed);
    ht_set_grad_enabled(was);
    if (plan->knob[KNOB_FROZEN] == 2)
        ht_tensor_set_requires_grad(ht_module_find_parameter(self, "first.weight"), false);
    return self;
}

static int64_t drawn_rows(const struct plan *plan, int step, int pass, int rank)
{
    uint64_t h = hash_of(plan->seed, (uint64_t)(step * 1000 + pass * 100 + rank));

    if (plan->knob[KNOB_ROWS] == 0 || plan->knob[KNOB_AVERAGING] % 3 != 0)
        return 2 + step % 2;
    if (plan->knob[KNOB_ROWS] == 1 || rank == step % plan->ranks)
        return 1 + (int64_t)(h % 4);
    return (int64_t)(h % 3);
}

/* One row alone has no variance; plain batch norm takes none, synchronised 2 on some rank. */
int64_t rows_of(const struct plan *plan, int step, int pass, int rank)
{
    int64_t rows = drawn_rows(plan, step, pass, rank);

    return plan->knob[KNOB_NORM] >= 2 && rows == 1 ? 2 : rows;
}

static int passes(const struct plan *plan)
{
    return plan->knob[KNOB_WAY] == 0 ? 1 : plan->knob[KNOB_PASSES] + 1;
}

/* What the mean loss of one rank's batch counts for in the gradient of the step. */
double coefficient(const struct plan *plan, int step, int pass, int rank)
{
    bool by_wrapper = plan->knob[KNOB_WAY] == 3;

    switch (plan->knob[KNOB_AVERAGING]) {
    case 1: /* no_sync adds the passes up */
        return 1.0 / plan->ranks / (plan->knob[KNOB_WAY] == 2 ? 1 : passes(plan));
    case 2:
        return by_wrapper ? 1.0 / passes(plan) : 1;
    default: /* divided by all rows in the end */
        return (double)rows_of(plan, step, pass, rank);
    }
}

static ht_tensor *rows(const struct training *t, int pass, int rank, int64_t width, uint64_t salt)
{
    int64_t shape[] = {rows_of(t->plan, t->step, pass, rank), width};
    double data[16 * 16];

    for (int64_t i = 0; i < shape[0] * width; i++)
        data[i] = data_number(
                      DATA_NORMAL, HT_FLOAT64,
                      hash_of(t->plan->seed + salt, (uint64_t)((t->step * 10 + pass) * 10 + rank)),
                      (uint64_t)i)
                      .re;
    return ht_array_local(data, 2, shape, HT_FLOAT64);
}

/* The mean loss of a rank's batch; of no rows NULL, or the loss of such a batch. */
ht_tensor *batch_loss(struct training *t, int pass, int rank, int64_t *count)
{
    ht_tensor *x = rows(t, pass, rank, t->plan->knob[KNOB_FEATURES] + 1, 1);
    ht_tensor *y = rows(t, pass, rank, t->plan->knob[KNOB_OUTPUTS] + 1, 2);

    *count = rows_of(t->plan, t->step, pass, rank);
    if (*count == 0 &&
        (t->mode == MODE_ONE || (t->plan->knob[KNOB_EMPTY] == 0 && t->plan->knob[KNOB_NORM] < 2)))
        return NULL;
    return ht_mse_loss(ht_forward(t->model, x), y, HT_MEAN);
}
