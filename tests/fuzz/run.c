/* SPDX-License-Identifier: MIT
 *
 * Runs a program, statement by statement: on the library, then in the fuzzer's own arrays, and
 * compares after each what came out, and at the end all that is left. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/tensor/tensor.h"
#include "fuzz/ops/ops_gradients.h"

struct outcome made(ht_tensor *t)
{
    struct outcome outcome = {t != NULL ? HT_SUCCESS : ht_error_get(NULL), t};

    if (t == NULL && outcome.status == HT_SUCCESS)
        outcome.status = HT_ERROR_COUNT; /* NULL without an error: never right */
    return outcome;
}

struct outcome done(ht_status status)
{
    struct outcome outcome = {status, NULL};

    return outcome;
}

void fail(struct run *run, const char *format, ...)
{
    va_list arguments;

    if (run->failure[0] != '\0' || arena_full)
        return;
    va_start(arguments, format);
    vsnprintf(run->failure, sizeof run->failure, format, arguments);
    va_end(arguments);
}

static bool arguments_alive(const struct run *run, const struct statement *s)
{
    for (int i = 0; i < MAX_ARGUMENTS; i++) {
        if (s->arg[i] >= 0 && !run->vars[s->arg[i]].alive)
            return false;
    }
    return true;
}

/* Whether all ranks see one status. */
static bool statuses_agree(struct run *run, int number)
{
    int mine[2] = {(int)run->status, -(int)run->status}, most[2];

    MPI_Allreduce(mine, most, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (most[0] == -most[1])
        return true;
    fail(run, "t%d: status differs between ranks: %s and %s", number,
         ht_status_name((ht_status)-most[1]), ht_status_name((ht_status)most[0]));
    return false;
}

/* Whether the message begins with the function that the statement calls, as its format does, or
 * with the one that it makes an operand by. */
static bool names_function(const struct op *op, const char *message)
{
    size_t length = strcspn(op->format, "(");

    return strncmp(op->format, "ht_", 3) != 0 || strncmp(op->format, message, length) == 0 ||
           strncmp(message, "ht_array: ", sizeof "ht_array: " - 1) == 0;
}

/* Whether the library did what it was to do. */
static void check_status(struct run *run, int number, int want)
{
    int status = (int)run->status;

    if (status == HT_ERROR_COUNT)
        fail(run, "t%d: NULL without an error", number);
    else if (want != WANT_SUCCESS && status != HT_SUCCESS &&
             !names_function(run->program->at[number].op, run->message))
        fail(run, "t%d: the error names another function: %s", number, run->message);
    else if (want == WANT_SUCCESS && status != HT_SUCCESS)
        fail(run, "t%d: failed: %s", number, run->message);
    else if (want > 0 && status == HT_SUCCESS)
        fail(run, "t%d: succeeded where %s is right", number, ht_status_name((ht_status)want));
    else if (want == WANT_FAILURE && status == HT_SUCCESS)
        fail(run, "t%d: succeeded where an error is right", number);
    else if (want > 0 && status != want)
        fail(run, "t%d: %s (%s) where %s is right", number, ht_status_name(run->status),
             run->message, ht_status_name((ht_status)want));
}

/* A tensor without elements, or without any that depend on a leaf, may still be a part of a graph.
 */
static void remember_graph(struct run *run, const struct statement *s, const struct array *result)
{
    bool tracked = false;

    for (int i = 0; i < MAX_ARGUMENTS && run->recording; i++) {
        const struct array *x = s->arg[i] >= 0 ? &run->vars[s->arg[i]].a : NULL;

        tracked = tracked || (x != NULL && !x->cut && x->memory->tracked);
    }
    if (tracked && result->memory != NULL && kind_of(result->dtype) >= KIND_FLOAT)
        result->memory->tracked = true;
    if (tracked && s->op->rules & RULE_WRITES && is_floating(run, &run->vars[s->arg[0]]))
        array_of(run, s, 0)->memory->tracked = true;
}

static void remember_saved(struct run *run, const struct statement *s, const struct array *result)
{
    if (!run->recording || !(s->op->rules & RULE_SAVES))
        return;
    for (int i = 0; i < MAX_ARGUMENTS; i++) {
        if (s->arg[i] >= 0)
            run->vars[s->arg[i]].a.memory->saved = true;
    }
    if (result->memory != NULL)
        result->memory->saved = true;
}

/* The call, where an allocation may be made to fail; whether it did. */
static bool call_starved(struct run *run, const struct statement *s, struct outcome *outcome)
{
    if (s->starve > 0)
        ht__alloc_fail(run->rank, s->starve, true);
    *outcome = s->op->call(run, s);
    return s->starve > 0 && ht__alloc_fail(-1, 0, true) <= 0;
}

/* Without memory, the target of a write may have any value, and so may gradients. */
static void give_up(struct run *run, const struct statement *s)
{
    if (s->op->rules & (RULE_WRITES | RULE_GRADIENTS) && s->arg[0] >= 0) {
        forget(array_of(run, s, 0)->memory);
        array_of(run, s, 0)->memory->frozen = true;
    }
    for (int i = 0; s->op->rules & RULE_GRADIENTS && i < run->leaf_count; i++)
        run->leaves[i].unknown = true;
    if (s->op->rules & RULE_GRADIENTS)
        end_graphs(run);
    ht_error_clear();
}

/* A result lies in memory as its operand does; its views follow from that. */
static void lay_as(struct run *run, struct array *x, ht_tensor *t)
{
    if (t == NULL || x->memory == NULL || x->view || x->ndim != ht_tensor_ndim(t) ||
        array_size(x) != x->memory->count)
        return;
    for (int i = 0; i < run->program->count; i++) {
        const struct variable *other = &run->vars[i];

        if (other->alive && &other->a != x && other->a.memory == x->memory)
            return;
    }
    array_lay(x, t->body->gstride);
}

static void run_statement(struct run *run, int number)
{
    struct statement *s = &run->program->at[number];
    struct variable *x = &run->vars[number];
    struct outcome outcome;
    const char *message;
    int want;

    x->leaf = -1;
    if (s->dead || !arguments_alive(run, s) ||
        (s->op->rules & RULE_WRITES && run->vars[s->arg[0]].a.memory->frozen))
        return;
    if (run->trace && run->rank == 0)
        statement_print(run, s, number);
    ht_error_clear();
    if (call_starved(run, s, &outcome) && ht_error_get(NULL) == HT_ERR_MEMORY) {
        give_up(run, s);
        return;
    }
    run->status = outcome.status;
    if (ht_error_get(&message) != HT_SUCCESS && outcome.status == HT_SUCCESS)
        fail(run, "t%d: success, and an error: %s", number, message);
    snprintf(run->message, sizeof run->message, "%s", message);
    ht_error_clear();
    memset(&x->a, 0, sizeof x->a);
    if (!statuses_agree(run, number))
        return;
    want = s->op->reference(run, s, &x->a);
    check_status(run, number, want);
    if (want != WANT_SUCCESS || run->status != HT_SUCCESS)
        return;
    remember_graph(run, s, &x->a);
    remember_saved(run, s, &x->a);
    if (s->op->rules & RULE_WRITES) /* a new distribution is a new place */
        lay_as(run, array_of(run, s, 0), tensor_of(run, s, 0));
    if (x->a.memory == NULL)
        return;
    if (kind_of(x->a.dtype) >= KIND_FLOAT && eps_of(x->a.dtype) > run->eps)
        run->eps = eps_of(x->a.dtype);
    lay_as(run, &x->a, outcome.t);
    if (s->op->rules & RULE_LAYER && outcome.t != NULL) /* a new tensor, or the only view of one */
        x->a.view = outcome.t->view;
    x->t = outcome.t;
    x->alive = true;
    if (outcome.t != NULL)
        check_tensor(run, number, outcome.t, &x->a);
}

/* Whether any rank has seen a difference; then all stop. */
static bool any_failed(struct run *run)
{
    struct {
        int failed, rank;
    } mine = {run->failure[0] != '\0', run->rank}, one;

    MPI_Allreduce(&mine, &one, 1, MPI_2INT, MPI_MAXLOC, MPI_COMM_WORLD);
    if (one.failed)
        MPI_Bcast(run->failure, sizeof run->failure, MPI_CHAR, one.rank, MPI_COMM_WORLD);
    return one.failed;
}

static void begin(struct run *run, struct program *program)
{
    struct random random = run->random;
    bool generate = run->generate, trace = run->trace, starves = run->starves;
    bool layers = run->layers;

    memset(run, 0, sizeof *run);
    run->random = random;
    run->generate = generate;
    run->trace = trace;
    run->starves = starves;
    run->layers = layers;
    run->program = program;
    run->recording = true;
    MPI_Comm_rank(MPI_COMM_WORLD, &run->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run->size);
    arena_reset();
    ht_set_grad_enabled(true);
}

/* A layer refuses most splits; only some statements try that. */
static bool would_be_refused(struct run *run, const struct statement *s)
{
    return s->op->rules & RULE_LAYER && ht_tensor_split(tensor_of(run, s, 0)) > 0 &&
           random_chance(&run->random, 70);
}

static void next_statement(struct run *run)
{
    struct program *program = run->program;
    struct statement *s = &program->at[program->count];

    for (int tries = 0; tries < 200; tries++) {
        const struct op *op = op_random(run);

        memset(s, 0, sizeof *s);
        s->op = op;
        s->split = HT_NONE;
        s->seed = random_next(&run->random);
        for (int i = 0; i < MAX_ARGUMENTS; i++)
            s->arg[i] = -1;
        if (op->generate(run, op, s) && !would_be_refused(run, s)) {
            if (program->starves && random_chance(&run->random, 30))
                s->starve = 1 + random_below(&run->random, 6);
            program->count++;
            return;
        }
    }
}

/* Whether the library knows which tensors are parts of a graph, while gradients are recorded. */
static void check_history(struct run *run, int number)
{
    const struct variable *x = &run->vars[number];
    enum needs right = needs_gradient(run, &x->a);

    if (x->spent || right == NEEDS_PERHAPS || x->a.memory->frozen)
        return;
    if (ht_tensor_requires_grad(x->t) != (right == NEEDS))
        fail(run, "t%d %s a gradient", number, right == NEEDS ? "needs no" : "needs");
    ht_error_clear();
}

static void check_all(struct run *run)
{
    for (int i = 0; i < run->program->count; i++) {
        if (!run->vars[i].alive || run->vars[i].t == NULL)
            continue;
        check_tensor(run, i, run->vars[i].t, &run->vars[i].a);
        check_history(run, i);
    }
    check_gradients(run);
}

bool program_run(struct program *program, struct run *run)
{
    int length = program->count;
    int64_t objects = objects_alive();
    ht_scope *scope = ht_scope_open();
    bool failed = false;

    begin(run, program);
    if (run->generate) {
        program->count = 0;
        program->starves = run->starves;
        program->layers = run->layers;
        program->differentiates = random_chance(&run->random, 40);
        length = 4 + (int)random_below(&run->random, MAX_STATEMENTS / 2);
    }
    for (int i = 0; i < length && !failed && !arena_full; i++) {
        if (run->generate)
            next_statement(run);
        if (i < program->count)
            run_statement(run, i);
        failed = any_failed(run);
    }
    ht_set_grad_enabled(true);
    if (!failed && !arena_full) {
        check_all(run);
        failed = any_failed(run);
    }
    ht_scope_close(scope);
    arrays_free();
    ht_error_clear();
    if (!failed && objects_alive() != objects) {
        fail(run, "%lld objects are left", (long long)(objects_alive() - objects));
        failed = true;
    }
    return !any_failed(run);
}
