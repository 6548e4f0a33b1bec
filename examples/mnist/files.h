/* SPDX-License-Identifier: MIT
 *
 * Files that the job writes in addition to its checkpoints: whether they can be written, before an
 * hour of training, and the rows of each step. */
#ifndef MNIST_FILES_H
#define MNIST_FILES_H

#include "job.h"

/* Returns NULL, or the fault on the rank that sees it. */
const char *files_check(const struct options *options);

/* The rows of a step, for who wants to know which ones a run has seen. A failed write is reported
 * once, and sets job->failed. */
void files_log_rows(struct job *job, const ht_batch *batch);

#endif
