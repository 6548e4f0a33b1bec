/* SPDX-License-Identifier: MIT */
/* usage: device_job CASE Effects of devices on complete jobs; tests/core/device.sh has the expected
 * output. Rank 1 is the one that differs. */
#include <ht.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t classes = 3, rows = 2;

static ht_tensor *loss_of(ht_tensor *x, int64_t target)
{
    return ht_nll_loss(ht_log_softmax(x, 1),
                       ht_array((int64_t[]){1, target}, 1, &rows, HT_INT64, HT_LOCAL), HT_MEAN);
}

/* A target that there is not. */
static void bad_target(int rank)
{
    ht_tensor *x = ht_ones(HT_SHAPE(rows, classes), HT_FLOAT32, HT_LOCAL);

    ht_item(loss_of(x, rank == 1 ? 7 : 2));
}

/* The same, found by a wait. */
static void bad_wait(int rank)
{
    loss_of(ht_ones(HT_SHAPE(rows, classes), HT_FLOAT32, HT_LOCAL), rank == 1 ? 7 : 2);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_device_synchronize(ht_get_device());
}

/* The same within data parallelism. */
static void bad_step(int rank)
{
    ht_optimizer *optimizer;
    ht_module *net = ht_nn_linear(2, classes);

    optimizer = ht_optim_sgd(ht_module_parameters(net), 0.5, NULL);
    net = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, true);
    for (int step = 0; step < 3; step++) {
        ht_tensor *x = ht_ones(HT_SHAPE(rows, 2), HT_FLOAT32, HT_LOCAL);

        ht_optimizer_zero_grad(optimizer);
        ht_backward(loss_of(ht_forward(net, x), rank == 1 && step == 1 ? 7 : 2));
        ht_optimizer_step(optimizer);
    }
    ht_item(
        ht_sum(ht_detach(ht_value_as_tensor(ht_value_at(ht_module_parameters(net), 0))), HT_NONE));
}

static void bad_call(int rank)
{
    ht_tensor *x = ht_ones(HT_SHAPE(4), HT_FLOAT32, 0);

    if (rank == 1)
        setenv("LAG_FAULT", "2", 1); /* where an allocation fails, blocks that are kept go first */
    ht_add(x, x);
}

/* Non-blocking data parallelism on a device: the sum of a weight. */
static double trained(const char *device, int rank)
{
    ht_scope *scope = ht_scope_open();
    ht_module *net, *model;
    ht_optimizer *optimizer;
    double sum;

    ht_use_device(ht_device_get(device));
    ht_nn_seed(3);
    net = ht_nn_linear(2, classes);
    optimizer = ht_optim_sgd(ht_module_parameters(net), 0.5, NULL);
    model = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false);
    for (int step = 0; step < 5; step++) {
        ht_tensor *x = ht_full(HT_SHAPE(rows, 2), rank + 1, HT_FLOAT32, HT_LOCAL);

        ht_optimizer_zero_grad(optimizer);
        ht_backward(loss_of(ht_forward(model, x), step % classes));
        ht_optimizer_step(optimizer);
    }
    sum = ht_item(
        ht_sum(ht_detach(ht_value_as_tensor(ht_value_at(ht_module_parameters(net), 1))), HT_NONE));
    ht_scope_close(scope);
    ht_release(model);
    ht_release(optimizer);
    ht_release(net);
    return sum;
}

static void train(int rank)
{
    const double there = trained("lag:0", rank), here = trained("cpu", rank);

    if (rank == 0)
        printf("%s\n", there == here ? "the host's bits" : "other bits");
}

/* A device whose copies never end. */
static void stuck(int rank)
{
    trained("lag:0", rank);
}

/* Kernels that a device has not: run on the host and counted, or refused. */
static void foreign(int rank)
{
    ht_device *dummy = ht_device_get("dummy:0");

    ht_exp(ht_to_device(ht_ones(HT_SHAPE(4), HT_FLOAT32, 0), dummy));
    if (rank == 0)
        printf("%s\n", ht_device_fallbacks(dummy) > 0 ? "on the host" : "on the device");
}

static void refused(int rank)
{
    (void)rank;
    ht_exp(ht_ones(HT_SHAPE(4), HT_FLOAT32, 0));
}

/* Faults of GPUs, on all ranks. */
static void no_device(int rank)
{
    (void)rank;
    ht_device_get("cuda:8");
}

static ht_tensor *ones_on(const char *device, int64_t count)
{
    return ht_full_ext(1, &count, HT_NUM(1), HT_FLOAT32, HT_NONE, ht_device_get(device),
                       HT_COMM_WORLD);
}

static void two_devices(int rank)
{
    (void)rank;
    ht_add(ones_on("cuda:0", 4), ones_on("cuda:1", 4));
}

static void no_memory(int rank)
{
    (void)rank;
    ones_on("cuda:0", (int64_t)1 << 22);
}

static const struct {
    const char *name;
    void (*run)(int rank);
    const char *device;
    const char *set[2]; /* of rank 1's environment */
} cases[] = {
    {"bad-target", bad_target, "lag:0", {NULL}},
    {"bad-wait", bad_wait, "lag:0", {NULL}},
    {"bad-step", bad_step, "lag:0", {NULL}},
    {"bad-linked-step", bad_step, "cuda", {NULL}},
    {"bad-call", bad_call, "lag:0", {NULL}},
    {"train", train, "cpu", {NULL}},
    {"foreign", foreign, "cpu", {"HT_FALLBACK", "error"}},
    {"refused", refused, "lag:0", {"LAG_REFUSE", "EXP"}},
    {"stuck", stuck, "cpu", {"LAG_FLAW", "stuck"}},
    {"no-device", no_device, "cpu", {NULL}},
    {"two-devices", two_devices, "cpu", {NULL}},
    {"no-memory", no_memory, "cpu", {NULL}},
};

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "", *rank = getenv("OMPI_COMM_WORLD_RANK");

    if (strcmp(what, "early") == 0) /* before ranks have numbers */
        ht_device_get("lag");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].name, what) != 0)
            continue;
        if (cases[i].set[0] != NULL && rank != NULL && atoi(rank) == 1)
            setenv(cases[i].set[0], cases[i].set[1], 1);
        ht_init(&argc, &argv);
        ht_use_device(ht_device_get(cases[i].device));
        cases[i].run(ht_comm_rank(HT_COMM_WORLD));
        return ht_finalize();
    }
    fprintf(stderr, "device_job: no case \"%s\"\n", what);
    return 2;
}
