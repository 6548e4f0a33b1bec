/* SPDX-License-Identifier: MIT */
/* Misuse of handles, for tests/core/handles.sh: built as a user builds. A line that ends the life
 * of a handle which is used later says so. */
#include <string.h>

#include "ht.h"

static const int64_t shape[] = {2, 3};

static ht_tensor *ones(void)
{
    return ht_ones(2, shape, HT_FLOAT32, HT_NONE);
}

static void use_closed(const char *how)
{
    ht_scope *scope = ht_scope_open(), *inner;
    ht_tensor *x = ones(), *y;
    ht_value *map = ht_value_map();

    ht_value_set(map, "x", ht_value_number(1));
    if (strcmp(how, "returned") == 0) {
        inner = ht_scope_open();
        y = ones();
        x = ht_scope_return(inner, ones()); /* gone: returned */
        ht_add(x, y);
    }
    ht_scope_close(scope); /* gone: closed */
    if (strcmp(how, "operand") == 0)
        ht_add(ones(), x);
    if (strcmp(how, "attribute") == 0)
        ht_tensor_shape(x);
    if (strcmp(how, "sent") == 0)
        ht_bcast(HT_COMM_WORLD, x, 0);
    if (strcmp(how, "value") == 0)
        ht_value_get(map, "x");
    if (strcmp(how, "retained late") == 0)
        ht_retain(x);
}

static void use_released(const char *how)
{
    ht_scope *scope = ht_scope_open();
    ht_module *net = ht_nn_linear(3, 4);
    ht_tensor *x = ones(), *weight = ht_module_find_parameter(net, "weight");

    if (strcmp(how, "scoped") == 0)
        ht_release(x); /* gone: scoped */
    ht_scope_close(scope);
    ht_release(net); /* gone: released */
    if (strcmp(how, "twice") == 0)
        ht_release(net);
    if (strcmp(how, "forward") == 0)
        ht_forward(net, ones());
    if (strcmp(how, "walk") == 0)
        ht_module_parameters(net);
    if (strcmp(how, "borrowed") == 0)
        ht_tensor_size(weight);
}

/* Correct uses only, with more objects than the quarantine keeps. */
static void use_well(void)
{
    ht_tensor *kept = ht_retain(ones()), *returned;

    for (int i = 0; i < 5000; i++) {
        ht_scope *outer = ht_scope_open(), *scope = ht_scope_open();

        returned = ht_scope_return(scope, ht_add(kept, ones()));
        ht_scope_adopt(ht_retain(returned));
        ht_tensor_size(returned);
        ht_scope_close(outer);
    }
    ht_tensor_size(kept);
    ht_release(kept);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";

    ht_init(&argc, &argv);
    use_closed(how);
    use_released(how);
    if (strcmp(how, "well") == 0)
        use_well();
    if (strcmp(how, "left open") == 0) {
        ht_scope *scope = ht_scope_open();

        ht_scope_open(); /* left open */
        ht_scope_close(scope);
    }
    return ht_finalize();
}
