/* SPDX-License-Identifier: MIT
 *
 * Replays the samples of PyTorch's databases, which tests/golden/make_torch_db.py has stored: a
 * case is the call of a function, with what PyTorch computes. A run is a case in one dtype, layout
 * and split. */
#ifndef HT_NN_REPLAY_H
#define HT_NN_REPLAY_H

#include "ht.h"

enum { REPLAY_AXES = 6, REPLAY_TENSORS = 96, REPLAY_SETTINGS = 24, REPLAY_NUMBERS = 8 };

typedef struct replay_tensor {
    char key[64]; /* the parameter's name in PyTorch */
    ht_dtype dtype;
    bool batch; /* axis 0 is the batch */
    int ndim;
    int64_t shape[REPLAY_AXES], size;
    double *data;
    double *after;                         /* the values after the call; NULL: the same */
    double *grad;                          /* NULL: none */
    double error, after_error, grad_error; /* the largest ones of PyTorch in float32 */
} replay_tensor;

typedef struct replay_setting {
    char key[32];
    int count; /* of numbers; 0: a word */
    double number[REPLAY_NUMBERS];
    char word[32];
} replay_setting;

typedef struct replay_case {
    char name[64];
    int number;   /* in the file */
    bool refused; /* PyTorch refuses it */
    int tensors, settings;
    replay_tensor tensor[REPLAY_TENSORS], result;
    replay_setting setting[REPLAY_SETTINGS];
} replay_case;

typedef enum replay_layout {
    REPLAY_CONTIGUOUS,
    REPLAY_TRANSPOSED, /* the last two axes, in memory */
    REPLAY_CHANNELS_LAST,
    REPLAY_LAYOUTS
} replay_layout;

typedef struct replay_run {
    const replay_case *c;
    ht_dtype dtype; /* of floating operands */
    replay_layout layout;
    bool split;       /* along the batch */
    bool layered;     /* operands are of this process alone, as parameters of layers are */
    bool quiet;       /* a failure is not printed */
    const char *why;  /* the case is left out; NULL: it is not */
    ht_module *layer; /* with the parameters of the case; NULL: a function */
    ht_tensor *tensor[REPLAY_TENSORS];
    bool used[REPLAY_TENSORS], set[REPLAY_SETTINGS];
} replay_run;

/* A function of PyTorch, or a layer: the call that does the same. A NULL name ends a table. */
typedef struct replay_function {
    const char *name;
    ht_tensor *(*call)(replay_run *r);  /* NULL: the layer's output for the input */
    ht_module *(*layer)(replay_run *r); /* owned; NULL: a function */
} replay_function;

extern const replay_function replay_activations[], replay_losses[], replay_norms[],
    replay_windows[], replay_others[], replay_layers[], replay_attention[], replay_recurrent[],
    replay_optimizers[];

/* Opens the database; false if that is impossible. */
bool replay_open(const char *path);

/* The next case, valid until the next call; NULL after the last one. */
const replay_case *replay_next(void);

/* Samples that the database does not have: their number, and the reason; false after the last one. */
bool replay_absent(int index, int *count, const char **why);

void replay_close(void);

/* The operand of this name; NULL: not given. */
ht_tensor *replay_in(replay_run *r, const char *key);

/* The setting of this name, or its entry `index`; otherwise: the default. */
double replay_entry(replay_run *r, const char *key, int index, double otherwise);
double replay_number(replay_run *r, const char *key, double otherwise);
const char *replay_word(replay_run *r, const char *key, const char *otherwise);

/* The setting of this name, a number for each of up to `most` axes; one number is for all. Returns
 * how many there are; 0 if it is not given or a word. */
int replay_list(replay_run *r, const char *key, int most, int64_t list[]);

/* The reduction of a loss; one that does not exist if PyTorch has none of this name. */
ht_reduction_mode replay_reduction(replay_run *r);

/* Why libht differs from PyTorch in this case, on purpose or for now; NULL: it does not. */
const char *replay_known(const replay_case *c);

/* Several results as one vector, one behind the other. */
ht_tensor *replay_joined(int count, ht_tensor *const results[]);

/* Leaves the case out. Returns NULL. */
ht_tensor *replay_leave(replay_run *r, const char *why);

#endif
