/* SPDX-License-Identifier: MIT
 *
 * Training in many ways that must not differ: blocking and not, interrupted and not, on these ranks
 * and on one. What varies are knobs, the simplest setting of each being 0. */
#ifndef HT_FUZZ_TRAIN_H
#define HT_FUZZ_TRAIN_H

#include "fuzz.h"

#define KNOB_LIST(X)                                                                         \
    X(STEPS, 5)     /* + 2 */                                                                \
    X(FEATURES, 4)  /* + 1 */                                                                \
    X(HIDDEN, 5)    /* + 1 */                                                                \
    X(OUTPUTS, 3)   /* + 1 */                                                                \
    X(TIED, 3)      /* 2: the hidden layer runs twice */                                     \
    X(ROOT, 3)      /* 2: a parameter of the root module */                                  \
    X(FROZEN, 3)    /* 2: the first layer's weight is frozen */                              \
    X(NORM, 4)      /* 3: synchronised batch norm */                                         \
    X(OPTIMIZER, 5) /* SGD, Adam, AdamW, RMSprop, Adadelta */                                \
    X(SECOND, 4)    /* 1: two optimizers; 2: the other's part has none; 3: none of either */ \
    X(ZEROING, 4)   /* after step, before forward, second every other step, by module */     \
    X(AVERAGING, 4) /* weighted, mean, sum, weighted */                                      \
    X(WAY, 4)       /* plain, accumulation_steps, no_sync, the optimizer wrapper */          \
    X(PASSES, 3)    /* + 1 backward passes of a step */                                      \
    X(ROWS, 3)      /* even, uneven, some ranks none */                                      \
    X(CLIP, 3)      /* none, norm, value */                                                  \
    X(READ, 10)     /* after a step: see train_reads.c */                                    \
    X(READ_STEP, 4)                                                                          \
    X(WRITE, 4)   /* after a step: none, fill, initialise, load */                           \
    X(STOP, 5)    /* interrupted after this step; 0: no test of it */                        \
    X(BUCKETS, 3) /* one, tiny, gradients of their own */                                    \
    X(EMPTY, 2)   /* no rows: NULL; a batch of none */

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

/* What a run did: numbers with a name each. */
enum { MAX_NOTES = 20000 };
struct notes {
    int count;
    double value[MAX_NOTES];
    const char *name[MAX_NOTES];
    char trouble[512]; /* what failed; "": nothing */
};

struct net {
    ht_module *first, *hidden, *norm, *last;
    ht_tensor *scale;
    const struct plan *plan;
};

struct training {
    const struct plan *plan;
    enum mode mode;
    ht_module *net, *model; /* model: the wrapper, or net itself */
    ht_optimizer *optimizers[2];
    int optimizer_count;
    ht_optim_wrapper *wrapper;
    ht_value *state, *parameters; /* made before the first step */
    struct notes *notes;
    int step;
    double gathered[2]; /* rows in the gradients of each part, since they were zeroed */
};

ht_module *net_new(const struct plan *plan, enum mode mode, uint64_t seed);
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
