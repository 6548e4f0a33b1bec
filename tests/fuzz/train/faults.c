/* SPDX-License-Identifier: MIT
 *
 * Training in which one step fails on one rank. The others get an error at the latest in their next
 * forward pass, and no rank has updated a parameter. Training that continues with a new wrapper
 * equals training without this step. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"

#define FAULT_LIST(X)                                                                            \
    X(KIND, 6)  /* none, wrong input, no input, no loss, a parameter's hook, a result's hook */  \
    X(STEPS, 4) /* + 1 */                                                                        \
    X(AT, 4)                                                                                     \
    X(RANK, 3)                                                                                   \
    X(BLOCKING, 2)                                                                               \
    X(WAY, 3)      /* ht_backward, ht_data_parallel_backward, ht_optim_wrapper_update_params */  \
    X(STEPS_ON, 2) /* 1: calls step() after its error, too */                                    \
    X(BETWEEN,                                                                                   \
      4)       /* before the next forward pass: nothing, an agreement, rank 0 reads, clipping */ \
    X(MEAN, 2) /* 1: not the weighted average */                                                 \
    X(NORM, 2) /* 1: SyncBatchNorm */                                                            \
    X(BUCKETS, 2) /* 1: tiny */                                                                  \
    X(SIDE, 2)    /* 1: another wrapper of the communicator trains, too */

enum fault_knob {
#define FAULT_ID(name, count) FAULT_##name,
    FAULT_LIST(FAULT_ID)
#undef FAULT_ID
        FAULT_COUNT
};
static const struct {
    const char *name;
    int count;
} knobs[] = {
#define FAULT_ROW(name, count) {#name, count},
    FAULT_LIST(FAULT_ROW)
#undef FAULT_ROW
};

enum { IN = 3, MIDDLE = 4, OUT = 2, VALUES = 64 };

struct work {
    const int *k;
    uint64_t seed;
    int rank, size, step;
    ht_module *net, *dp, *side, *side_dp;
    ht_optimizer *optimizer, *side_optimizer;
    ht_optim_wrapper *wrapper;
    ht_value *parameters;
    char *failure;
    size_t room;
};

static void complain(struct work *w, const char *text)
{
    const char *message;

    ht_error_get(&message);
    if (w->failure[0] == '\0')
        snprintf(w->failure, w->room, "rank %d, step %d: %s%s%s", w->rank, w->step, text,
                 message[0] != '\0' ? ": " : "", message);
}

static void expect(struct work *w, const char *what, ht_status status)
{
    if (status != HT_SUCCESS)
        complain(w, what);
}

/* --- The model --- */

static void set_parameter(const char *name, ht_tensor *parameter, void *user)
{
    double data[VALUES];

    for (int64_t i = 0; i < ht_tensor_size(parameter); i++)
        data[i] = data_number(DATA_NORMAL, HT_FLOAT64, hash_of(*(uint64_t *)user, strlen(name)),
                              (uint64_t)i)
                      .re;
    set_values(parameter, data);
}

static ht_module *model_new(bool norm, uint64_t seed)
{
    ht_module *layers[] = {ht_nn_linear(IN, MIDDLE),
                           norm ? ht_nn_sync_batch_norm(MIDDLE, NULL, HT_COMM_WORLD) : ht_nn_relu(),
                           ht_nn_linear(MIDDLE, OUT)};
    ht_module *net = ht_nn_sequential(3, layers);

    ht_module_to_dtype(net, HT_FLOAT64);
    ht_module_named_parameters(net, set_parameter, &seed);
    return net;
}

static ht_module *wrap(struct work *w, ht_module *net, ht_optimizer *optimizer)
{
    ht_data_parallel_options options = ht_data_parallel_options_default();
    ht_module *dp;

    options.blocking = w->k[FAULT_BLOCKING];
    options.averaging = w->k[FAULT_MEAN] ? HT_AVERAGE_MEAN : HT_AVERAGE_WEIGHTED;
    if (w->k[FAULT_BUCKETS])
        options.bucket_cap_mb = options.first_bucket_mb = 1e-5;
    dp = ht_nn_data_parallel_ext(net, HT_COMM_WORLD, optimizer, &options);
    if (dp == NULL)
        complain(w, "the wrapper");
    return dp;
}

static ht_optimizer *optimizer_new(ht_module *net)
{
    ht_sgd_options options = ht_sgd_options_default();

    options.momentum = 0.9;
    return ht_optim_sgd(ht_module_parameters(net), 0.1, &options);
}

static void begin_wrappers(struct work *w)
{
    w->dp = wrap(w, w->net, w->optimizer);
    w->wrapper = ht_optim_wrapper_new(w->optimizer, NULL);
}

static void end_wrappers(struct work *w)
{
    ht_release(w->wrapper);
    ht_release(w->dp);
}

/* The values of the parameters; reading them finishes their updates. */
static int read_values(struct work *w, double values[])
{
    int count = 0;

    for (int i = 0; i < ht_value_count(w->parameters); i++) {
        ht_tensor *x = ht_value_as_tensor(ht_value_at(w->parameters, i));
        const double *data = values_of(x);

        for (int64_t j = 0; data != NULL && j < ht_tensor_size(x); j++)
            values[count++] = data[j];
    }
    return count;
}

/* --- A step --- */

static ht_tensor *rows(const struct work *w, int64_t width, uint64_t salt)
{
    int64_t shape[] = {2 + w->rank, width};
    double data[8 * 8];

    for (int64_t i = 0; i < shape[0] * width; i++)
        data[i] = data_number(DATA_NORMAL, HT_FLOAT64,
                              hash_of(w->seed + salt, (uint64_t)(w->step * 10 + w->rank)),
                              (uint64_t)i)
                      .re;
    return ht_array(data, 2, shape, HT_FLOAT64, HT_LOCAL);
}

static ht_tensor *break_backward(ht_tensor *grad, void *user)
{
    (void)grad;
    (void)user;
    ht_error_raise(HT_COMM_SELF, HT_ERR_ARGUMENT, "a hook: this one fails");
    return NULL;
}

static ht_tensor *loss_of(struct work *w, int kind)
{
    ht_tensor *x = rows(w, kind == 1 ? IN + 1 : IN, 1), *y = rows(w, kind == 3 ? OUT + 1 : OUT, 2);

    if (kind == 2)
        x = ht_reshape(x, HT_SHAPE(1));
    x = ht_forward(w->dp, x);
    if (kind == 5 && x != NULL)
        ht_tensor_register_hook(x, break_backward, NULL);
    return ht_mse_loss(x, y, HT_MEAN);
}

static ht_status make_step(struct work *w, int kind)
{
    ht_tensor *bias = ht_module_find_parameter(w->net, "2.bias");
    ht_status status;
    uint64_t hook = 0;

    ht_optimizer_zero_grad(w->optimizer);
    if (kind == 4)
        hook = ht_tensor_register_hook(bias, break_backward, NULL);
    if (w->k[FAULT_WAY] == 2) {
        ht_optim_wrapper_begin(w->wrapper, w->dp);
        status = ht_optim_wrapper_update_params(w->wrapper, loss_of(w, kind));
    } else {
        ht_tensor *loss = loss_of(w, kind);

        status = w->k[FAULT_WAY] == 0 ? ht_backward(loss) : ht_data_parallel_backward(w->dp, loss);
        if (w->k[FAULT_BETWEEN] == 3 && status == HT_SUCCESS)
            ht_clip_grad_norm_(w->parameters, 1, 2, false);
        if (status == HT_SUCCESS || w->k[FAULT_STEPS_ON])
            status = ht_optimizer_step(w->optimizer) != HT_SUCCESS ? ht_error_get(NULL) : status;
    }
    if (hook != 0)
        ht_tensor_remove_hook(bias, hook);
    return status;
}

static void step_side(struct work *w)
{
    ht_tensor *y;

    if (w->side_dp == NULL)
        return;
    ht_optimizer_zero_grad(w->side_optimizer);
    y = ht_forward(w->side_dp, rows(w, IN, 3));
    expect(w, "backward of the other model", ht_backward(ht_mean(ht_mul(y, y), HT_NONE)));
    expect(w, "step of the other model", ht_optimizer_step(w->side_optimizer));
}

static void meet(struct work *w)
{
    double value;

    if (w->k[FAULT_BETWEEN] == 2 && w->rank == 0)
        ht_tensor_item(ht_sum(ht_module_find_parameter(w->net, "2.bias"), HT_NONE), &value);
    ht_error_clear();
    if (w->k[FAULT_BETWEEN] == 1 || w->k[FAULT_BETWEEN] == 2)
        expect(w, "ht_error_agree", ht_error_agree(HT_COMM_WORLD, HT_SUCCESS, "-"));
}

static void fail_step(struct work *w)
{
    bool fails = w->rank == w->k[FAULT_RANK] % w->size;
    double before[VALUES], after[VALUES];
    int count = read_values(w, before);
    ht_status status = make_step(w, fails ? w->k[FAULT_KIND] : 0);

    if (fails && status == HT_SUCCESS)
        complain(w, "the step succeeded");
    meet(w);
    step_side(w);
    if (ht_forward(w->dp, rows(w, IN, 1)) != NULL)
        complain(w, "the next forward pass succeeded");
    ht_error_clear();
    end_wrappers(w);
    if (read_values(w, after) != count || memcmp(before, after, (size_t)count * sizeof *after) != 0)
        complain(w, "parameters were updated");
    ht_error_clear();
    begin_wrappers(w);
}

/* --- A case --- */

static int train(struct work *w, bool faulty, double values[])
{
    int count;

    w->net = model_new(w->k[FAULT_NORM], w->seed);
    w->parameters = ht_retain(ht_module_parameters(w->net));
    w->optimizer = optimizer_new(w->net);
    begin_wrappers(w);
    if (w->k[FAULT_SIDE]) {
        w->side = model_new(false, w->seed + 1);
        w->side_optimizer = optimizer_new(w->side);
        w->side_dp = wrap(w, w->side, w->side_optimizer);
    }
    for (w->step = 0; w->step <= w->k[FAULT_STEPS]; w->step++) {
        ht_scope *scope = ht_scope_open();

        if (w->step != w->k[FAULT_AT] % (w->k[FAULT_STEPS] + 1) || w->k[FAULT_KIND] == 0) {
            expect(w, "a step", make_step(w, 0));
            meet(w);
            step_side(w);
        } else if (faulty) {
            fail_step(w);
        } else {
            step_side(w);
        }
        ht_scope_close(scope);
    }
    ht_error_clear();
    count = read_values(w, values);
    end_wrappers(w);
    ht_release(w->side_dp);
    ht_release(w->side_optimizer);
    ht_release(w->side);
    ht_release(w->parameters);
    ht_release(w->optimizer);
    ht_release(w->net);
    return count;
}

static bool agree(char *failure, size_t room)
{
    struct {
        int failed, rank;
    } mine = {failure[0] != '\0', ht_comm_rank(HT_COMM_WORLD)}, first;

    MPI_Allreduce(&mine, &first, 1, MPI_2INT, MPI_MAXLOC, MPI_COMM_WORLD);
    if (first.failed)
        MPI_Bcast(failure, (int)room, MPI_CHAR, first.rank, MPI_COMM_WORLD);
    return !first.failed;
}

static bool run_case(const int k[], uint64_t seed, char *failure, size_t room)
{
    double with[VALUES], without[VALUES];
    int64_t objects = objects_alive();
    ht_scope *scope = ht_scope_open();

    failure[0] = '\0';
    for (int faulty = 0; faulty < 2; faulty++) {
        struct work w = {.k = k,
                         .seed = seed,
                         .rank = ht_comm_rank(HT_COMM_WORLD),
                         .size = ht_comm_size(HT_COMM_WORLD),
                         .failure = failure,
                         .room = room};
        int count = train(&w, faulty, faulty ? with : without);

        if (faulty && failure[0] == '\0' &&
            memcmp(with, without, (size_t)count * sizeof *with) != 0)
            complain(&w, "parameters differ from those of a run without the step that failed");
        if (!agree(failure, room))
            break;
    }
    ht_scope_close(scope);
    ht_error_clear();
    if (failure[0] == '\0' && objects_alive() != objects)
        snprintf(failure, room, "%lld objects are left", (long long)(objects_alive() - objects));
    return agree(failure, room);
}

static void print_case(const int k[])
{
    for (int i = 0; i < FAULT_COUNT; i++) {
        if (k[i] != 0)
            fprintf(stderr, "  %s %d", knobs[i].name, k[i]);
    }
    fputc('\n', stderr);
}

static void shrink(int k[], uint64_t seed, char *failure, size_t room)
{
    static char other[1024];

    for (int i = 0; i < FAULT_COUNT; i++) {
        int kept = k[i];

        for (k[i] = 0; k[i] < kept; k[i]++) {
            if (run_case(k, seed, other, sizeof other) || !same_failure(other, failure))
                continue;
            snprintf(failure, room, "%s", other);
            break;
        }
    }
}

bool family_faults(uint64_t seed, bool trace)
{
    static char failure[1024];
    struct random random = {hash_of(seed, 4242)};
    int rank = ht_comm_rank(HT_COMM_WORLD), k[FAULT_COUNT];

    for (int i = 0; i < FAULT_COUNT; i++)
        k[i] = (int)random_below(&random, knobs[i].count);
    if (trace && rank == 0)
        print_case(k);
    if (run_case(k, seed, failure, sizeof failure))
        return true;
    shrink(k, seed, failure, sizeof failure);
    if (rank == 0) {
        fprintf(stderr, "fuzz: faults, seed %llu, %d ranks: %s\n", (unsigned long long)seed,
                ht_comm_size(HT_COMM_WORLD), failure);
        print_case(k);
    }
    return false;
}
