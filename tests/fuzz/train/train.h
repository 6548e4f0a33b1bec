/* SPDX-License-Identifier: MIT
 *
 * Training in many ways that must not differ: blocking and not, interrupted and not, on these ranks
 * and on one. Knobs are varied; 0 is the simplest setting of each. */
#ifndef HT_FUZZ_TRAIN_H
#define HT_FUZZ_TRAIN_H

#include "fuzz/fuzz.h"
#include "optimizer_kinds.h"

#define KNOB_LIST(X)                                                                             \
    X(STEPS, 5)         /* + 2 */                                                                \
    X(FEATURES, 4)      /* + 1 */                                                                \
    X(HIDDEN, 5)        /* + 1 */                                                                \
    X(OUTPUTS, 3)       /* + 1 */                                                                \
    X(TIED, 3)          /* 2: the hidden layer runs twice */                                     \
    X(ROOT, 3)          /* 2: a parameter of the root module */                                  \
    X(FROZEN, 3)        /* 2: the first layer's weight is frozen */                              \
    X(NORM, 4)          /* 2: batch norm, or its function; 3: synchronised */                    \
    X(OPTIMIZER, KINDS) /* tests/optimizer_kinds.h */                                            \
    X(SECOND, 4)        /* 1: two optimizers; 2: the other's part has none; 3: none of either */ \
    X(ZEROING, 4)       /* after step, before forward, second every other step, by module */     \
    X(AVERAGING, 4)     /* weighted, mean, sum, weighted */                                      \
    X(WAY, 4)           /* plain, accumulation_steps, no_sync, the optimizer wrapper */          \
    X(PASSES, 3)        /* + 1 backward passes of a step */                                      \
    X(ROWS, 4)          /* even, uneven, some ranks none, sometimes none at all */               \
    X(CLIP, 3)          /* none, norm, value */                                                  \
    X(READ, 14)         /* after a step: see train_reads.c */                                    \
    X(READ_STEP, 4)                                                                              \
    X(WRITE, 8)    /* after a step: none, fill, initialise, load, ...: see train_reads.c */      \
    X(STOP, 5)     /* interrupted after this step; 0: no test of it */                           \
    X(BUCKETS, 3)  /* one, tiny, gradients of their own */                                       \
    X(EMPTY, 2)    /* no rows: NULL; a batch of none */                                          \
    X(SCHEDULE, 7) /* of the learning rate: see train_around.c */                                \
    X(METRIC, 5)   /* mean, moments, accuracy, confusion matrix */                               \
    X(SIDE, 4)     /* 1: a second wrapper, 2: on a part of the ranks */                          \
    X(HOOK, 8)     /* communication hooks: see train_around.c; 6, 7: none */                     \
    X(SCALING, 3)  /* of the optimizer wrapper's losses: none, static, dynamic */                \
    X(OVERFLOW, 3) /* 2: at some steps, on some rank */                                          \
    X(JOIN, 5)     /* 3, 4: ranks with fewer steps; 4: means over those that have data */        \
    X(DROPOUT, 4)  /* 3: a dropout layer */                                                      \
    X(FUNCTION, 2) /* batch norm by its function */

enum knob {
#define KNOB_ID(name, count) KNOB_##name,
    KNOB_LIST(KNOB_ID)
#undef KNOB_ID
        KNOB_COUNT
};

struct plan {
    uint64_t seed;
    int knob[KNOB_COUNT];
    int ranks;
};

enum mode { MODE_ONE, MODE_BLOCKING, MODE_FLOWING, MODE_RESUMED };

/* The record of a run: numbers with a name each. */
enum { MAX_NOTES = 20000 };
struct notes {
    int count;
    double value[MAX_NOTES];
    const char *name[MAX_NOTES];
    char trouble[512]; /* what failed; "": nothing */
};

struct net {
    ht_module *first, *hidden, *norm, *dropout, *last;
    ht_tensor *scale, *mean, *var; /* mean, var: of batch norm by its function */
    const struct plan *plan;
};

/* The objects of a training other than the model: train_around.c. */
struct around {
    ht_scheduler *schedule;
    ht_metric *metric;
    ht_power_sgd *power;
    ht_module *side, *side_model; /* a second model, and its wrapper, or itself */
    ht_optimizer *side_optimizer;
    ht_tensor *side_loss; /* of this step */
};

struct training {
    const struct plan *plan;
    enum mode mode;
    ht_module *net, *model; /* model: the wrapper, or net itself */
    ht_optimizer *optimizers[2];
    int optimizer_count;
    ht_optim_wrapper *wrapper;
    ht_value *state, *parameters; /* made before the first step */
    ht_tensor *view;              /* of last.bias, from then, too */
    struct around around;
    struct notes *notes;
    int step;
    double gathered[2]; /* rows in the gradients of each part, since they were zeroed */
};

ht_module *net_new(const struct plan *plan, enum mode mode, uint64_t seed);
int passes_of(const struct plan *plan);
/* Whether a join leaves this rank data at this step. */
bool has_data(const struct plan *plan, int step, int rank);
/* Whether some rank's loss of this pass is infinite; and this one's. */
bool overflows(const struct plan *plan, int step, int pass, int rank);
bool overflows_somewhere(const struct plan *plan, int step);
ht_tensor *loss_of_all_rows(struct training *t, int pass);
ht_comm *every_second_rank(void);
void around_begin(struct training *t);
void around_forward(struct training *t);  /* before that of the model, */
void around_backward(struct training *t); /* and after it */
void around_step(struct training *t);
void around_save(struct training *t, ht_value *map);
void around_load(struct training *t, const ht_value *map);
void around_note(struct training *t);
void around_end(struct training *t);
ht_tensor *batch_loss(struct training *t, int pass, int rank, int64_t *rows);
int64_t rows_of(const struct plan *plan, int step, int pass, int rank);
double coefficient(const struct plan *plan, int step, int pass, int rank);
void note(struct training *t, const char *name, double value);
void note_tensor(struct training *t, const char *name, ht_tensor *x);
/* Keeps the first failure. Returns whether all is well. */
bool went(struct training *t, const char *what, ht_status status);
void read_somehow(struct training *t);
void write_somehow(struct training *t);
void train(const struct plan *plan, enum mode mode, struct notes *notes);

#endif
