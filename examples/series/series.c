/* SPDX-License-Identifier: MIT
 *
 * An LSTM that predicts the next number of a series, on one rank or on many:
 *     mpirun -n 4 series                   (the equation of Mackey and Glass, which is chaotic)
 *     mpirun -n 4 series --data FILE.csv   (a number a line)
 * bench/peers/series.py is the same program in PyTorch. */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ht.h"

enum { COUNT = 3000, WINDOW = 32, HIDDEN = 32, OUTPUT_ROWS = 16 };

/* The options. Numbers come first, whole ones before others. */
enum { EPOCHS, BATCH, SEED, WHOLE, LR = WHOLE, NUMBERS };
enum { DATA = NUMBERS, LOAD, SAVE, OUTPUTS, PLAIN, BLOCKING, DEVICE, OPTIONS };

static const char *values[OPTIONS] = {
    [EPOCHS] = "20", [BATCH] = "32", [LR] = "0.01", [SEED] = "1", [DEVICE] = "cpu"};

static int64_t number(int option)
{
    return strtoll(values[option], NULL, 10);
}

/* Whether an option is a number, at least 0, and whole where only that makes sense. */
static bool is_number(int option)
{
    const char *text = values[option];
    char *end;
    const bool is_right = option < WHOLE ? strtoll(text, &end, 10) >= 0 : strtod(text, &end) >= 0;

    return is_right && end != text && *end == '\0';
}

/* ---- The series ---- */

/* dx/dt = 0.2 x(t - 17) / (1 + x(t - 17)^10) - 0.1 x(t), by steps of 0.1; every 6 units of time are
 * a number. */
static ht_tensor *mackey_glass(void)
{
    enum { DELAY = 170, EVERY = 60, FIRST = 100 };
    static double past[DELAY], series[COUNT];
    double x = 1.2;

    for (int i = 0; i < DELAY; i++)
        past[i] = x;
    for (int i = 0; i < (FIRST + COUNT) * EVERY; i++) {
        double *late = &past[i % DELAY], square = *late * *late, fourth = square * square;
        double next = x + 0.1 * (0.2 * *late / (1 + fourth * fourth * square) - 0.1 * x);

        *late = x;
        x = next;
        if (i % EVERY == 0 && i >= FIRST * EVERY)
            series[i / EVERY - FIRST] = x;
    }
    return ht_array(series, HT_SHAPE(COUNT), HT_FLOAT64, HT_LOCAL);
}

/* ---- The network ---- */

typedef struct net {
    ht_module *lstm, *head;
} net;

/* x: (N, WINDOW, 1). The output (N) is the number after the last one. */
static ht_tensor *net_forward(ht_module *self, ht_tensor *x)
{
    net *n = ht_module_data(self);
    ht_tensor *states = ht_forward(n->lstm, x); /* (N, WINDOW, HIDDEN) */

    return ht_squeeze(ht_forward(n->head, ht_getitem(states, HT_KEY(HT_ALL, -1))), 1);
}

static const ht_module_type net_type = {.name = "Series", .forward = net_forward};

static ht_module *new_net(void)
{
    ht_recurrent_options o = ht_recurrent_options_default();
    ht_module *self = ht_module_new(sizeof(net), &net_type);
    net *n = ht_module_data(self);

    o.batch_first = true;
    ht_module_add(self, "lstm", &n->lstm, ht_nn_lstm_ext(1, HIDDEN, &o));
    ht_module_add(self, "head", &n->head, ht_nn_linear(HIDDEN, 1));
    return self;
}

/* ---- Training ---- */

struct run {
    ht_tensor *series;      /* with mean 0 and standard deviation 1 in the part to learn from */
    int64_t rows, count;    /* windows to learn from, and all windows */
    double scale;           /* the standard deviation before */
    ht_module *net, *model; /* model: the data-parallel wrapper of net */
    ht_optimizer *adam;
    ht_scheduler *schedule;
};

/* series[starts + (0 ... WINDOW)], a row for each start. */
static ht_tensor *windows(struct run *run, ht_tensor *starts)
{
    ht_tensor *places = ht_arange(0, WINDOW + 1, 1, HT_INT64, HT_LOCAL);

    return ht_getitem(run->series, HT_KEY(ht_add(ht_expand_dims(starts, 1), places)));
}

static ht_tensor *predict(ht_module *model, ht_tensor *rows)
{
    return ht_forward(model, ht_expand_dims(ht_narrow(rows, 1, 0, WINDOW), 2));
}

static ht_tensor *column(ht_tensor *rows, int at)
{
    return ht_getitem(rows, HT_KEY(HT_ALL, at));
}

static double train_step(struct run *run, ht_tensor *rows)
{
    ht_tensor *loss;

    ht_optimizer_zero_grad(run->adam);
    loss = ht_mse_loss(predict(run->model, rows), column(rows, WINDOW), HT_MEAN);
    ht_backward(loss);
    ht_optimizer_step(run->adam);
    ht_scheduler_step(run->schedule);
    return ht_item(loss);
}

/* An epoch. Each rank has its part of every batch. Returns the mean of the loss over all ranks. */
static double train(struct run *run)
{
    ht_scope *epoch = ht_scope_open();
    ht_metric *mean = ht_metric_mean(HT_COMM_WORLD);
    ht_tensor *order = values[PLAIN] != NULL
                           ? ht_arange(0, (double)run->rows, 1, HT_INT64, HT_LOCAL)
                           : ht_randperm(run->rows, HT_INT64, HT_LOCAL); /* the same on all ranks */
    int64_t start, count;
    double result;

    ht_comm_chunk(HT_COMM_WORLD, number(BATCH), ht_comm_rank(HT_COMM_WORLD), &start, &count);
    ht_module_train(run->model);
    for (int64_t at = 0; at + number(BATCH) <= run->rows; at += number(BATCH)) {
        ht_scope *step = ht_scope_open();
        ht_tensor *starts = ht_narrow(order, 0, at + start, at + start + count);

        ht_metric_add(mean, train_step(run, windows(run, starts)), (double)count);
        ht_scope_close(step);
    }
    result = ht_metric_result(mean);
    ht_release(mean);
    ht_scope_close(epoch);
    return result;
}

/* The root of the mean square error of x over the rows of all ranks, in units of the series. */
static double error_of(struct run *run, ht_tensor *x, ht_tensor *target)
{
    double rows = (double)ht_tensor_shape(x)[0], result;
    ht_metric *mean = ht_metric_mean(HT_COMM_WORLD);

    if (rows > 0)
        ht_metric_add(mean, ht_item(ht_mse_loss(x, target, HT_MEAN)), rows);
    result = run->scale * sqrt(ht_metric_result(mean));
    ht_release(mean);
    return result;
}

/* Both errors after the part to learn from: of the network, and of the naive forecast, which is the
 * last number. */
static double test(struct run *run, double *naive)
{
    ht_scope *scope = ht_scope_open();
    bool grad = ht_set_grad_enabled(false);
    ht_tensor *starts = ht_arange((double)run->rows, (double)run->count, 1, HT_INT64, 0);
    ht_tensor *rows = windows(run, ht_tensor_local(starts)), *target = column(rows, WINDOW);
    double result;

    ht_module_eval(run->model);
    result = error_of(run, predict(run->model, rows), target);
    *naive = error_of(run, column(rows, WINDOW - 1), target);
    ht_set_grad_enabled(grad);
    ht_scope_close(scope);
    return result;
}

/* Some rows and the outputs for them, for comparisons with PyTorch. */
static void write_outputs(struct run *run)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *starts = ht_arange(0, OUTPUT_ROWS, 1, HT_INT64, HT_LOCAL);
    ht_tensor *rows = windows(run, starts);
    ht_value *map = ht_value_map();

    ht_module_eval(run->model);
    ht_value_set(map, "inputs", ht_value_tensor(rows));
    ht_value_set(map, "outputs", ht_value_tensor(ht_detach(predict(run->net, rows))));
    ht_safetensors_save(map, values[OUTPUTS], HT_COMM_WORLD);
    ht_scope_close(scope);
}

/* The first four fifths of the series are the part to learn from. Returns false if the rest has no
 * complete batch. */
static bool open_series(struct run *run)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = values[DATA] == NULL
                       ? mackey_glass()
                       : ht_flatten(ht_load_csv(values[DATA], 0, ',', HT_FLOAT64, HT_LOCAL), 0);
    ht_tensor *first;
    double mean;

    run->count = ht_tensor_shape(x)[0] - WINDOW;
    run->rows = run->count * 4 / 5;
    if (run->count < 5 * OUTPUT_ROWS || run->count - run->rows < number(BATCH)) {
        ht_scope_close(scope);
        return false;
    }
    first = ht_narrow(x, 0, 0, run->rows + WINDOW);
    mean = ht_item(ht_mean(first, HT_NONE));
    run->scale = ht_item(ht_std(first, HT_NONE));
    x = ht_div_scalar(ht_sub_scalar(x, mean), run->scale);
    run->series = ht_retain(ht_astype(x, HT_FLOAT32));
    ht_scope_close(scope);
    return true;
}

static void open_run(struct run *run)
{
    ht_one_cycle_lr_options cycle = ht_one_cycle_lr_options_default();
    int64_t steps = number(EPOCHS) * (run->rows / number(BATCH));
    double lr = atof(values[LR]);

    ht_nn_seed((uint64_t)number(SEED));     /* of initial values */
    ht_random_seed((uint64_t)number(SEED)); /* of the order of rows */
    run->net = new_net();
    if (values[LOAD] != NULL)
        ht_module_load_safetensors(run->net, values[LOAD], HT_COMM_WORLD);
    run->adam = ht_optim_adam(ht_module_parameters(run->net), lr, NULL);
    run->model = ht_nn_data_parallel(run->net, HT_COMM_WORLD, run->adam, values[BLOCKING] != NULL);
    cycle.cycle_momentum = false;
    run->schedule = ht_optim_one_cycle_lr(run->adam, lr, steps > 0 ? steps : 1, &cycle);
}

static void close_run(struct run *run)
{
    ht_release(run->schedule);
    ht_release(run->model);
    ht_release(run->adam);
    ht_release(run->net);
    ht_release(run->series);
}

/* ---- The command line ---- */

static const char help[] =
    "usage: [mpirun -n RANKS] series [OPTION]...\n"
    "Trains an LSTM to predict the next number of a series, data-parallel over the ranks.\n"
    "  --data FILE     CSV with a number a line; without it, the equation of Mackey and Glass\n"
    "  --epochs N      (20)    --batch N  rows of a step on all ranks, one or more each (32)\n"
    "  --lr X          highest learning rate of the cycle (0.01)\n"
    "  --seed N        (1)     --blocking  average and update within each step\n"
    "  --plain         rows in the order of the series\n"
    "  --device NAME   compute on it: cuda, for example (cpu)\n"
    "  --load FILE     start from a safetensors file; --save FILE writes one at the end\n"
    "  --outputs FILE  write some rows and the outputs for them\n";

static bool parse(int argc, char **argv)
{
    static const struct option options[] = {
        {"epochs", 1, NULL, EPOCHS},     {"batch", 1, NULL, BATCH},     {"lr", 1, NULL, LR},
        {"seed", 1, NULL, SEED},         {"data", 1, NULL, DATA},       {"load", 1, NULL, LOAD},
        {"save", 1, NULL, SAVE},         {"outputs", 1, NULL, OUTPUTS}, {"plain", 0, NULL, PLAIN},
        {"blocking", 0, NULL, BLOCKING}, {"device", 1, NULL, DEVICE},   {NULL, 0, NULL, 0}};
    int option;

    opterr = ht_comm_rank(HT_COMM_WORLD) == 0;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == '?')
            return false;
        values[option] = optarg != NULL ? optarg : "yes";
        if (option < NUMBERS && !is_number(option))
            return false;
    }
    return optind == argc && number(BATCH) >= ht_comm_size(HT_COMM_WORLD);
}

int main(int argc, char **argv)
{
    struct run run;
    double error, naive;
    bool speaks;

    if (ht_init(NULL, NULL) != HT_SUCCESS)
        return 1;
    speaks = ht_comm_rank(HT_COMM_WORLD) == 0;
    setvbuf(stdout, NULL, _IOLBF, 0); /* each line shows at once, in a file too */
    if (!parse(argc, argv)) {
        if (speaks)
            fputs(help, stderr);
        ht_finalize();
        return 2;
    }
    ht_use_device(ht_device_get(values[DEVICE]));
    if (!open_series(&run)) {
        if (speaks)
            fputs("series: the series is too short for the batch\n", stderr);
        ht_finalize();
        return 1;
    }
    open_run(&run);
    for (int64_t epoch = 1; epoch <= number(EPOCHS); epoch++) {
        double loss = train(&run);

        error = test(&run, &naive);
        if (speaks)
            printf("epoch %d: loss %.6f, error %.6f, of the naive forecast %.6f\n", (int)epoch,
                   loss, error, naive);
    }
    if (values[SAVE] != NULL)
        ht_module_save_safetensors(run.net, values[SAVE], HT_COMM_WORLD);
    if (values[OUTPUTS] != NULL)
        write_outputs(&run);
    close_run(&run);
    return ht_finalize();
}
