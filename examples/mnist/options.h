/* SPDX-License-Identifier: MIT
 *
 * The command line of the example. */
#ifndef MNIST_OPTIONS_H
#define MNIST_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "ht/types.h"

struct options {
    const char *data;
    const char *net;       /* cnn, mlp */
    const char *optimizer; /* adadelta, sgd, adam, adamw, rmsprop */
    double lr, gamma;
    int64_t epochs, batch_size, test_batch_size;
    int64_t train_limit; /* rows; 0: all */
    int64_t steps;       /* per epoch; 0: all */
    const char *mode;    /* --blocking, --non-blocking; NULL: not said */
    bool blocking, dropout;
    ht_dtype dtype;
    const char *device;
    int64_t threads; /* 0: cores of the node / ranks on it */
    uint64_t seed;
    const char *save, *load, *json, *log_rows;
    int64_t save_every; /* steps; 0: at the end */
    int64_t keep;       /* checkpoints */
    const char *resume, *curves;
    bool or_earlier;
    const char *parallel; /* dp, daso, hierarchical */
    int64_t daso_warmup, daso_cooldown, daso_max_skips;
    ht_dtype daso_wire;
    int64_t average_every; /* steps */
    int64_t log_interval;
    bool progress, profile, help;
};

/* Fills `options`. Returns NULL, or the fault of the command line. */
const char *options_parse(struct options *options, int argc, char **argv);

extern const char options_help[];

#endif
