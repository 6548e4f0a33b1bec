/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* P ranks on their parts of each batch against one rank on all of it, in float64 and after 10
 * steps. The test covers every optimizer, both modes, and the calls of a training loop. One mode
 * equals the other bit for bit, over bucket sizes from one gradient each to all in one. */
#include "data_parallel_test.h"

static const struct variant {
    const char *name;
    struct run run;
} variants[] = {
    {"plain", {.tied = false}},
    {"accumulation of 3", {.micro = 3}},
    {"accumulation of 3, all of them exchanged", {.micro = 3, .always_sync = true}},
    {"clipping by norm", {.max_norm = 0.05}},
    {"a frozen parameter", {.frozen = true}},
    {"a tied weight", {.tied = true}},
    {"a layer that is not used", {.skip_fc1 = true, .find_unused = true}},
    {"uneven batches, some of no rows", {.uneven = true}},
    {"a schedule", {.schedule = true}},
    {"parameters read between steps", {.reads = true}},
    {"gradients that are not views", {.own_gradients = true}},
    {"clipping of gradients that are not views", {.max_norm = 0.05, .own_gradients = true}},
    {"all at once",
     {.micro = 3, .max_norm = 0.05, .tied = true, .uneven = true, .schedule = true, .reads = true}},
};

enum { VARIANTS = sizeof variants / sizeof variants[0], STEPS = 10 };

/* From a gradient of 32 bytes for each bucket to all of them in one; the same on all ranks. */
static double next_bucket_mb(void)
{
    static uint64_t state = 1;

    state = state * 6364136223846793005u + 1442695040888963407u;
    return ldexp(1e-5, (int)(state >> 60));
}

static void compare(const struct variant *variant, struct run run)
{
    double alone[VALUES], blocking[VALUES], other[VALUES];

    run.steps = STEPS;
    train_alone(&run, alone);
    run.blocking = true;
    train(&run, blocking);
    if (!(distance(blocking, alone) <= 1e-12))
        fail_msg("%s, optimizer %d: %g from one rank's", variant->name, run.kind,
                 distance(blocking, alone));
    for (int i = 0; i < 3; i++) {
        run.blocking = i == 2;
        run.bucket_mb = next_bucket_mb();
        train(&run, other);
        if (memcmp(other, blocking, sizeof other) != 0)
            fail_msg("%s, optimizer %d, buckets of %g MiB, %s: %g from the first", variant->name,
                     run.kind, run.bucket_mb, run.blocking ? "blocking" : "non-blocking",
                     distance(other, blocking));
    }
}

static void test_every_optimizer_in_every_case(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        for (int i = 0; i < VARIANTS; i++) {
            struct run run = variants[i].run;

            run.kind = (enum optimizer_kind)kind;
            compare(&variants[i], run);
        }
    }
}

static void collect_gradients(const char *name, ht_tensor *x, void *user)
{
    ht_tensor *grad = ht_tensor_grad(x);
    double **at = user;

    (void)name;
    for (int64_t i = 0; i < ht_tensor_size(x); i++)
        (*at)[i] = grad != NULL ? ((double *)ht_test_data(grad))[i] : 0;
    *at += ht_tensor_size(x);
}

/* The gradients of one batch of 12 rows, and its rows dealt out. */
static void test_gradients_of_the_first_step(void **state)
{
    double values[2][VALUES];

    (void)state;
    for (int i = 0; i < VARIANTS; i++) {
        const struct run *run = &variants[i].run;
        int64_t rows = run->uneven ? 2 : 12, first, count;

        ht_comm_chunk(HT_COMM_WORLD, rows, ht_test_rank, &first, &count);
        for (int alone = 0; alone < 2; alone++) {
            ht_module *net = new_net(3), *model = net;
            ht_optimizer *optimizer;
            double *at = values[alone];
            ht_scope *scope = ht_scope_open();

            set_up(net, run);
            optimizer = new_optimizer(net, SGD);
            if (!alone)
                model = wrap(net, HT_COMM_WORLD, optimizer, run);
            backward_rows(model, alone ? 0 : first, alone ? rows : count);
            clip_gradients(optimizer, run);
            ht_module_named_parameters(net, collect_gradients, &at);
            ht_scope_close(scope);
            if (!alone)
                ht_release(model);
            ht_release(net);
            ht_release(optimizer);
        }
        if (!(distance(values[0], values[1]) <= 1e-13))
            fail_msg("%s: %g from one rank's", variants[i].name, distance(values[0], values[1]));
    }
}

HT_TEST_SUITE(test_data_parallel_oracle, cmocka_unit_test(test_every_optimizer_in_every_case),
              cmocka_unit_test(test_gradients_of_the_first_step));
