/* SPDX-License-Identifier: MIT
 *
 * Output of the example: on the terminal, and as JSON. Rank 0 alone writes. */
#ifndef MNIST_REPORT_H
#define MNIST_REPORT_H

#include "ht.h"
#include "images.h"
#include "options.h"

struct epoch_result {
    double train_loss, test_loss, accuracy;
    double seconds; /* of training, the slowest rank's */
    int64_t rows;   /* trained, all ranks */
};

struct report {
    const struct options *options;
    int64_t train_rows, test_rows, batches; /* per epoch */
    struct epoch_result *epochs;
    int64_t count;               /* of epochs so far */
    ht_timeline_summary profile; /* of the training of an epoch, under --profile */
    int64_t profiled;            /* which, from 1; 0: none yet */
    bool speaks, terminal;
    double started, shown; /* times */
    int64_t steps;         /* of this process so far */
};

void report_open(struct report *report, const struct options *options, const struct images *images,
                 ht_module *net);

/* A step of the running epoch is done: its loss on this rank. */
void report_step(struct report *report, int64_t step, double loss);

/* A result that an earlier process had; not said again. */
void report_add(struct report *report, const struct epoch_result *result);
void report_epoch(struct report *report, const struct epoch_result *result);

/* Writes the JSON file; false, and a message, if that fails. */
bool report_json(const struct report *report, const char *digest);
void report_profile(const struct report *report);
void report_close(struct report *report);

double now(void); /* seconds */
const char *plural(int64_t count);

#endif
