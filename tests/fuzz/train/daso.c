/* SPDX-License-Identifier: MIT
 *
 * DASO with random options on nodes made of these ranks. On the device in use it computes the
 * host's numbers bit for bit, and so does a run that was saved at some step and resumed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/fuzz.h"

#define DASO_LIST(X)                                                                      \
    X(EPOCHS, 5)    /* + 1 */                                                             \
    X(BATCHES, 6)   /* + 1 */                                                             \
    X(WARMUP, 3)    /* of the epochs, */                                                  \
    X(COOLDOWN, 3)  /* and of those that are left */                                      \
    X(NODE, 3)      /* ranks of a node - 1 */                                             \
    X(OPTIMIZER, 3) /* SGD with momentum, Adam, AdamW */                                  \
    X(SKIPS, 4)     /* max_global_skips is 1, 2, 4, 8 */                                  \
    X(WIRE, 3)      /* bfloat16, float16, float32 */                                      \
    X(LATER, 2)     /* downcast_asynchronous */                                           \
    X(MOMENTUM, 2)  /* exchange_momentum */                                               \
    X(OUTER, 2)     /* an outer learning rate */                                          \
    X(DOUBLE, 2)    /* float64 */                                                         \
    X(NORM, 2)      /* batch norm, which has buffers */                                   \
    X(EMPTY, 2)     /* some ranks have no rows here and there */                          \
    X(FLAT, 2)      /* losses that do not fall: a plateau */                              \
    X(READ, 3)      /* 1: every parameter after each batch, 2: one parameter on rank 0 */ \
    X(SAVED, 12)    /* after this number of batches; 0: not at all */

enum daso_knob {
#define DASO_ID(name, count) DASO_##name,
    DASO_LIST(DASO_ID)
#undef DASO_ID
        DASO_COUNT
};
static const struct {
    const char *name;
    int count;
} knobs[] = {
#define DASO_ROW(name, count) {#name, count},
    DASO_LIST(DASO_ROW)
#undef DASO_ROW
};

enum { IN = 3, MIDDLE = 4, OUT = 2, MOST_NOTES = 4000 };

struct notes {
    int count;
    double value[MOST_NOTES];
};
static struct notes here, there, resumed;

struct job {
    const int *k;
    uint64_t seed;
    ht_comm *comm;
    ht_module *net, *model;
    ht_optimizer *optimizer;
    ht_daso *daso;
    struct notes *notes;
    char *failure;
    size_t room;
};

static bool went(struct job *job, const char *what, ht_status status)
{
    const char *message;

    if (status != HT_SUCCESS && job->failure[0] == '\0') {
        ht_error_get(&message);
        snprintf(job->failure, job->room, "%s: %s", what, message);
    }
    ht_error_clear();
    return job->failure[0] == '\0';
}

static void note(struct job *job, double value)
{
    if (job->notes->count < MOST_NOTES)
        job->notes->value[job->notes->count++] = value;
}

static void note_values(const char *name, ht_tensor *x, void *user)
{
    const double *data = values_of(ht_astype(ht_detach(x), HT_FLOAT64));

    (void)name;
    for (int64_t i = 0; data != NULL && i < ht_tensor_size(x); i++)
        note(user, data[i]);
}

/* Counts of batches are left out: each rank has its own, and all have rank 0's when they resume. */
static void note_buffer(const char *name, ht_tensor *x, void *user)
{
    if (ht_dtype_is_floating(ht_tensor_dtype(x)))
        note_values(name, x, user);
}

/* --- The model --- */

static void set_parameter(const char *name, ht_tensor *parameter, void *user)
{
    uint64_t seed = hash_of(*(uint64_t *)user, strlen(name));
    double data[IN * MIDDLE];

    for (int64_t i = 0; i < ht_tensor_size(parameter); i++)
        data[i] = data_number(DATA_NORMAL, HT_FLOAT64, seed, (uint64_t)i).re / 2;
    set_values(parameter, data);
}

static ht_optimizer *optimizer_new(const struct job *job)
{
    ht_sgd_options sgd = ht_sgd_options_default();
    ht_value *parameters = ht_module_parameters(job->net);

    sgd.momentum = 0.5;
    if (job->k[DASO_OPTIMIZER] == 0)
        return ht_optim_sgd(parameters, 0.05, &sgd);
    return job->k[DASO_OPTIMIZER] == 1 ? ht_optim_adam(parameters, 0.02, NULL)
                                       : ht_optim_adamw(parameters, 0.02, NULL);
}

static ht_daso_options options_of(const int k[])
{
    static const ht_dtype wires[] = {HT_BFLOAT16, HT_FLOAT16, HT_FLOAT32};
    ht_daso_options options = ht_daso_options_default();
    int epochs = k[DASO_EPOCHS] + 1;

    options.warmup_epochs = k[DASO_WARMUP] < epochs ? k[DASO_WARMUP] : epochs;
    epochs -= (int)options.warmup_epochs;
    options.cooldown_epochs = k[DASO_COOLDOWN] < epochs ? k[DASO_COOLDOWN] : epochs;
    options.max_global_skips = 1 << k[DASO_SKIPS];
    options.downcast_type = wires[k[DASO_WIRE]];
    options.downcast_asynchronous = k[DASO_LATER];
    options.exchange_momentum = k[DASO_MOMENTUM] && options.downcast_type != HT_FLOAT16;
    options.outer_lr = k[DASO_OUTER] ? 0.7 : 0;
    return options;
}

static void begin(struct job *job, uint64_t seed)
{
    ht_daso_options options = options_of(job->k);
    ht_module *layers[] = {ht_nn_linear(IN, MIDDLE),
                           job->k[DASO_NORM] ? ht_nn_batch_norm1d(MIDDLE, NULL) : ht_nn_relu(),
                           ht_nn_linear(MIDDLE, OUT)};
    char text[16];

    snprintf(text, sizeof text, "%d", job->k[DASO_NODE] + 1);
    setenv("HT_RANKS_PER_NODE", text, 1);
    job->comm = ht_comm_split(HT_COMM_WORLD, 0, ht_comm_rank(HT_COMM_WORLD));
    ht_comm_set_errhandler(job->comm, HT_ERRORS_RETURN);
    job->net = ht_nn_sequential(3, layers);
    ht_module_to_dtype(job->net, HT_FLOAT64);
    ht_module_named_parameters(job->net, set_parameter, &seed);
    ht_module_to_dtype(job->net, job->k[DASO_DOUBLE] ? HT_FLOAT64 : HT_FLOAT32);
    job->optimizer = optimizer_new(job);
    job->daso = ht_optim_daso(job->optimizer, job->k[DASO_EPOCHS] + 1, job->comm, &options);
    went(job, "ht_optim_daso", job->daso != NULL ? HT_SUCCESS : ht_error_get(NULL));
    job->model = ht_nn_data_parallel_multi_gpu(job->net, job->daso, job->comm);
    went(job, "the wrapper", job->model != NULL ? HT_SUCCESS : ht_error_get(NULL));
    went(job, "ht_daso_set_last_batch", ht_daso_set_last_batch(job->daso, job->k[DASO_BATCHES]));
}

static void end(struct job *job)
{
    ht_release(job->model);
    ht_release(job->daso);
    ht_release(job->optimizer);
    ht_release(job->net);
    ht_release(job->comm);
    unsetenv("HT_RANKS_PER_NODE");
}

/* --- A batch --- */

static ht_tensor *rows(const struct job *job, int batch, int64_t count, int64_t width)
{
    uint64_t place = hash_of((uint64_t)batch, (uint64_t)ht_comm_rank(HT_COMM_WORLD));
    int64_t shape[] = {count, width};
    double data[8 * 8];

    for (int64_t i = 0; i < count * width; i++)
        data[i] = data_number(DATA_NORMAL, HT_FLOAT64, hash_of(job->seed, place),
                              (uint64_t)(i + 100 * width))
                      .re;
    return ht_astype(ht_array(data, 2, shape, HT_FLOAT64, HT_LOCAL),
                     job->k[DASO_DOUBLE] ? HT_FLOAT64 : HT_FLOAT32);
}

static void read_somehow(struct job *job)
{
    double value = 0;

    if (job->k[DASO_READ] == 1) {
        ht_module_named_parameters(job->net, note_values, job);
        ht_module_named_buffers(job->net, note_buffer, job);
    }
    if (job->k[DASO_READ] == 2 && ht_comm_rank(HT_COMM_WORLD) == 0) {
        ht_tensor_item(ht_sum(ht_module_find_parameter(job->net, "2.bias"), HT_NONE), &value);
        note(job, value);
    }
}

static void train_batch(struct job *job, int batch)
{
    ht_scope *scope = ht_scope_open();
    uint64_t h = hash_of(job->seed + 3, (uint64_t)(batch * 10 + ht_comm_rank(HT_COMM_WORLD)));
    int64_t count = job->k[DASO_EMPTY] && h % 3 == 0 ? 0 : 2 + (int64_t)(h / 3 % 3);
    ht_tensor *loss = NULL;
    ht_daso_report report;

    if (count > 0)
        loss = ht_mse_loss(ht_forward(job->model, rows(job, batch, count, IN)),
                           rows(job, batch, count, OUT), HT_MEAN);
    went(job, "ht_data_parallel_backward", ht_data_parallel_backward(job->model, loss));
    went(job, "ht_daso_step", ht_daso_step(job->daso));
    read_somehow(job);
    went(job, "ht_daso_zero_grad", ht_daso_zero_grad(job->daso));
    report = ht_daso_get_report(job->daso);
    note(job, report.phase);
    note(job, (double)report.global_skip);
    note(job, report.sent);
    note(job, (double)report.staleness);
    ht_scope_close(scope);
}

static void end_epoch(struct job *job, int epoch)
{
    double loss = job->k[DASO_FLAT] ? 1 : 1.0 / (epoch + 1);

    went(job, "ht_daso_epoch_loss_logic",
         ht_daso_epoch_loss_logic(job->daso, loss + ht_comm_rank(HT_COMM_WORLD), false));
}

/* --- Saving --- */

static void save(struct job *job, const char *path)
{
    ht_value *state = ht_value_map();

    ht_value_set(state, "daso", ht_daso_state_dict(job->daso));
    ht_value_set(state, "model", ht_module_state_dict(job->net));
    ht_value_set(state, "optimizer", ht_optimizer_state_dict(job->optimizer));
    went(job, "ht_checkpoint_save", ht_checkpoint_save(state, path, job->comm, NULL));
}

/* Makes all objects again, with other values, and loads those of the file. */
static void resume(struct job *job, const char *path)
{
    ht_value *state;

    end(job);
    begin(job, job->seed + 4711);
    state = ht_checkpoint_load(path, job->comm, NULL);
    if (!went(job, "ht_checkpoint_load", state != NULL ? HT_SUCCESS : ht_error_get(NULL)))
        return;
    went(job, "model", ht_module_load_state_dict(job->net, ht_value_get(state, "model")));
    went(job, "optimizer",
         ht_optimizer_load_state_dict(job->optimizer, ht_value_get(state, "optimizer")));
    went(job, "ht_daso_load_state_dict",
         ht_daso_load_state_dict(job->daso, ht_value_get(state, "daso")));
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

static void train(struct job *job, bool resumes)
{
    const int batches = job->k[DASO_BATCHES] + 1, all = batches * (job->k[DASO_EPOCHS] + 1);
    ht_scope *scope = ht_scope_open();
    char path[512];

    snprintf(path, sizeof path, "%s/daso.h5", fuzz_folder);
    job->notes->count = 0;
    begin(job, job->seed);
    for (int batch = 0; batch < all && agree(job->failure, job->room); batch++) {
        if (batch > 0 && batch == job->k[DASO_SAVED]) {
            save(job, path);
            if (resumes && agree(job->failure, job->room))
                resume(job, path);
        }
        train_batch(job, batch);
        if (batch % batches == batches - 1)
            end_epoch(job, batch / batches);
    }
    ht_module_named_parameters(job->net, note_values, job);
    ht_module_named_buffers(job->net, note_buffer, job);
    end(job);
    ht_scope_close(scope);
    ht_barrier(HT_COMM_WORLD);
    if (ht_comm_rank(HT_COMM_WORLD) == 0)
        unlink(path);
}

/* --- A case --- */

enum { MOST_CASES = 400 }; /* each makes communicators, which last as long as MPI does */

static void compare(const char *what, const struct notes *a, const struct notes *b, char *failure,
                    size_t room)
{
    if (failure[0] != '\0')
        return;
    if (a->count != b->count)
        snprintf(failure, room, "%s: %d numbers and %d", what, a->count, b->count);
    for (int i = 0; i < a->count && i < b->count && failure[0] == '\0'; i++) {
        if (memcmp(&a->value[i], &b->value[i], sizeof a->value[i]) != 0)
            snprintf(failure, room, "%s: number %d of %d is %.17g and %.17g on rank %d", what, i,
                     a->count, a->value[i], b->value[i], ht_comm_rank(HT_COMM_WORLD));
    }
}

/* But communicators, which wrappers keep for the next ones on them. */
static int64_t alive(void)
{
    return objects_alive() - ht_live_objects("comm");
}

static bool run_case(const int k[], uint64_t seed, char *failure, size_t room)
{
    struct job job = {.k = k, .seed = seed, .failure = failure, .room = room};
    ht_device *device = ht_get_device();
    int64_t objects = alive();

    failure[0] = '\0';
    job.notes = &there;
    train(&job, false);
    if (!agree(failure, room))
        return false;
    job.notes = &here;
    ht_use_device(ht_device_get("cpu"));
    train(&job, false);
    ht_use_device(device);
    compare("on the device and on the host", &there, &here, failure, room);
    if (agree(failure, room) && k[DASO_SAVED] > 0) {
        job.notes = &resumed;
        train(&job, true);
        compare("resumed and not", &resumed, &there, failure, room);
    }
    if (failure[0] == '\0' && alive() != objects)
        snprintf(failure, room, "%lld objects are left", (long long)(alive() - objects));
    return agree(failure, room);
}

static void print_case(const int k[])
{
    for (int i = 0; i < DASO_COUNT; i++) {
        if (k[i] != 0)
            fprintf(stderr, "  %s %d", knobs[i].name, k[i]);
    }
    fputc('\n', stderr);
}

static void shrink(int k[], uint64_t seed, char *failure, size_t room)
{
    static char other[1024];

    for (int i = 0; i < DASO_COUNT; i++) {
        int kept = k[i];

        for (k[i] = 0; k[i] < kept; k[i]++) {
            if (run_case(k, seed, other, sizeof other) || !same_failure(other, failure))
                continue;
            snprintf(failure, room, "%s", other);
            break;
        }
    }
}

bool family_daso(uint64_t seed, bool trace)
{
    static char failure[1024];
    static int count;
    struct random random = {hash_of(seed, 5151)};
    int rank = ht_comm_rank(HT_COMM_WORLD), k[DASO_COUNT];

    if (++count > MOST_CASES)
        return true;
    for (int i = 0; i < DASO_COUNT; i++)
        k[i] = (int)random_below(&random, knobs[i].count);
    if (trace && rank == 0)
        print_case(k);
    if (run_case(k, seed, failure, sizeof failure))
        return true;
    shrink(k, seed, failure, sizeof failure);
    if (rank == 0) {
        fprintf(stderr, "fuzz: daso, seed %llu, %d ranks: %s\n", (unsigned long long)seed,
                ht_comm_size(HT_COMM_WORLD), failure);
        print_case(k);
    }
    return false;
}
