/* SPDX-License-Identifier: MIT */
/* Training in which the ranks part ways, for tests/nn/stopped.sh: stopped STEPS HOW. In step 20
 * rank 1 stops ("stop"), leaves the loop ("leave") or computes without end ("compute"). "" is plain
 * training, which SIGTERM to any rank ends early. With "link ..." the ranks have devices that are
 * linked, and rank 1 stops ("link stop"), dies ("link die") or has messages that never end ("link
 * stall"). Under DASO rank 1 stops ("daso stop") or dies
 * ("daso die") where the others have begun an exchange between nodes. Every rank prints its process
 * id when it begins. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ht.h"

struct net {
    ht_module *fc1, *fc2;
    const char *how;
    int step;
};

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    struct net *net = ht_module_data(self);

    x = ht_relu(ht_forward(net->fc1, x));
    if (net->step == 20 && strcmp(net->how, "compute") == 0) {
        for (volatile int on = 1; on;)
            continue;
    }
    return ht_forward(net->fc2, x);
}

static const ht_module_type net_type = {.name = "net", .forward = forward};

/* An exchange between nodes begins after steps 1, 5, 9, ... and ends with the step after. */
static ht_daso *new_daso(ht_optimizer *optimizer, int steps)
{
    ht_daso_options o = ht_daso_options_default();
    ht_daso *daso;

    o.warmup_epochs = o.cooldown_epochs = 0;
    daso = ht_optim_daso(optimizer, 1, HT_COMM_WORLD, &o);
    ht_daso_set_last_batch(daso, steps - 1);
    return daso;
}

static const struct {
    const char *how;
    int step, signal;
} ends[] = {{"stop", 20, SIGSTOP},
            {"link stop", 20, SIGSTOP},
            {"link die", 20, SIGKILL},
            {"daso stop", 21, SIGSTOP},
            {"daso die", 21, SIGKILL}};

static void come_to_an_end(const char *how, int step)
{
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (step == ends[i].step && strcmp(how, ends[i].how) == 0)
            raise(ends[i].signal);
    }
    if (step == 20 && strcmp(how, "link stall") == 0)
        setenv("EMULATED_NCCL_STALL", "1", true);
}

int main(int argc, char **argv)
{
    int steps = argc > 2 ? atoi(argv[1]) : 0;
    bool odd, linked = argc > 2 && strncmp(argv[2], "link", 4) == 0;
    ht_module *module, *dp;
    ht_optimizer *sgd;
    ht_daso *daso = NULL;
    struct net *net;

    ht_init(&argc, &argv);
    odd = ht_comm_rank(HT_COMM_WORLD) == 1;
    ht_use_comm(HT_COMM_SELF); /* tensors are each rank's own */
    if (linked)
        ht_use_device(ht_device_get("cuda"));
    module = ht_module_new(sizeof *net, &net_type);
    net = ht_module_data(module);
    net->how = odd && argc > 2 ? argv[2] : "";
    ht_module_add(module, "fc1", &net->fc1, ht_nn_linear(8, 16));
    ht_module_add(module, "fc2", &net->fc2, ht_nn_linear(16, 4));
    sgd = ht_optim_sgd(ht_module_parameters(module), 0.01, NULL);
    if (argc > 2 && strncmp(argv[2], "daso", 4) == 0)
        daso = new_daso(sgd, steps);
    dp = daso != NULL ? ht_nn_data_parallel_multi_gpu(module, daso, HT_COMM_WORLD)
                      : ht_nn_data_parallel(module, HT_COMM_WORLD, sgd, true);
    ht_stop_signals_catch();
    printf("%d\n", (int)getpid());
    fflush(stdout);
    for (net->step = 1; net->step <= steps; net->step++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = ht_randn(HT_SHAPE(4, 8), HT_FLOAT32, HT_NONE), *loss;

        if (ht_stop_signal() != 0)
            ht_data_parallel_request_stop(dp);
        come_to_an_end(net->how, net->step);
        if (net->step == 20 && strcmp(net->how, "leave") == 0)
            steps = 0;
        if (daso == NULL && ht_data_parallel_stop_requested(dp))
            steps = 0;
        ht_optimizer_zero_grad(sgd);
        loss = ht_sum(ht_forward(dp, x), HT_NONE);
        ht_backward(loss);
        if (daso != NULL)
            ht_daso_step(daso);
        else
            ht_optimizer_step(sgd);
        if (linked)
            ht_item(loss); /* waits for the device, which waits for the updates before */
        ht_scope_close(scope);
    }
    ht_release(dp);
    ht_release(daso);
    ht_release(sgd);
    ht_release(module);
    return ht_finalize();
}
