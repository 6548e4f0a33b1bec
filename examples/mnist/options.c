/* SPDX-License-Identifier: MIT
 *
 * The command line: one table of options, each with where its value goes and what it may be. */
#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ht/number.h"

const char options_help[] =
    "usage: mpirun -n RANKS mnist [OPTION]...\n"
    "Trains a network on MNIST-format images, data-parallel over the ranks.\n"
    "  --data PATH             folder of IDX files (plain or .gz) or HDF5 file from ht-idx2hdf5\n"
    "                          (/usr/share/datasets/fashion-mnist)\n"
    "  --net cnn|mlp           cnn: two convolutions, two dense layers; mlp: 784-512-512-10 (cnn)\n"
    "  --optimizer NAME        adadelta, sgd, adam, adamw or rmsprop (adadelta)\n"
    "  --lr X                  learning rate (adadelta 1, sgd 0.01, the others 0.001)\n"
    "  --gamma X               factor of the learning rate after each epoch (0.7)\n"
    "  --epochs N              number of epochs (14)\n"
    "  --batch-size N          training rows per rank and step (64)\n"
    "  --test-batch-size N     test rows per rank and step (1000)\n"
    "  --train-limit N         only the first N training rows\n"
    "  --steps N               at most N steps per epoch\n"
    "  --parallel dp           gradients are averaged over all ranks in each step (default); or\n"
    "  --parallel daso         inside nodes, and parameters between nodes asynchronously; or\n"
    "  --parallel hierarchical inside nodes, and parameters every --average-every N steps (4)\n"
    "  --daso-warmup N         first epochs with averages over all ranks in each step\n"
    "                          (4; of fewer than 12 epochs a third)\n"
    "  --daso-cooldown N       last epochs with such averages (the same)\n"
    "  --daso-max-skips N      at most N steps from one exchange between nodes to the next (8)\n"
    "  --daso-wire TYPE        fp32, fp16, bf16: the dtype in which such averages travel (bf16)\n"
    "  --blocking              average the gradients and update in each step; or\n"
    "  --non-blocking          overlap the exchange with the next forward pass (default)\n"
    "  --no-dropout            leave out the dropout layers of the cnn\n"
    "  --dtype float32|float64 (float32)       --device NAME (cpu)\n"
    "  --threads N             compute threads per rank (cores of the node / ranks on it)\n"
    "  --seed N                seed of initialisation, dropout and shuffling (1)\n"
    "  --save FILE             write a checkpoint at the end; --load FILE starts from parameters\n"
    "  --save-every N          and every N steps; FILE.1 is the previous one, and so on\n"
    "  --keep N                checkpoints to keep, with --save-every (2)\n"
    "  --resume FILE           resume from a checkpoint, on any number of ranks; ignores --load\n"
    "  --or-earlier            from the newest earlier one if it is damaged\n"
    "  --log-rows FILE         append the rows of every step to FILE.RANK\n"
    "  --json FILE             write results as JSON\n"
    "  --curves PREFIX         a row for each epoch to PREFIX.csv and .jsonl, curves as .svg\n"
    "  --log-interval N        steps between lines, where the output is not a terminal (100)\n"
    "  --no-progress           print only the results of epochs\n"
    "  --profile               where the time of the last epoch before the cool-down went\n"
    "  --dry-run               run one step of one epoch\n"
    "Exit status: 0, 2 for a wrong command line, 1 for any other failure.\n";

enum kind { TEXT, CHOICE, INTEGER, NUMBER, SEED, DTYPE, WIRE, SET, CLEAR, NAME, DRY_RUN };

#define AT(field) offsetof(struct options, field)

static const struct option {
    const char *name;
    enum kind kind;
    size_t at;
    double least;        /* of an INTEGER or NUMBER */
    const char *choices; /* "|cnn|mlp|" */
} table[] = {
    {"--data", TEXT, AT(data), 0, NULL},
    {"--net", CHOICE, AT(net), 0, "|cnn|mlp|"},
    {"--optimizer", CHOICE, AT(optimizer), 0, "|adadelta|sgd|adam|adamw|rmsprop|"},
    {"--lr", NUMBER, AT(lr), 0, NULL},
    {"--gamma", NUMBER, AT(gamma), 0, NULL},
    {"--epochs", INTEGER, AT(epochs), 1, NULL},
    {"--batch-size", INTEGER, AT(batch_size), 1, NULL},
    {"--test-batch-size", INTEGER, AT(test_batch_size), 1, NULL},
    {"--train-limit", INTEGER, AT(train_limit), 1, NULL},
    {"--steps", INTEGER, AT(steps), 1, NULL},
    {"--parallel", CHOICE, AT(parallel), 0, "|dp|daso|hierarchical|"},
    {"--daso-warmup", INTEGER, AT(daso_warmup), 0, NULL},
    {"--daso-cooldown", INTEGER, AT(daso_cooldown), 0, NULL},
    {"--daso-max-skips", INTEGER, AT(daso_max_skips), 1, NULL},
    {"--daso-wire", WIRE, AT(daso_wire), 0, "|bf16|fp16|fp32|"},
    {"--average-every", INTEGER, AT(average_every), 1, NULL},
    {"--blocking", NAME, AT(mode), 0, NULL},
    {"--non-blocking", NAME, AT(mode), 0, NULL},
    {"--no-dropout", CLEAR, AT(dropout), 0, NULL},
    {"--dtype", DTYPE, AT(dtype), 0, "|float32|float64|"},
    {"--device", TEXT, AT(device), 0, NULL},
    {"--threads", INTEGER, AT(threads), 1, NULL},
    {"--seed", SEED, AT(seed), 0, NULL},
    {"--save", TEXT, AT(save), 0, NULL},
    {"--save-every", INTEGER, AT(save_every), 1, NULL},
    {"--keep", INTEGER, AT(keep), 1, NULL},
    {"--resume", TEXT, AT(resume), 0, NULL},
    {"--or-earlier", SET, AT(or_earlier), 0, NULL},
    {"--log-rows", TEXT, AT(log_rows), 0, NULL},
    {"--load", TEXT, AT(load), 0, NULL},
    {"--json", TEXT, AT(json), 0, NULL},
    {"--curves", TEXT, AT(curves), 0, NULL},
    {"--log-interval", INTEGER, AT(log_interval), 1, NULL},
    {"--no-progress", CLEAR, AT(progress), 0, NULL},
    {"--profile", SET, AT(profile), 0, NULL},
    {"--dry-run", DRY_RUN, 0, 0, NULL},
    {"--help", SET, AT(help), 0, NULL},
    {"-h", SET, AT(help), 0, NULL},
};

static char error[512];

static const char *set_integer(const struct option *option, const char *text, int64_t *value)
{
    char *end;

    errno = 0;
    *value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || (double)*value < option->least ||
        *value > INT32_MAX) {
        snprintf(error, sizeof error, "%s is \"%s\", expected an integer from %g to %d",
                 option->name, text, option->least, INT32_MAX);
        return error;
    }
    return NULL;
}

static const char *set_number(const struct option *option, const char *text, double *value)
{
    if (!ht_number_from_text(text, value) || !isfinite(*value) || *value < option->least) {
        snprintf(error, sizeof error, "%s is \"%s\", expected a finite number of at least %g",
                 option->name, text, option->least);
        return error;
    }
    return NULL;
}

static const char *set_seed(const struct option *option, const char *text, uint64_t *value)
{
    char *end;

    errno = 0;
    *value = strtoull(text, &end, 10);
    if (*text == '-' || end == text || *end != '\0' || errno != 0) {
        snprintf(error, sizeof error, "%s is \"%s\", expected an integer from 0 to %" PRIu64,
                 option->name, text, UINT64_MAX);
        return error;
    }
    return NULL;
}

static const char *check_choice(const struct option *option, const char *text)
{
    char wanted[64];

    snprintf(wanted, sizeof wanted, "|%s|", text);
    if (strchr(text, '|') == NULL && strlen(text) < 32 && strstr(option->choices, wanted) != NULL)
        return NULL;
    snprintf(error, sizeof error, "%s is \"%s\", expected one of %.*s", option->name, text,
             (int)strlen(option->choices) - 2, option->choices + 1);
    return error;
}

static const char *set_value(struct options *options, const struct option *option, const char *text)
{
    void *at = (char *)options + option->at;
    const char *wrong = NULL;

    switch (option->kind) {
    case INTEGER:
        return set_integer(option, text, at);
    case NUMBER:
        return set_number(option, text, at);
    case SEED:
        return set_seed(option, text, at);
    case DTYPE:
        wrong = check_choice(option, text);
        *(ht_dtype *)at = ht_dtype_from_name(text);
        return wrong;
    case WIRE:
        wrong = check_choice(option, text);
        *(ht_dtype *)at = *text == 'b'                ? HT_BFLOAT16
                          : strcmp(text, "fp16") == 0 ? HT_FLOAT16
                                                      : HT_FLOAT32;
        return wrong;
    case CHOICE:
        wrong = check_choice(option, text);
        *(const char **)at = text;
        return wrong;
    default:
        *(const char **)at = text;
        return NULL;
    }
}

static const struct option *find(const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    }
    return NULL;
}

static const char *parse_all(struct options *options, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const struct option *option = find(argv[i]);
        const char *wrong = NULL;

        if (option == NULL) {
            snprintf(error, sizeof error, "unknown option %s", argv[i]);
            return error;
        }
        if (option->kind == SET || option->kind == CLEAR) {
            *(bool *)((char *)options + option->at) = option->kind == SET;
        } else if (option->kind == NAME) {
            *(const char **)((char *)options + option->at) = option->name;
        } else if (option->kind == DRY_RUN) {
            options->epochs = options->steps = 1;
        } else if (i + 1 == argc) {
            snprintf(error, sizeof error, "%s needs a value", argv[i]);
            return error;
        } else {
            wrong = set_value(options, option, argv[++i]);
        }
        if (wrong != NULL)
            return wrong;
    }
    return NULL;
}

static double usual_lr(const char *optimizer)
{
    if (strcmp(optimizer, "adadelta") == 0)
        return 1;
    return strcmp(optimizer, "sgd") == 0 ? 0.01 : 0.001;
}

/* Those of another way to train together than the one chosen would do nothing. */
static const char *check_parallel(const struct options *o)
{
    bool daso = strcmp(o->parallel, "daso") == 0;
    bool hierarchical = strcmp(o->parallel, "hierarchical") == 0;

    if (!daso && (o->daso_warmup >= 0 || o->daso_cooldown >= 0 || o->daso_max_skips > 0 ||
                  o->daso_wire != HT_DTYPE_COUNT))
        return "the options --daso-... need --parallel daso";
    if (!hierarchical && o->average_every > 0)
        return "--average-every needs --parallel hierarchical";
    if (hierarchical && o->save_every > 0)
        return "--save-every needs --parallel dp or daso: with hierarchical averaging, all ranks "
               "have the same parameters only at the end of an epoch";
    if ((daso || hierarchical) && o->mode != NULL) {
        snprintf(error, sizeof error, "%s needs --parallel dp", o->mode);
        return error;
    }
    return NULL;
}

static void set_usual(struct options *o)
{
    int64_t third = o->epochs / 3 < 4 ? o->epochs / 3 : 4;

    o->blocking = o->mode != NULL && strcmp(o->mode, "--blocking") == 0;
    if (o->lr < 0)
        o->lr = usual_lr(o->optimizer);
    if (o->daso_warmup < 0)
        o->daso_warmup = third;
    if (o->daso_cooldown < 0)
        o->daso_cooldown = third;
    if (o->daso_max_skips == 0)
        o->daso_max_skips = 8;
    if (o->daso_wire == HT_DTYPE_COUNT)
        o->daso_wire = HT_BFLOAT16;
    if (o->average_every == 0)
        o->average_every = 4;
}

/* Checks combinations of options. */
static const char *check_together(const struct options *o)
{
    if (!isfinite(o->lr * pow(o->gamma, (double)o->epochs)))
        return "--lr times --gamma to the power of --epochs is not finite";
    if (strcmp(o->parallel, "daso") == 0 && o->daso_warmup + o->daso_cooldown > o->epochs) {
        snprintf(error, sizeof error,
                 "--daso-warmup %" PRId64 " and --daso-cooldown %" PRId64
                 " are more than --epochs %" PRId64,
                 o->daso_warmup, o->daso_cooldown, o->epochs);
        return error;
    }
    if (o->json != NULL && o->save != NULL && strcmp(o->json, o->save) == 0)
        return "--json and --save name the same file";
    if (o->save_every > 0 && o->save == NULL)
        return "--save-every needs --save FILE";
    if (o->or_earlier && o->resume == NULL)
        return "--or-earlier needs --resume FILE";
    return NULL;
}

const char *options_parse(struct options *options, int argc, char **argv)
{
    *options = (struct options){
        .data = "/usr/share/datasets/fashion-mnist",
        .net = "cnn",
        .optimizer = "adadelta",
        .lr = -1,
        .gamma = 0.7,
        .epochs = 14,
        .batch_size = 64,
        .test_batch_size = 1000,
        .dropout = true,
        .dtype = HT_FLOAT32,
        .device = "cpu",
        .seed = 1,
        .keep = 2,
        .parallel = "dp",
        .daso_warmup = -1,
        .daso_cooldown = -1,
        .daso_wire = HT_DTYPE_COUNT,
        .log_interval = 100,
        .progress = true,
    };
    const char *wrong = parse_all(options, argc, argv);

    if (wrong == NULL)
        wrong = check_parallel(options);
    set_usual(options);
    return wrong != NULL ? wrong : check_together(options);
}
