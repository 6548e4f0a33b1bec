/* SPDX-License-Identifier: MIT
 *
 * A Transformer that learns to continue a text, character by character, on one rank or on many:
 *     mpirun -n 4 chars --text /usr/share/common-licenses/GPL-3
 * bench/peers/chars.py is the same program in PyTorch. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "ht.h"

enum { CHARACTERS = 256, LENGTH = 128, FEATURES = 128, HEADS = 4, LAYERS = 4, OUTPUT_ROWS = 2 };

/* The options. Numbers come first, whole ones before others. */
enum { STEPS, BATCH, SEED, SAMPLE, WHOLE, LR = WHOLE, DROPOUT, NUMBERS };
enum { TEXT = NUMBERS, LOAD, SAVE, OUTPUTS, PLAIN, BLOCKING, DEVICE, OPTIONS };

static const char *values[OPTIONS] = {[STEPS] = "500",
                                      [BATCH] = "32",
                                      [LR] = "0.002",
                                      [DROPOUT] = "0.1",
                                      [SEED] = "1",
                                      [SAMPLE] = "400",
                                      [TEXT] = "/usr/share/common-licenses/GPL-3",
                                      [DEVICE] = "cpu"};

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

/* ---- The network ---- */

typedef struct net {
    ht_module *tokens, *positions, *encoder, *head;
} net;

/* x: (N, L) of characters. The output (N, L, CHARACTERS) has the scores of the next ones. */
static ht_tensor *net_forward(ht_module *self, ht_tensor *x)
{
    net *n = ht_module_data(self);
    int64_t length = ht_tensor_shape(x)[1];
    ht_tensor *places = ht_arange(0, (double)length, 1, HT_INT64, HT_LOCAL);
    ht_tensor *mask = ht_generate_square_subsequent_mask(length); /* no position sees the future */
    ht_value *inputs = ht_value_map();

    x = ht_add(ht_forward(n->tokens, x), ht_forward(n->positions, places));
    ht_value_set(inputs, "src", ht_value_tensor(x));
    ht_value_set(inputs, "mask", ht_value_tensor(mask));
    ht_value_set(inputs, "is_causal", ht_value_number(1));
    return ht_forward(n->head, ht_value_as_tensor(ht_forward_value(n->encoder, inputs)));
}

static const ht_module_type net_type = {.name = "Chars", .forward = net_forward};

static ht_module *new_net(void)
{
    ht_transformer_options o = ht_transformer_options_default();
    ht_module *self = ht_module_new(sizeof(net), &net_type), *layer;
    net *n = ht_module_data(self);

    o.dim_feedforward = 4 * FEATURES;
    o.dropout = atof(values[DROPOUT]);
    o.activation = ht_gelu;
    o.batch_first = o.norm_first = true;
    ht_module_add(self, "tokens", &n->tokens, ht_nn_embedding(CHARACTERS, FEATURES));
    ht_module_add(self, "positions", &n->positions, ht_nn_embedding(LENGTH, FEATURES));
    layer = ht_nn_transformer_encoder_layer(FEATURES, HEADS, &o);
    ht_module_add(self, "encoder", &n->encoder,
                  ht_nn_transformer_encoder(layer, LAYERS, ht_nn_layer_norm(HT_SHAPE(FEATURES))));
    ht_module_add(self, "head", &n->head, ht_nn_linear(FEATURES, CHARACTERS));
    return self;
}

/* ---- Training ---- */

struct run {
    ht_tensor *text, *held_out; /* characters to learn from, and to test with */
    ht_module *net, *model;     /* model: the data-parallel wrapper of net */
    ht_optimizer *adam;
    ht_scheduler *schedule;
};

/* text[starts + (0 ... LENGTH)], a row for each start of this rank. */
static ht_tensor *windows(ht_tensor *text, ht_tensor *starts)
{
    ht_tensor *places = ht_arange(0, LENGTH + 1, 1, HT_INT64, HT_LOCAL);

    return ht_getitem(text, HT_KEY(ht_add(ht_expand_dims(ht_tensor_local(starts), 1), places)));
}

/* Where the windows of a step begin: a tensor that is split over the ranks, so that the rows of a
 * step are the same on any number of ranks. */
static ht_tensor *step_starts(int64_t length, int64_t step)
{
    int64_t batch = number(BATCH);
    double first = (double)(step * batch);
    ht_tensor *rows;

    if (values[PLAIN] == NULL)
        return ht_randint(0, length - LENGTH, HT_SHAPE(batch), HT_INT64, 0);
    rows = ht_arange(first, first + (double)batch, 1, HT_INT64, 0);
    return ht_remainder(ht_mul_scalar(rows, LENGTH), ht_scalar((double)(length - LENGTH)));
}

/* The mean over rows (N, LENGTH + 1) of how badly each character is foreseen. */
static ht_tensor *loss_of(ht_module *model, ht_tensor *rows)
{
    ht_tensor *scores = ht_forward(model, ht_narrow(rows, 1, 0, LENGTH));
    ht_tensor *next = ht_reshape(ht_narrow(rows, 1, 1, LENGTH + 1), HT_SHAPE(-1));

    return ht_cross_entropy(ht_reshape(scores, HT_SHAPE(-1, CHARACTERS)), next, HT_MEAN);
}

/* Returns the mean of the loss over steps first to last - 1 and all ranks. */
static double train(struct run *run, int64_t first, int64_t last)
{
    ht_metric *mean = ht_metric_mean(HT_COMM_WORLD);
    double result;

    ht_module_train(run->model);
    for (int64_t step = first; step < last; step++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *starts = step_starts(ht_tensor_shape(run->text)[0], step);
        ht_tensor *rows = windows(run->text, starts), *loss;

        ht_optimizer_zero_grad(run->adam);
        loss = loss_of(run->model, rows);
        ht_backward(loss);
        ht_optimizer_step(run->adam);
        ht_scheduler_step(run->schedule);
        ht_metric_add(mean, ht_item(loss), (double)ht_tensor_shape(rows)[0]);
        ht_scope_close(scope);
    }
    result = ht_metric_result(mean);
    ht_release(mean);
    return result;
}

/* The loss on the part of the text that is not learned from: each rank has some of its windows. */
static double test(struct run *run)
{
    ht_scope *scope = ht_scope_open();
    ht_metric *mean = ht_metric_mean(HT_COMM_WORLD);
    bool grad = ht_set_grad_enabled(false);
    double last = (double)(ht_tensor_shape(run->held_out)[0] - LENGTH), result;
    ht_tensor *rows = windows(run->held_out, ht_arange(0, last, LENGTH, HT_INT64, 0));
    double count = (double)ht_tensor_shape(rows)[0];

    ht_module_eval(run->model);
    if (count > 0)
        ht_metric_add(mean, ht_item(loss_of(run->model, rows)), count);
    ht_set_grad_enabled(grad);
    result = ht_metric_result(mean);
    ht_release(mean);
    ht_scope_close(scope);
    return result;
}

/* A character drawn with the probabilities of its scores: the largest score after Gumbel noise is
 * added. */
static char draw(ht_tensor *scores)
{
    ht_tensor *u = ht_rand(HT_SHAPE(CHARACTERS), HT_FLOAT32, HT_LOCAL);

    return (char)ht_item(ht_argmax(ht_sub(scores, ht_log(ht_neg(ht_log(u)))), HT_NONE));
}

/* Prints a text that the network makes up. One rank alone runs it. */
static void speak(ht_module *model, int64_t count)
{
    bool grad = ht_set_grad_enabled(false);
    char *text = malloc((size_t)count + 1);

    text[0] = '\n';
    for (int64_t i = 1; i <= count; i++) {
        ht_scope *scope = ht_scope_open();
        int64_t seen = i < LENGTH ? i : LENGTH;
        ht_tensor *x = ht_array(text + i - seen, HT_SHAPE(1, seen), HT_UINT8, HT_LOCAL);
        ht_tensor *scores = ht_forward(model, ht_astype(x, HT_INT64));

        text[i] = draw(ht_getitem(scores, HT_KEY(0, -1)));
        ht_scope_close(scope);
    }
    printf("%.*s\n", (int)count, text + 1);
    free(text);
    ht_set_grad_enabled(grad);
}

/* Some rows and the outputs for them, for comparisons with PyTorch. */
static void write_outputs(struct run *run)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *starts = ht_arange(0, OUTPUT_ROWS, 1, HT_INT64, HT_LOCAL);
    ht_tensor *x = ht_narrow(windows(run->held_out, starts), 1, 0, LENGTH);
    ht_value *map = ht_value_map();

    ht_module_eval(run->model);
    ht_value_set(map, "inputs", ht_value_tensor(x));
    ht_value_set(map, "outputs", ht_value_tensor(ht_detach(ht_forward(run->net, x))));
    ht_safetensors_save(map, values[OUTPUTS], HT_COMM_WORLD);
    ht_scope_close(scope);
}

/* The characters of the file, and the last tenth of them apart. Returns the fault of the file, or
 * NULL. */
static const char *read_text(struct run *run)
{
    static char bytes[(1 << 24) + 1];
    FILE *file = fopen(values[TEXT], "rb");
    int64_t count;
    ht_scope *scope;
    ht_tensor *text;

    if (file == NULL)
        return "cannot be read";
    count = (int64_t)fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    if (count / 10 <= LENGTH + OUTPUT_ROWS)
        return "is too short";
    if (count == sizeof bytes)
        return "is longer than 16 MiB";
    scope = ht_scope_open();
    text = ht_astype(ht_array(bytes, HT_SHAPE(count), HT_UINT8, HT_LOCAL), HT_INT64);
    run->text = ht_retain(ht_narrow(text, 0, 0, count - count / 10));
    run->held_out = ht_retain(ht_narrow(text, 0, count - count / 10, count));
    ht_scope_close(scope);
    return NULL;
}

static void open_run(struct run *run)
{
    ht_one_cycle_lr_options cycle = ht_one_cycle_lr_options_default();
    double lr = atof(values[LR]);

    ht_nn_seed((uint64_t)number(SEED));     /* of initial values and dropout */
    ht_random_seed((uint64_t)number(SEED)); /* of the rows of steps */
    run->net = new_net();
    if (values[LOAD] != NULL)
        ht_module_load_safetensors(run->net, values[LOAD], HT_COMM_WORLD);
    run->adam = ht_optim_adamw(ht_module_parameters(run->net), lr, NULL);
    run->model = ht_nn_data_parallel(run->net, HT_COMM_WORLD, run->adam, values[BLOCKING] != NULL);
    cycle.pct_start = 0.1;
    cycle.cycle_momentum = false;
    run->schedule = ht_optim_one_cycle_lr(run->adam, lr, number(STEPS) > 0 ? number(STEPS) : 1,
                                          &cycle);
}

static void close_run(struct run *run)
{
    ht_release(run->schedule);
    ht_release(run->model);
    ht_release(run->adam);
    ht_release(run->net);
    ht_release(run->text);
    ht_release(run->held_out);
}

/* ---- The command line ---- */

static const char help[] =
    "usage: [mpirun -n RANKS] chars [OPTION]...\n"
    "Trains a Transformer on the characters of a text, data-parallel over the ranks.\n"
    "  --text FILE     up to 16 MiB (/usr/share/common-licenses/GPL-3); its last tenth is held out\n"
    "  --steps N       (500)   --batch N  rows of a step on all ranks, one or more each (32)\n"
    "  --lr X          highest learning rate of the cycle (0.002)\n"
    "  --dropout X     (0.1)   --seed N  (1)   --blocking  average and update within each step\n"
    "  --plain         rows in the order of the text\n"
    "  --device NAME   compute on it: cuda, for example (cpu)\n"
    "  --sample N      characters to make up at the end (400)\n"
    "  --load FILE     start from a safetensors file; --save FILE writes one at the end\n"
    "  --outputs FILE  write some held-out rows and the outputs for them\n";

static bool parse(int argc, char **argv)
{
    static const struct option options[] = {
        {"steps", 1, NULL, STEPS},     {"batch", 1, NULL, BATCH}, {"lr", 1, NULL, LR},
        {"dropout", 1, NULL, DROPOUT}, {"seed", 1, NULL, SEED},   {"sample", 1, NULL, SAMPLE},
        {"text", 1, NULL, TEXT},       {"load", 1, NULL, LOAD},   {"save", 1, NULL, SAVE},
        {"outputs", 1, NULL, OUTPUTS}, {"plain", 0, NULL, PLAIN}, {"blocking", 0, NULL, BLOCKING},
        {"device", 1, NULL, DEVICE},   {NULL, 0, NULL, 0}};
    int option;

    opterr = ht_comm_rank(HT_COMM_WORLD) == 0;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == '?')
            return false;
        values[option] = optarg != NULL ? optarg : "yes";
        if (option < NUMBERS && !is_number(option))
            return false;
    }
    return optind == argc && number(BATCH) >= ht_comm_size(HT_COMM_WORLD) &&
           number(SAMPLE) < INT32_MAX;
}

int main(int argc, char **argv)
{
    enum { LINES = 10 };
    struct run run;
    int64_t steps, lines;
    const char *problem;
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
    problem = read_text(&run);
    if (problem != NULL) {
        if (speaks)
            fprintf(stderr, "chars: %s %s\n", values[TEXT], problem);
        ht_finalize();
        return 1;
    }
    open_run(&run);
    steps = number(STEPS);
    lines = steps < LINES ? steps : LINES;
    for (int64_t i = 0; i < lines; i++) {
        int64_t last = (i + 1) * steps / lines;
        double loss = train(&run, i * steps / lines, last), held_out = test(&run);

        if (speaks)
            printf("step %d: loss %.6f, held out %.6f\n", (int)last, loss, held_out);
    }
    if (values[SAVE] != NULL)
        ht_module_save_safetensors(run.net, values[SAVE], HT_COMM_WORLD);
    if (values[OUTPUTS] != NULL)
        write_outputs(&run);
    ht_module_eval(run.model);
    if (speaks)
        speak(run.net, number(SAMPLE));
    close_run(&run);
    return ht_finalize();
}
