/* SPDX-License-Identifier: MIT
 *
 * RecomputedSequential: a sequential module in parts, each of which runs again in the backward pass
 * but the last, whose turn comes at once. */
#include "ht/containers.h"
#include "ht/gradient_tools.h"
#include "nn/layers/containers/children.h"

static const char what[] = "ht_nn_recomputed_sequential";

typedef struct part {
    ht_module *self;
    int first, end; /* of its modules */
} part;

struct recomputed_sequential {
    int segments;
    part parts[]; /* as many; filled in by each forward */
};

static ht_tensor *run(ht_tensor *inputs[], void *user)
{
    const part *p = user;

    return ht__run_children(p->self, p->first, p->end, inputs[0]);
}

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    struct recomputed_sequential *data = ht_module_data(self);
    const int last = data->segments - 1, length = self->slot_count / data->segments;

    for (int i = 0; i < last; i++) {
        data->parts[i] = (part){self, i * length, (i + 1) * length};
        x = ht_recomputed(run, 1, &x, &data->parts[i]);
    }
    data->parts[last] = (part){self, last * length, self->slot_count};
    return run(&x, &data->parts[last]);
}

static const ht_module_type type = {.name = "RecomputedSequential", .forward = forward};

ht_module *ht_nn_recomputed_sequential(int segments, int count, ht_module *const modules[])
{
    struct recomputed_sequential *data;
    ht_module *self;
    bool valid = ht__is_list(what, count, modules, "modules");

    if (valid && (segments < 1 || segments > count)) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: segments is %d, expected 1 to count, %d", what,
                segments, count);
        for (int i = 0; i < count; i++)
            ht_release(modules[i]); /* taken over */
        valid = false;
    }
    if (!valid)
        return NULL;
    self = ht_module_new(sizeof *data + (size_t)segments * sizeof *data->parts, &type);
    data = ht_module_data(self);
    data->segments = segments;
    return ht__take_children(what, self, count, NULL, modules);
}
