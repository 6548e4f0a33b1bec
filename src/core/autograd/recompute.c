/* SPDX-License-Identifier: MIT
 *
 * Functions whose backward pass runs them again, instead of keeping what they saved. The graph is
 * recorded once, in the first run, so leaves get their gradients and call their hooks as always.
 * Both runs make new tensors on the same device and communicator. */
#include "core/autograd/autograd.h"
#include "core/tensor/node.h"
#include "ht/gradient_tools.h"

static const char what[] = "ht_recomputed";

typedef struct input {
    ht_body *body; /* owned; NULL: no tensor */
    unsigned version;
    bool needs_grad;
} input;

typedef struct recomputed {
    ht_segment segment;
    ht_recomputed_fn *f;
    void *user;        /* not owned */
    ht_device *device; /* in use in the first run */
    ht_comm *comm;     /* likewise; owned */
    int count;
    input *inputs; /* owned */
} recomputed;

static void drop_state(recomputed *r)
{
    for (int i = 0; i < r->count; i++)
        ht_release(r->inputs[i].body);
    ht__free(r->inputs);
    ht_release(r->comm);
    r->inputs = NULL;
    r->comm = NULL;
    r->count = 0;
}

static void destroy(void *object)
{
    recomputed *r = object;

    drop_state(r);
    ht__segment_fini(&r->segment);
    ht__free(r);
}

static ht_kind kind = {.name = "segment", .destroy = destroy};

/* Leaves in place of the inputs; NULL after an error. */
static ht_tensor **inputs_again(const recomputed *r)
{
    ht_tensor **in = ht__alloc(((size_t)r->count + 1) * sizeof(ht_tensor *));

    for (int i = 0; i < r->count; i++) {
        const input *given = &r->inputs[i];

        if (given->body == NULL)
            continue;
        if (ht__body_version(given->body) != given->version) {
            HT_FAIL(given->body->comm, HT_ERR_STATE,
                    "ht_backward: input %d of %s, %s, has been changed in place since", i, what,
                    ht__shape_str(given->body->ndim, given->body->shape));
            ht__free(in);
            return NULL;
        }
        in[i] = ht__tensor_view(ht_retain(given->body));
        if (given->needs_grad)
            ht_tensor_set_requires_grad(in[i], true);
    }
    return in;
}

static bool run_once_more(recomputed *r)
{
    ht_tensor **in = inputs_again(r), *y;
    ht_segment_run run;
    bool same;

    if (in == NULL)
        return false;
    ht__segment_enter(&run, &r->segment, true);
    y = r->f(in, r->user);
    same = ht__segment_leave(&run);
    ht__free(in);
    if (HT_IS_NULL(y, what, "the result of f"))
        return false;
    if (!same)
        HT_FAIL(y->body->comm, HT_ERR_STATE,
                "ht_backward: f of %s made other operations in its second run, expected the same",
                what);
    return same;
}

/* The communicator in use is one of all threads: it is left alone unless it has changed. */
static void use(ht_device *device, ht_comm *comm)
{
    ht_use_device(device);
    if (comm != ht_get_comm())
        ht_use_comm(comm);
}

static bool run_again(ht_segment *segment)
{
    recomputed *r = (recomputed *)segment;
    ht_scope *scope = ht_scope_open();
    ht_device *device = ht_get_device();
    ht_comm *comm = ht_retain(ht_get_comm());
    const bool was = ht_set_grad_enabled(true);
    bool right;

    use(r->device, r->comm);
    right = run_once_more(r);
    use(device, comm);
    ht_release(comm);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    drop_state(r);
    return right;
}

static recomputed *new_recomputed(ht_recomputed_fn *f, int count, ht_tensor *inputs[], void *user)
{
    recomputed *r = ht__alloc(sizeof *r);

    ht__object_init(r, &kind);
    r->segment.run = run_again;
    r->f = f;
    r->user = user;
    r->device = ht_get_device();
    r->comm = ht_retain(ht_get_comm());
    r->count = count;
    r->inputs = ht__alloc(((size_t)count + 1) * sizeof *r->inputs);
    for (int i = 0; i < count; i++) {
        if (inputs[i] != NULL)
            r->inputs[i] = (input){.body = ht_retain(inputs[i]->body),
                                   .version = ht__body_version(inputs[i]->body),
                                   .needs_grad = ht__needs_grad(inputs[i])};
    }
    return r;
}

static ht_tensor *record(recomputed *r, ht_tensor *inputs[])
{
    ht_scope *scope = ht_scope_open();
    ht_segment_run run;
    ht_tensor *y;

    ht__segment_enter(&run, &r->segment, false);
    y = r->f(inputs, r->user);
    ht__segment_leave(&run);
    return ht_scope_return(scope, y);
}

static ht_tensor *or_error(ht_tensor *y)
{
    if (y == NULL && ht_error_get(NULL) == HT_SUCCESS)
        HT_FAIL(NULL, HT_ERR_STATE, "%s: f returned NULL without an error", what);
    return y;
}

static bool are_current(int count, ht_tensor *inputs[])
{
    for (int i = 0; i < count; i++) {
        if (inputs[i] != NULL && !ht__is_current(inputs[i]) &&
            !ht__catch_up(what, "an input", inputs[i]))
            return false;
    }
    return true;
}

ht_tensor *ht_recomputed(ht_recomputed_fn *f, int count, ht_tensor *inputs[], void *user)
{
    recomputed *r;
    ht_tensor *y;

    if (HT_IS_NULL(f, what, "f") || !ht__check_list(what, NULL, "count", count, "inputs", inputs))
        return NULL;
    if (!ht_is_grad_enabled())
        return or_error(f(inputs, user));
    if (!are_current(count, inputs)) {
        f(inputs, user); /* other ranks may wait in there */
        return NULL;
    }
    r = new_recomputed(f, count, inputs, user);
    y = record(r, inputs);
    ht_release(r);
    return or_error(y);
}
