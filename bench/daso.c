/* SPDX-License-Identifier: MIT
 *
 * The cost of averaging between nodes, for each method: whole epochs of an MLP 784-2048-1280-10
 * (4.2 million parameters) on MNIST-format images. One way in each process; bench/daso.sh runs all
 * over simulated hosts. Prints a line for each epoch: way, epoch, phase, seconds, MB that a rank
 * sent to other nodes, training loss, test accuracy.
 * usage: mpirun -n RANKS bench/daso [-e EPOCHS] [-s STEPS] [-w WARMUP] [-c COOLDOWN] [-i INTERFACE]
 *                                   [-r SEED] WAY FILE.h5
 *   WAY        blocking, non-blocking, bf16 (non-blocking), hierarchical or daso
 *   STEPS      of an epoch; by default all
 *   INTERFACE  whose bytes are counted; without it those of the exchange
 *   WARMUP, COOLDOWN   epochs of DASO (1, 1) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/exchange/exchange.h"
#include "ht.h"

enum { BATCH = 64, PERIOD = 4 };

typedef struct training {
    const char *way, *interface; /* NULL: none */
    int64_t epochs, steps, warmup, cooldown;
    uint64_t seed;
    int local_size;
    ht_dataset *sets[2];                /* owned; to train with, to test with */
    ht_dataloader *train, *test;        /* owned */
    ht_module *net, *model;             /* owned; the model wraps the net */
    ht_comm *node;                      /* owned; the ranks of this node */
    ht_optimizer *optimizer;            /* owned */
    ht_scheduler *scheduler;            /* owned */
    ht_hierarchical_averager *averager; /* owned; NULL: another way */
    ht_daso *daso;                      /* likewise */
} training;

static bool is_way(const training *t, const char *way)
{
    return strcmp(t->way, way) == 0;
}

static ht_dataloader *open_loader(ht_dataset *set, int64_t batch, bool shuffle, uint64_t seed)
{
    static ht_normalize normalize = {
        .scale = 255, .mean = 0.1307, .std = 0.3081, .dtype = HT_FLOAT32};
    ht_dataloader_options how = ht_dataloader_options_default();

    how.batch_size = batch;
    how.shuffle = shuffle;
    how.seed = seed;
    how.transform = ht_transform_normalize;
    how.user = &normalize;
    return ht_dataloader_new(set, &how);
}

static void open_images(training *t, const char *file)
{
    static const char *const names[2][2] = {{"train/images", "train/labels"},
                                            {"test/images", "test/labels"}};

    for (int i = 0; i < 2; i++)
        t->sets[i] = ht_dataset_hdf5(file, 2, names[i], HT_COMM_WORLD);
    t->train = open_loader(t->sets[0], BATCH, true, t->seed);
    if (t->steps == 0 || t->steps > ht_dataloader_batches(t->train))
        t->steps = ht_dataloader_batches(t->train);
    t->test = open_loader(t->sets[1], 1000, false, t->seed);
}

static ht_module *new_net(uint64_t seed)
{
    ht_module *layers[] = {
        ht_nn_flatten(1), ht_nn_linear(784, 2048), ht_nn_relu(),        ht_nn_linear(2048, 1280),
        ht_nn_relu(),     ht_nn_linear(1280, 10),  ht_nn_log_softmax(1)};

    ht_nn_seed(seed);
    return ht_nn_sequential((int)(sizeof layers / sizeof *layers), layers);
}

/* Gradients inside the nodes after each batch, parameters of all now and then. */
static void wrap_hierarchical(training *t)
{
    int size = ht_comm_size(HT_COMM_WORLD);

    t->model = ht_nn_data_parallel(t->net, t->node, t->optimizer, true);
    t->averager = ht_hierarchical_averager_new(HT_COMM_WORLD, 1, &(int64_t){PERIOD}, &size, 0);
}

static void wrap_daso(training *t)
{
    ht_daso_options how = ht_daso_options_default();

    how.warmup_epochs = t->warmup;
    how.cooldown_epochs = t->cooldown;
    how.scheduler = t->scheduler;
    t->daso = ht_optim_daso(t->optimizer, t->epochs, HT_COMM_WORLD, &how);
    t->model = ht_nn_data_parallel_multi_gpu(t->net, t->daso, HT_COMM_WORLD);
    ht_daso_set_last_batch(t->daso, t->steps - 1);
}

static void wrap(training *t)
{
    int node;

    ht_comm_topology(HT_COMM_WORLD, NULL, &node, NULL, &t->local_size);
    t->node = ht_comm_split(HT_COMM_WORLD, node, ht_comm_rank(HT_COMM_WORLD));
    t->net = new_net(t->seed);
    t->optimizer = ht_optim_adadelta(ht_module_parameters(t->net), 1, NULL);
    t->scheduler = ht_optim_step_lr(t->optimizer, 1, 0.7);
    if (is_way(t, "hierarchical"))
        wrap_hierarchical(t);
    else if (is_way(t, "daso"))
        wrap_daso(t);
    else
        t->model = ht_nn_data_parallel(t->net, HT_COMM_WORLD, t->optimizer, is_way(t, "blocking"));
    if (is_way(t, "bf16"))
        ht_data_parallel_register_comm_hook(t->model, ht_comm_hook_bf16, NULL);
}

static double step(training *t, const ht_batch *batch)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *loss;
    double value;

    ht_optimizer_zero_grad(t->optimizer);
    loss = ht_nll_loss(ht_forward(t->model, batch->data), batch->target, HT_MEAN);
    ht_backward(loss);
    if (t->daso != NULL)
        ht_daso_step(t->daso);
    else
        ht_optimizer_step(t->optimizer);
    if (t->averager != NULL)
        ht_hierarchical_averager_average_parameters(t->averager, ht_module_parameters(t->net));
    value = ht_item(loss);
    ht_scope_close(scope);
    return value;
}

static void sum(double values[], int64_t count, ht_reduce_op op)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = ht_array(values, 1, &count, HT_FLOAT64, HT_LOCAL);

    ht_allreduce(HT_COMM_WORLD, x, x, op);
    memcpy(values, ht_tensor_data(x), (size_t)count * sizeof *values);
    ht_scope_close(scope);
}

/* That this rank has sent so far; with an interface, its part of what its host has. */
static double bytes_sent(const training *t)
{
    char path[160];
    double bytes = 0;
    FILE *file;

    if (t->interface == NULL)
        return (double)ht__exchange_all_bytes_sent();
    snprintf(path, sizeof path, "/sys/class/net/%s/statistics/tx_bytes", t->interface);
    file = fopen(path, "r");
    if (file == NULL || fscanf(file, "%lf", &bytes) != 1) {
        fprintf(stderr, "daso: cannot read %s\n", path);
        exit(1);
    }
    fclose(file);
    return bytes / t->local_size;
}

static double accuracy(training *t)
{
    double sums[2] = {0}; /* right answers, rows */
    bool grad = ht_set_grad_enabled(false);
    ht_batch batch;

    ht_module_eval(t->model);
    while (ht_dataloader_next(t->test, &batch)) {
        ht_scope *scope = ht_scope_open();

        if (batch.rows > 0)
            sums[0] += ht_item(
                ht_sum(ht_eq(ht_argmax(ht_forward(t->net, batch.data), 1), batch.target), HT_NONE));
        sums[1] += (double)batch.rows;
        ht_scope_close(scope);
    }
    ht_set_grad_enabled(grad);
    sum(sums, 2, HT_OP_SUM);
    return sums[0] / sums[1];
}

/* Ends with the same model on all ranks. */
static void end_epoch(training *t, double loss)
{
    ht_scope *scope = ht_scope_open();

    if (t->averager != NULL)
        ht_average_parameters(ht_module_parameters(t->net), HT_COMM_WORLD);
    else
        ht_data_parallel_drain(t->model);
    if (t->daso != NULL)
        ht_daso_epoch_loss_logic(t->daso, loss, false);
    else
        ht_scheduler_step(t->scheduler);
    ht_scope_close(scope);
}

static void epoch(training *t, int64_t number)
{
    double sums[3] = {0}, begin, bytes, seconds; /* losses, batches, bytes */
    int64_t left = t->steps;
    const char *phase = t->daso != NULL ? ht_daso_phase_name(ht_daso_get_report(t->daso).phase)
                                        : "-";
    ht_batch batch;

    ht_dataloader_set_epoch(t->train, number);
    ht_module_train(t->model);
    ht_barrier(HT_COMM_WORLD);
    bytes = bytes_sent(t);
    begin = MPI_Wtime();
    while (left-- > 0 && ht_dataloader_next(t->train, &batch)) {
        sums[0] += step(t, &batch);
        sums[1]++;
    }
    end_epoch(t, sums[0] / sums[1]);
    ht_barrier(HT_COMM_WORLD);
    seconds = MPI_Wtime() - begin;
    sums[2] = bytes_sent(t) - bytes;
    sum(sums, 3, HT_OP_SUM);

    double right = accuracy(t);

    if (ht_comm_rank(HT_COMM_WORLD) == 0) {
        printf("%s %lld %s %.3f %.1f %.4f %.4f\n", t->way, (long long)number + 1, phase, seconds,
               1e-6 * sums[2] / ht_comm_size(HT_COMM_WORLD), sums[0] / sums[1], right);
        fflush(stdout);
    }
}

static void end(training *t)
{
    ht_release(t->averager);
    ht_release(t->model);
    ht_release(t->daso);
    ht_release(t->scheduler);
    ht_release(t->optimizer);
    ht_release(t->net);
    ht_release(t->node);
    ht_release(t->train);
    ht_release(t->test);
    ht_release(t->sets[0]);
    ht_release(t->sets[1]);
}

static const char ways[] = " blocking non-blocking bf16 hierarchical daso ";

static bool parse(training *t, int argc, char **argv)
{
    char wanted[32];
    int option;

    while ((option = getopt(argc, argv, "e:s:w:c:i:r:")) != -1) {
        switch (option) {
        case 'e':
            t->epochs = atoll(optarg);
            break;
        case 's':
            t->steps = atoll(optarg);
            break;
        case 'w':
            t->warmup = atoll(optarg);
            break;
        case 'c':
            t->cooldown = atoll(optarg);
            break;
        case 'i':
            t->interface = optarg;
            break;
        case 'r':
            t->seed = (uint64_t)atoll(optarg);
            break;
        default:
            return false;
        }
    }
    if (argc - optind != 2)
        return false;
    t->way = argv[optind];
    snprintf(wanted, sizeof wanted, " %s ", t->way);
    return t->epochs >= 1 && t->steps >= 0 && strstr(ways, wanted) != NULL;
}

int main(int argc, char **argv)
{
    training t = {.epochs = 1, .warmup = 1, .cooldown = 1, .seed = 1};

    if (!parse(&t, argc, argv)) {
        fprintf(stderr,
                "usage: daso [-e EPOCHS] [-s STEPS] [-w WARMUP] [-c COOLDOWN] [-i INTERFACE] "
                "[-r SEED] WAY FILE.h5\nWAY:%s\n",
                ways);
        return 2;
    }
    if (ht_init(NULL, NULL) != HT_SUCCESS)
        return 1;
    open_images(&t, argv[optind + 1]);

    ht_scope *scope = ht_scope_open();

    wrap(&t);
    ht_scope_close(scope);
    for (int64_t number = 0; number < t.epochs; number++)
        epoch(&t, number);
    end(&t);
    return ht_finalize() != 0;
}
