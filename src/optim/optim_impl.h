/* SPDX-License-Identifier: MIT
 *
 * The inside of optimizers: the row that makes one (a file each), the state of a parameter, and how
 * a data-parallel wrapper takes over step(). */
#ifndef HT_OPTIM_IMPL_H
#define HT_OPTIM_IMPL_H

#include "core/core.h"
#include "ht/optim.h"

enum { HT_OPTIMIZER_STATES = 3 };

/* What distinguishes one optimizer from another. */
typedef struct ht_optimizer_type {
    const char *name; /* "SGD" */
    ht_update_kernel kernel;
    int state_count;
    const char *state_names[HT_OPTIMIZER_STATES];
} ht_optimizer_type;

typedef struct ht_optimizer_entry {
    ht_tensor *parameter;                  /* retained */
    ht_tensor *state[HT_OPTIMIZER_STATES]; /* owned; NULL before the first update; contiguous */
    int64_t steps;                         /* updates so far */
} ht_optimizer_entry;

/* What step() means at the time it is called: kept by whoever updates later. */
typedef struct ht_step_arguments {
    double lr;
    double grad_scale;
} ht_step_arguments;

/* A wrapper that has taken over step(). waits: it accumulates, and step() or zero_grad() is to do
 * nothing yet. drain finishes the updates it has not made yet. */
typedef struct ht_optimizer_deferral {
    bool (*waits)(void *user, bool to_step);
    ht_status (*step)(void *user, const ht_step_arguments *arguments);
    ht_status (*drain)(void *user);
    void *user; /* not owned */
} ht_optimizer_deferral;

typedef enum ht_step_mode { HT_STEP_AS_WRAPPER, HT_STEP_BLOCKING, HT_STEP_DEFERRED } ht_step_mode;

struct ht_optimizer {
    ht_object base;
    const ht_optimizer_type *type;
    ht_update settings; /* hyperparameters; the rest is filled in for each update */
    double lr;
    double initial_lr; /* lr when the first schedule was made; NAN: there is none */
    int64_t steps;
    ht_optimizer_entry *entries; /* owned */
    int count;
    const ht_optimizer_deferral *deferral; /* not owned; NULL: step() updates */
    ht_step_mode step_mode;                /* under a wrapper */
};

/* What a constructor calls once its own options are checked. `what` names it. */
ht_optimizer *ht__optimizer_new(const char *what, const ht_optimizer_type *type,
                                ht_value *parameters, double lr, const ht_update *settings);

/* HT_ERR_ARGUMENT unless low <= value < high; the message names both. */
ht_status ht__optim_check_range(const char *what, const char *name, double value, double low,
                                double high);

/* HT_ERR_ARGUMENT when an options struct was not filled by its default function, `filler`. */
ht_status ht__optim_check_options(const char *what, const char *filler, size_t size,
                                  size_t expected);

/* Updates one parameter from `grad` with these arguments, whatever the optimizer holds now. */
ht_status ht__optimizer_update(ht_optimizer *optimizer, int index, ht_tensor *grad,
                               const ht_step_arguments *arguments);

/* The same of the elements from `begin` to `end` (beyond the last: to the last). Parts follow one
 * another from the first element; the one that reaches the end completes the update. */
ht_status ht__optimizer_update_part(ht_optimizer *optimizer, int index, ht_tensor *grad,
                                    const ht_step_arguments *arguments, int64_t begin, int64_t end);

/* State tensors of one parameter, made (zeroed) when they are not there. */
ht_status ht__optimizer_make_state(ht_optimizer *optimizer, int index);

int ht__optimizer_find(const ht_optimizer *optimizer, const ht_tensor *parameter); /* -1: none */

/* Hands step() to a wrapper; NULL gives it back. */
void ht__optimizer_defer(ht_optimizer *optimizer, const ht_optimizer_deferral *deferral);

/* The state of rank `root` to all ranks of `comm`. Collective. */
ht_status ht__optimizer_broadcast(ht_optimizer *optimizer, ht_comm *comm, int root);

enum { HT_SCHEDULER_NUMBERS = 3 };

/* A schedule is its rule. Rules that look at a metric have observe, the others lr. */
typedef struct ht_scheduler_type {
    const char *name;
    /* The learning rate of scheduler->epoch (from 1) after the rate `lr`. Step by step from what
     * the optimizer has, so that a rate that the program set meanwhile, or another schedule, is
     * kept, and the bits are those of torch's chains of products. */
    double (*lr)(const ht_scheduler *scheduler, double lr);
    double (*observe)(ht_scheduler *scheduler, double lr, double metric);
    /* What it remembers besides the epoch, for its state: names, and where the doubles are. */
    struct {
        const char *name;
        size_t at;
    } numbers[HT_SCHEDULER_NUMBERS];
} ht_scheduler_type;

/* The first member of every schedule's struct. */
struct ht_scheduler {
    ht_object base;
    const ht_scheduler_type *type;
    ht_optimizer *optimizer; /* retained */
    double base_lr;          /* the optimizer's when its first schedule was made */
    int64_t epoch;
};

/* A schedule in `size` zeroed bytes. */
void *ht__scheduler_new(const ht_scheduler_type *type, ht_optimizer *optimizer, size_t size);

/* HT_ERR_ARGUMENT unless value >= low. */
ht_status ht__optim_check_count(const char *what, const char *name, int64_t value, int64_t low);

#endif
