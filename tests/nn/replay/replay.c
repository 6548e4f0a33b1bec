/* SPDX-License-Identifier: MIT
 *
 * Replays PyTorch's databases of samples: replay DATABASE [NAME]. Compares results, gradients, and
 * operands that the call changes, in float64 and float32 and in each layout; with several ranks,
 * split along the batch. Prints failures and left-out samples. NAME replays one function alone. */
#include "replay.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const layout_names[] = {"contiguous", "transposed", "channels-last"};

static int replayed, passed, refusals;

/* Why cases are left out. */
static struct {
    int count;
    char why[128];
} reasons[128];
static int reason_count;

static void leave(const char *why, int count)
{
    int i = 0;

    while (i < reason_count && strcmp(reasons[i].why, why) != 0)
        i++;
    if (i == reason_count && i < 127)
        snprintf(reasons[reason_count++].why, sizeof reasons->why, "%s", why);
    reasons[i].count += count;
}

static void complain(const replay_run *r, const char *format, ...)
{
    va_list arguments;

    if (ht_comm_rank(HT_COMM_WORLD) != 0 || r->quiet)
        return;
    printf("# case %d, %s, %s, %s%s: ", r->c->number, r->c->name, ht_dtype_name(r->dtype),
           layout_names[r->layout], r->split ? ", split" : "");
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    puts("");
}

/* ---- Operands ---- */

static ht_tensor *laid_out(ht_tensor *x, replay_layout layout)
{
    if (layout == REPLAY_TRANSPOSED && ht_tensor_ndim(x) >= 2)
        return ht_transpose(ht_contiguous(ht_transpose(x, -1, -2)), -1, -2);
    return layout == REPLAY_CHANNELS_LAST && ht_tensor_ndim(x) == 4 ? ht_channels_last(x) : x;
}

static ht_tensor *operand(const replay_run *r, const replay_tensor *x)
{
    const bool floating = ht_dtype_is_floating(x->dtype);
    const bool was = ht_set_grad_enabled(false);
    ht_tensor *made = ht_array(x->data, x->ndim, x->shape, HT_FLOAT64,
                               r->layered             ? HT_LOCAL
                               : r->split && x->batch ? 0
                                                      : HT_NONE);

    made = ht_astype(made, floating && !r->c->refused ? r->dtype : x->dtype);
    made = ht_detach(floating ? laid_out(made, r->layout) : made);
    ht_set_grad_enabled(was);
    if (x->grad != NULL)
        ht_tensor_set_requires_grad(made, true);
    return made;
}

/* The gradient of the result, as golden_cases.py has it. */
static ht_tensor *seed_of(const replay_run *r)
{
    const replay_tensor *y = &r->c->result;
    double *data = calloc((size_t)y->size + 1, sizeof *data);
    ht_tensor *seed;

    for (int64_t i = 0; i < y->size; i++)
        data[i] = (double)(i * 7 % 5 - 2) * 0.5 + 0.25;
    seed = ht_array(data, y->ndim, y->shape, HT_FLOAT64, r->layered ? HT_LOCAL : HT_NONE);
    free(data);
    return seed;
}

/* ---- Comparison ---- */

/* The largest finite number in absolute value, and at least 0.01. */
static double scale_of(int64_t count, const double *x)
{
    double scale = 0.01;

    for (int64_t i = 0; i < count; i++)
        if (isfinite(x[i]) && fabs(x[i]) > scale)
            scale = fabs(x[i]);
    return scale;
}

static double scale_of_gradients(const replay_case *c)
{
    double scale = 0;

    for (int i = 0; i < c->tensors; i++)
        if (c->tensor[i].grad != NULL)
            scale = fmax(scale, scale_of(c->tensor[i].size, c->tensor[i].grad));
    return scale;
}

static bool near(double x, double expected, double tolerance)
{
    return x == expected || (isnan(x) && isnan(expected)) || fabs(x - expected) <= tolerance;
}

/* Whether x has the shape of `like` and the values expected. A gradient that does not exist is 0. */
static bool agrees(const replay_run *r, const char *what, const char *key, ht_tensor *x,
                   const replay_tensor *like, const double *expected, double error)
{
    const double scale = expected == like->grad ? scale_of_gradients(r->c)
                                                : scale_of(like->size, expected);
    const double tolerance = r->dtype == HT_FLOAT64 ? 1e-11 * scale : 5e-6 * scale + 4 * error;
    double *values = calloc((size_t)like->size + 1, sizeof *values);
    bool same = x == NULL || ht_tensor_ndim(x) == like->ndim;

    for (int i = 0; x != NULL && i < like->ndim && same; i++)
        same = ht_tensor_shape(x)[i] == like->shape[i];
    if (!same ||
        (x != NULL && ht_tensor_to_array(x, values, like->size, HT_FLOAT64) != HT_SUCCESS)) {
        complain(r, "%s%s has another shape", what, key);
        same = false;
    }
    for (int64_t i = 0; i < like->size && same; i++)
        if (!near(values[i], expected[i], tolerance)) {
            complain(r, "%s%s[%d] is %.12g, expected %.12g", what, key, (int)i, values[i],
                     expected[i]);
            same = false;
        }
    free(values);
    return same;
}

static bool gradients_agree(const replay_run *r, ht_tensor *y)
{
    bool same = true, any = false;

    for (int i = 0; i < r->c->tensors; i++)
        any |= r->c->tensor[i].grad != NULL;
    if (any && ht_backward_ext(y, ht_astype(seed_of(r), r->dtype), false) != HT_SUCCESS) {
        const char *message;

        ht_error_get(&message);
        complain(r, "backward: %s", message);
        return false;
    }
    for (int i = 0; i < r->c->tensors; i++)
        if (r->c->tensor[i].grad != NULL)
            same &= agrees(r, "the gradient of ", r->c->tensor[i].key, ht_tensor_grad(r->tensor[i]),
                           &r->c->tensor[i], r->c->tensor[i].grad, r->c->tensor[i].grad_error);
    return same;
}

static bool all_agree(const replay_run *r, ht_tensor *y)
{
    bool same = agrees(r, "the result", "", y, &r->c->result, r->c->result.data,
                       r->c->result.error);

    if (same && ht_tensor_dtype(y) != r->dtype) {
        complain(r, "the result is %s", ht_dtype_name(ht_tensor_dtype(y)));
        same = false;
    }
    for (int i = 0; i < r->c->tensors && same; i++)
        if (r->c->tensor[i].after != NULL)
            same = agrees(r, "after the call ", r->c->tensor[i].key, r->tensor[i], &r->c->tensor[i],
                          r->c->tensor[i].after, r->c->tensor[i].after_error);
    return same && gradients_agree(r, y);
}

/* ---- Runs ---- */

/* Leaves the case out if the call has not read all that it was given. */
static void expect_all_read(replay_run *r)
{
    static char why[192];

    for (int i = 0; i < r->c->tensors && r->why == NULL; i++)
        if (!r->used[i]) {
            snprintf(why, sizeof why, "no operand like %s of %s", r->c->tensor[i].key, r->c->name);
            r->why = why;
        }
    for (int i = 0; i < r->c->settings && r->why == NULL; i++)
        if (!r->set[i]) {
            snprintf(why, sizeof why, "no setting like %s of %s", r->c->setting[i].key, r->c->name);
            r->why = why;
        }
}

/* Makes the layer with the parameters and buffers of the case, which take the places of these
 * operands; false after an error. */
static bool equipped(replay_run *r, const replay_function *f)
{
    bool was;

    r->layer = f->layer(r);
    if (r->layer == NULL)
        return false;
    was = ht_set_grad_enabled(false);
    ht_module_to_dtype(r->layer, r->dtype);
    if (replay_number(r, "training", 0) == 0)
        ht_module_eval(r->layer);
    for (int i = 0; i < r->c->tensors; i++) {
        const char *name = r->c->tensor[i].key + 5;
        ht_tensor *own;

        if (strncmp(r->c->tensor[i].key, "self.", 5) != 0)
            continue;
        own = ht_module_find_parameter(r->layer, name);
        own = own != NULL ? own : ht_module_find_buffer(r->layer, name);
        r->used[i] = own != NULL && ht_copy_(own, r->tensor[i]) == HT_SUCCESS;
        r->tensor[i] = own;
    }
    ht_set_grad_enabled(was);
    return true;
}

static ht_tensor *result_of(replay_run *r, const replay_function *f)
{
    return f->call != NULL ? f->call(r) : ht_forward(r->layer, replay_in(r, "input"));
}

/* Whether the case applies in this run; r->why has the reason if it is left out. */
static bool holds(replay_run *r, const replay_function *f)
{
    ht_scope *scope = ht_scope_open();
    const char *message;
    ht_tensor *y;
    bool same;

    for (int i = 0; i < r->c->tensors; i++)
        r->tensor[i] = operand(r, &r->c->tensor[i]);
    ht_error_clear();
    y = f->layer == NULL || equipped(r, f) ? result_of(r, f) : NULL;
    if (y != NULL || !r->c->refused)
        expect_all_read(r);
    same = r->why != NULL || (y == NULL) == r->c->refused;
    if (!same && r->c->refused)
        complain(r, "is taken, which PyTorch refuses");
    if (!same && !r->c->refused)
        ht_error_get(&message), complain(r, "%s", message);
    if (same && r->why == NULL && r->c->refused && ht_error_get(&message) == HT_SUCCESS) {
        complain(r, "NULL without an error");
        same = false;
    }
    if (same && r->why == NULL && !r->c->refused)
        same = all_agree(r, y);
    ht_error_clear();
    ht_release(r->layer);
    ht_scope_close(scope);
    return same;
}

static bool has_layout(const replay_case *c, replay_layout layout)
{
    const int least = layout == REPLAY_TRANSPOSED ? 2 : 4,
              most = layout == REPLAY_TRANSPOSED ? 9 : 4;

    for (int i = 0; i < c->tensors; i++)
        if (c->tensor[i].ndim >= least && c->tensor[i].ndim <= most)
            return !c->refused || layout == REPLAY_CONTIGUOUS;
    return layout == REPLAY_CONTIGUOUS;
}

static bool has_batch(const replay_case *c)
{
    for (int i = 0; i < c->tensors; i++)
        if (c->tensor[i].batch)
            return true;
    return false;
}

/* Runs a case in each dtype and layout: unsplit on one rank, on several ranks split if it has a
 * batch. */
static void replay(const replay_case *c, const replay_function *f)
{
    const bool split = ht_comm_size(HT_COMM_WORLD) > 1 && has_batch(c);
    const char *known = replay_known(c);
    bool same = true;

    for (int layout = 0; layout < REPLAY_LAYOUTS; layout++)
        for (int d = 0; d < (c->refused ? 1 : 2); d++) {
            replay_run r = {.c = c,
                            .dtype = d == 0 ? HT_FLOAT64 : HT_FLOAT32,
                            .layout = (replay_layout)layout,
                            .split = split && f->layer == NULL,
                            .layered = f->layer != NULL,
                            .quiet = known != NULL};

            if (!same || !has_layout(c, r.layout))
                continue;
            same = holds(&r, f);
            if (r.why != NULL) {
                leave(r.why, 1);
                return;
            }
        }
    if (known != NULL && !same) {
        leave(known, 1);
        return;
    }
    if (known != NULL) {
        complain(&(replay_run){.c = c, .dtype = HT_FLOAT64}, "passes, and is a row of known.c: %s",
                 known);
        same = false;
    }
    replayed++;
    refusals += c->refused;
    passed += same;
}

static const replay_function *function_of(const char *name)
{
    const replay_function *const tables[] = {
        replay_activations, replay_losses,    replay_norms,     replay_windows,   replay_others,
        replay_layers,      replay_attention, replay_recurrent, replay_optimizers};

    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const replay_function *f = tables[t]; f->name != NULL; f++)
            if (strcmp(f->name, name) == 0)
                return f;
    return NULL;
}

static void print_summary(void)
{
    int left = 0, count;
    const char *why;

    for (int i = 0; replay_absent(i, &count, &why); i++)
        leave(why, count);
    if (ht_comm_rank(HT_COMM_WORLD) != 0)
        return;
    for (int i = 0; i < reason_count; i++) {
        printf("# left out %d: %s\n", reasons[i].count, reasons[i].why);
        left += reasons[i].count;
    }
    printf("# replayed %d, of which PyTorch refuses %d; passed %d, failed %d, left out %d\n",
           replayed, refusals, passed, replayed - passed, left);
}

int main(int argc, char **argv)
{
    const replay_case *c;

    ht_init(&argc, &argv);
    if (argc < 2 || !replay_open(argv[1])) {
        fprintf(stderr, "usage: replay DATABASE [NAME]\n");
        return 2;
    }
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    while ((c = replay_next()) != NULL) {
        const replay_function *f = function_of(c->name);

        if (argc > 2 && strcmp(argv[2], c->name) != 0)
            continue;
        if (f == NULL)
            leave("no call for a function of the database", 1);
        else
            replay(c, f);
    }
    print_summary();
    replay_close();
    ht_finalize();
    return replayed == 0 || passed < replayed;
}
