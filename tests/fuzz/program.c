/* SPDX-License-Identifier: MIT
 *
 * Programs: the table of statements, listings, and shrinking what failed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"

/* clang-format off */
static const struct op *const tables[] = {
    ops_factories,      ops_elementwise,    ops_functions,      ops_products,
    ops_spatial,        ops_reduce,         ops_reduce_ext,     ops_moments,
    ops_slabs,          ops_views,          ops_keys,           ops_rows,
    ops_exchange,       ops_rearrange,      ops_order,          ops_fft,
    ops_decompositions, ops_layout,         ops_writes,         ops_layers,
    ops_losses,         ops_gradients,      ops_leaves,         ops_checks,
    ops_misuse,         ops_recurrent,      ops_attention,      ops_pools,
    ops_ranges,         ops_convolutions,   ops_resize,         ops_embedding,
    ops_criteria,       ops_classes,        ops_norms,          ops_activations,
    ops_pairs,          ops_dropout,        NULL};
/* clang-format on */

static int weight_of(const struct run *run, const struct op *op)
{
    bool gradients = op->rules & RULE_GRADIENTS;

    if (op->rules & RULE_LAYER)
        return run->program->layers ? 16 * op->weight : (op->weight + 3) / 4;
    if (run->program->differentiates)
        return op->rules & RULE_SMOOTH ? op->weight : (op->weight + 5) / 6;
    return gradients ? 0 : op->weight;
}

const struct op *op_random(struct run *run)
{
    int64_t all = 0, at;

    for (int t = 0; tables[t] != NULL; t++) {
        for (const struct op *op = tables[t]; op->format != NULL; op++)
            all += weight_of(run, op);
    }
    at = random_below(&run->random, all);
    for (int t = 0; tables[t] != NULL; t++) {
        for (const struct op *op = tables[t]; op->format != NULL; op++) {
            at -= weight_of(run, op);
            if (at < 0)
                return op;
        }
    }
    return NULL;
}

/* --- Listings --- */

static void print_number(ht_number x)
{
    if (x.kind == HT_NUMBER_INTEGER)
        fprintf(stderr, "HT_NUM(%lld)", (long long)x.integer);
    else if (x.kind == HT_NUMBER_REAL)
        fprintf(stderr, "HT_NUM(%.17g)", x.real);
    else
        fprintf(stderr, "HT_COMPLEX(%.17g, %.17g)", x.real, x.imaginary);
}

void statement_print(const struct run *run, const struct statement *s, int number)
{
    int arg = 0, n = 0, v = 0;

    fprintf(stderr, "  t%d = ", number);
    for (const char *c = s->op->format; *c != '\0'; c++) {
        if (*c != '%') {
            fputc(*c, stderr);
            continue;
        }
        switch (*++c) {
        case 't':
            fprintf(stderr, s->arg[arg] < 0 ? "1" : "t%d", s->arg[arg]);
            arg++;
            break;
        case 'n':
            if (s->n[n] == HT_NONE)
                fprintf(stderr, "all");
            else
                fprintf(stderr, "%lld", (long long)s->n[n]);
            n++;
            break;
        case 'v':
            fprintf(stderr, "%.17g", s->v[v++]);
            break;
        case 'l':
            print_number(s->number);
            break;
        case 'd':
            fprintf(stderr, "%s", ht_dtype_name(s->dtype));
            break;
        case 's':
            fprintf(stderr, "%s", shape_text(s->ndim, s->shape));
            break;
        case 'k':
            key_print(s);
            break;
        case 'p':
            if (s->split == HT_NONE)
                fprintf(stderr, "none");
            else
                fprintf(stderr, "%d", s->split);
            break;
        default:
            fprintf(stderr, "%llx", (unsigned long long)s->seed);
        }
    }
    if (s->starve > 0)
        fprintf(stderr, "   # without memory for tensor %ld", s->starve);
    if (run != NULL && run->vars[number].alive)
        fprintf(stderr, "   # %s %s", ht_dtype_name(run->vars[number].a.dtype),
                shape_text(run->vars[number].a.ndim, run->vars[number].a.shape));
    fputc('\n', stderr);
}

void program_print(const struct program *program, const struct run *run)
{
    for (int i = 0; i < program->count; i++) {
        if (!program->at[i].dead)
            statement_print(run, &program->at[i], i);
    }
}

/* --- Shrinking --- */

static struct run trial;
static char found[sizeof trial.failure]; /* the failure that is shrunk */

static bool still_fails(struct program *program)
{
    trial.generate = trial.trace = false;
    return !program_run(program, &trial) && same_failure(trial.failure, found);
}

static void drop_statements(struct program *program)
{
    for (int step = program->count; step >= 1; step /= 2) {
        for (int first = program->count - 1; first >= 0; first -= step) {
            struct program kept = *program;
            bool changed = false;

            for (int i = first; i > first - step && i >= 0; i--) {
                changed = changed || !program->at[i].dead;
                program->at[i].dead = true;
            }
            if (changed && !still_fails(program))
                *program = kept;
        }
    }
}

/* Tries a simpler statement in place of one. */
static void try(struct program *program, int i, const struct statement *simpler)
{
    struct statement kept = program->at[i];

    if (memcmp(&kept, simpler, sizeof kept) == 0)
        return;
    program->at[i] = *simpler;
    if (!still_fails(program))
        program->at[i] = kept;
}

static void simplify_statements(struct program *program)
{
    for (int i = 0; i < program->count; i++) {
        struct statement s;

        if (program->at[i].dead)
            continue;
        for (int k = 0; k < program->at[i].ndim; k++) {
            for (int64_t length = 1; length < program->at[i].shape[k]; length++) {
                s = program->at[i];
                s.shape[k] = length;
                try(program, i, &s);
            }
        }
        s = program->at[i];
        s.split = HT_NONE;
        try(program, i, &s);
        s = program->at[i];
        s.dtype = HT_FLOAT64;
        try(program, i, &s);
    }
}

void program_shrink(struct program *program, char failure[], size_t size)
{
    snprintf(found, sizeof found, "%s", failure);
    drop_statements(program);
    simplify_statements(program);
    drop_statements(program);
    if (!still_fails(program)) /* it does not always fail */
        return;
    snprintf(failure, size, "%s", trial.failure);
}

static struct run current;
static struct program program;

enum { OF_ALL, OF_LAYERS, STARVED };

static bool run_family(const char *family, uint64_t seed, bool trace, int kind)
{
    char failure[sizeof current.failure];

    current.random.state = hash_of(seed, 12345);
    current.generate = true;
    current.trace = trace;
    current.starves = kind == STARVED;
    current.layers = kind == OF_LAYERS;
    if (program_run(&program, &current))
        return true;
    snprintf(failure, sizeof failure, "%s", current.failure);
    if (trace && current.rank == 0)
        fprintf(stderr, "fuzz: before it is shrunk: %s\n", failure);
    program_shrink(&program, failure, sizeof failure);
    if (current.rank == 0) {
        fprintf(stderr, "fuzz: %s, seed %llu, %d ranks: %s\n", family, (unsigned long long)seed,
                current.size, failure);
        program_print(&program, &trial);
    }
    return false;
}

bool family_core(uint64_t seed, bool trace)
{
    return run_family("core", seed, trace, OF_ALL);
}

bool family_layers(uint64_t seed, bool trace)
{
    return run_family("layers", seed, trace, OF_LAYERS);
}

/* Programs in which allocations for tensors fail: an error, and all else is as it was. On one rank:
 * others could not know. */
bool family_starved(uint64_t seed, bool trace)
{
    return run_family("starved", seed, trace, ht_comm_size(HT_COMM_WORLD) == 1 ? STARVED : OF_ALL);
}
