/* SPDX-License-Identifier: MIT
 *
 * Random programs of tensor operations, run on the library and on the fuzzer's own arrays.
 *
 * A program is a list of statements; a statement's result is a variable with the statement's
 * number. Statements are made one by one while the program runs, so that they fit the existing
 * variables. Running the list again needs no random numbers, nor does running parts of it when a
 * failure is shrunk. */
#ifndef HT_FUZZ_H
#define HT_FUZZ_H

#include <stdarg.h>

#include "fuzz/array.h"

struct random {
    uint64_t state;
};
uint64_t random_next(struct random *random);
int64_t random_below(struct random *random, int64_t n);
bool random_chance(struct random *random, int percent);
double random_unit(struct random *random);
uint64_t hash_of(uint64_t seed, uint64_t index);

enum { MAX_STATEMENTS = 64, MAX_ARGUMENTS = 3, MAX_NUMBERS = 6, MAX_LEAVES = 4 };

struct op;
struct statement {
    const struct op *op;
    int arg[MAX_ARGUMENTS]; /* variables */
    int64_t n[MAX_NUMBERS];
    double v[2];
    ht_number number; /* of a long form */
    ht_dtype dtype;
    int ndim, split;
    int64_t shape[HT_MAX_NDIM];
    uint64_t seed;
    long starve; /* this allocation for a tensor in it fails; 0: none */
    bool dead;   /* taken out while shrinking */
};

struct program {
    int count;
    bool differentiates; /* has leaves */
    bool starves;        /* memory runs out here and there */
    bool layers;         /* of layers above all */
    struct statement at[MAX_STATEMENTS];
};

struct variable {
    bool alive;
    ht_tensor *t;
    struct array a;
    int leaf;   /* number of the leaf, or -1 */
    bool spent; /* its graph is gone */
};

struct leaf {
    int variable, slot;
    bool unknown;
    double grad[MAX_DUALS], size[MAX_DUALS]; /* of its components, from slot on */
};

struct run {
    struct program *program;
    bool generate, trace, starves, layers;
    struct random random;
    struct variable vars[MAX_STATEMENTS];
    struct leaf leaves[MAX_LEAVES];
    int leaf_count, slots;
    bool recording, wrote, once; /* once: a second backward pass would be another one */
    int passes;                  /* backward passes so far */
    ht_status status;            /* what the library made of the statement */
    char message[512];
    char failure[1024]; /* "": none */
    int rank, size;
    double eps; /* of the coarsest dtype in the program */
};

/* The expected effect of a statement: success (with the result `out`, if there is one), this
 * ht_status, any failure, or anything, after which the result is forgotten. */
enum { WANT_SUCCESS = 0, WANT_FAILURE = -1, WANT_ANYTHING = -2 };

struct outcome {
    ht_status status;
    ht_tensor *t; /* NULL: an action */
};
struct outcome made(ht_tensor *t);
struct outcome done(ht_status status);

struct op {
    const char *format; /* how it prints: %t a variable, %n a number, %v a double, %l a number of
                           any kind, %d dtype, %s shape, %p split, %k key, %x seed */
    int weight;         /* weight among the other operations */
    bool (*generate)(struct run *run, const struct op *op, struct statement *s);
    struct outcome (*call)(struct run *run, const struct statement *s);
    int (*reference)(struct run *run, const struct statement *s, struct array *out);
    union { /* of rows that share their functions */
        struct {
            ht_tensor *(*call)(ht_tensor *);
            unary_number *number;
        } unary;
        struct {
            ht_tensor *(*call)(ht_tensor *, ht_tensor *);
            binary_number *number;
        } binary;
        struct {
            ht_tensor *(*call)(ht_tensor *, double);
            ht_tensor *(*long_call)(ht_tensor *, ht_number);
            binary_number *number;
        } scalar;
        struct {
            ht_tensor *(*call)(ht_tensor *, int);
            int what;
        } reduction;
        struct {
            ht_tensor *(*call)(ht_tensor *, const ht_reduce_options *);
            int what;
        } reduce_ext;
    } row;
    unsigned rules; /* RULE_... */
};
enum {
    RULE_FLOAT = 1, /* integers and bool give float32 */
    RULE_BOOL = 2,  /* the result is bool */
    RULE_NO_BOOL = 4,
    RULE_NO_COMPLEX = 8,
    RULE_NO_INTEGER = 16,
    RULE_SMOOTH = 32, /* makes sense in a program with gradients */
    RULE_WRITES = 64,
    RULE_GRADIENTS = 128,
    RULE_SAVES = 256,  /* its backward needs values of operands or results as they were */
    RULE_LONG = 512,   /* takes `number` of the statement, not v[0] */
    RULE_REAL = 1024,  /* complex numbers are left to other tests */
    RULE_WHOLE = 2048, /* integers alone, and bool */
    RULE_CUT = 4096,   /* the result is in no graph */
    RULE_LAYER = 8192  /* of the family of layers above all */
};

/* The table, ended by a NULL format. */
extern const struct op ops_factories[], ops_elementwise[], ops_functions[], ops_products[],
    ops_spatial[], ops_reduce[], ops_reduce_ext[], ops_moments[], ops_slabs[], ops_views[],
    ops_keys[], ops_rows[], ops_exchange[], ops_rearrange[], ops_order[], ops_fft[],
    ops_decompositions[], ops_layout[], ops_writes[], ops_layers[], ops_losses[], ops_gradients[],
    ops_leaves[], ops_checks[], ops_misuse[], ops_recurrent[], ops_attention[], ops_pools[],
    ops_ranges[], ops_convolutions[], ops_resize[], ops_embedding[], ops_criteria[], ops_classes[],
    ops_norms[], ops_activations[], ops_pairs[], ops_dropout[];
const struct op *op_random(struct run *run);

/* Variables for a new statement; -1: none. */
typedef bool variable_filter(struct run *run, const struct variable *x);
int pick(struct run *run, variable_filter *filter);
int pick_any(struct run *run);
variable_filter is_floating, is_writable;
int random_axis(struct run *run, int ndim);
ht_dtype random_dtype(struct run *run);
ht_number random_number(struct run *run);
/* The number that a statement passes with a tensor of the dtype. */
ht_number number_passed(const struct statement *s, ht_dtype dtype);
int random_shape(struct run *run, int64_t shape[]);
int random_split(struct run *run, int ndim);

struct array *array_of(struct run *run, const struct statement *s, int argument);
ht_tensor *tensor_of(struct run *run, const struct statement *s, int argument);
bool axis_of(int *axis, int ndim);
/* Writing to an element, with recording on or off; without a word to the graph. */
void write_element(struct run *run, const struct array *x, int64_t index, struct number value);
void write_value(const struct array *x, int64_t index, struct number value);
/* All that shares the memory may be anything from now on. */
int forget(struct memory *memory);
int check_write(struct run *run, const struct statement *s, const struct array *from);
int check_write_to(struct run *run, const struct array *x, const struct array *from);
/* Whether some element depends on a leaf, and its graph is there. */
variable_filter depends;
bool is_leaf_memory(const struct run *run, const struct memory *memory);
/* Whether the library's tensor needs a gradient: yes, no, or perhaps. It is perhaps for a tensor
 * without elements, or one whose elements have all been overwritten: it may still be a part of a
 * graph. */
enum needs { NEEDS_NOT, NEEDS_PERHAPS, NEEDS };
enum needs needs_gradient(const struct run *run, const struct array *x);
/* 0: no rank's parts share memory, 1: all that have elements do, 2: some. Collective. */
int shared_by(ht_tensor *a, ht_tensor *b);
/* t, or where the host does not reach its memory a copy of it on the host; NULL after an error. */
ht_tensor *on_host(ht_tensor *t);
/* The local part of t, dense and in reach of the host; NULL after an error, or if it is empty. */
const void *values_of(ht_tensor *t);
/* Writes `values` over all of t, which is float64 and complete, but not a part of a graph's
 * history. */
ht_status set_values(ht_tensor *t, const double values[]);

/* All but devices, which stay where something asks for one. */
int64_t objects_alive(void);

/* Records a difference; the first one counts. */
void fail(struct run *run, const char *format, ...) HT_PRINTF(2, 3);
void check_tensor(struct run *run, int variable, ht_tensor *t, const struct array *a);
void check_gradients(struct run *run);
void gather(ht_tensor *t, struct array *a); /* the complete tensor, from all ranks' parts */

/* Numbers to compute with: styles from DATA_SMALL on. */
enum {
    DATA_SMALL,
    DATA_FRACTION,
    DATA_POSITIVE,
    DATA_SPECIAL,
    DATA_SPREAD,
    DATA_TIES,
    DATA_NORMAL,
    DATA_EDGE, /* the ends of a dtype's range */
    DATA_STYLES
};
struct number data_number(int style, ht_dtype dtype, uint64_t seed, uint64_t index);

/* program.c */
void program_generate(struct program *program, uint64_t seed, struct run *run);
bool program_run(struct program *program, struct run *run); /* false: it failed */
void program_print(const struct program *program, const struct run *run);
void statement_print(const struct run *run, const struct statement *s, int number);
void key_print(const struct statement *s); /* of ops_keys */
void program_shrink(struct program *program, char failure[], size_t size);

/* shrink.c: whether two failures have one reason, disregarding numbers and dtypes. A shrunk program
 * must not show another failure than the one that was found. */
bool same_failure(const char *a, const char *b);

/* Families: each runs one case and returns whether all is well, the same on every rank. */
bool family_core(uint64_t seed, bool trace);
bool family_layers(uint64_t seed, bool trace);
bool family_starved(uint64_t seed, bool trace);
bool family_train(uint64_t seed, bool trace);
bool family_loader(uint64_t seed, bool trace);
bool family_optimizers(uint64_t seed, bool trace);
bool family_schedules(uint64_t seed, bool trace);
bool family_comm(uint64_t seed, bool trace);
bool family_exchange(uint64_t seed, bool trace);
bool family_damage(uint64_t seed, bool trace);
bool family_files(uint64_t seed, bool trace);
bool family_faults(uint64_t seed, bool trace);
bool family_agrees(uint64_t seed, bool trace);
bool family_states(uint64_t seed, bool trace);
bool family_daso(uint64_t seed, bool trace);
void every_second_rank_end(void); /* after the last case of training */
extern const char *fuzz_folder;   /* for files, the same on all ranks */

#endif
