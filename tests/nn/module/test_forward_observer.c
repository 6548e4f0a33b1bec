/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* Several observers follow each forward of a module. They see it begin in their order and end in
 * the opposite one, with and without hooks, and also where it fails. */
#include <string.h>

#include "nn/module/module.h"

#include "nn/nn_test.h"

static char heard[64];
static ht_forward_observer outer, inner;

static void before(ht_module *module, void *name)
{
    (void)module;
    strcat(heard, name);
    strcat(heard, "( ");
}

static void after(ht_module *module, bool failed, void *name)
{
    (void)module;
    strcat(heard, failed ? "failed" : "");
    strcat(heard, ")");
    strcat(heard, name);
    strcat(heard, " ");
}

static void before_once(ht_module *module, void *user)
{
    (void)user;
    strcat(heard, "once ");
    ht__module_leave(module, &outer);
}

static ht_value *change_nothing(ht_module *module, ht_value *inputs, void *user)
{
    (void)module;
    (void)inputs;
    (void)user;
    return NULL;
}

static ht_module *observed(void)
{
    ht_module *layer = ht_nn_linear(3, 2);

    outer = (ht_forward_observer){.before = before, .after = after, .user = "a"};
    inner = (ht_forward_observer){.before = before, .after = after, .user = "b"};
    ht__module_observe(layer, &outer);
    ht__module_observe(layer, &inner);
    heard[0] = '\0';
    return layer;
}

static ht_tensor *input(int64_t columns)
{
    return ht_full(HT_SHAPE(2, columns), 1.0, HT_FLOAT32, HT_LOCAL);
}

static void observers_end_in_reverse_order(void **state)
{
    ht_module *layer = observed();

    (void)state;
    assert_non_null(ht_forward(layer, input(3)));
    assert_string_equal(heard, "a( b( )b )a ");
    heard[0] = '\0';
    assert_non_null(ht_forward_value(layer, ht_value_tensor(input(3))));
    assert_string_equal(heard, "a( b( )b )a ");
    heard[0] = '\0';
    ht_module_register_forward_pre_hook(layer, change_nothing, NULL);
    assert_non_null(ht_forward(layer, input(3)));
    assert_string_equal(heard, "a( b( )b )a ");
    ht_release(layer);
}

static void observers_hear_of_a_failed_forward(void **state)
{
    ht_module *layer = observed();

    (void)state;
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    assert_null(ht_forward(layer, input(4)));
    assert_string_equal(heard, "a( b( failed)b failed)a ");
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(layer);
}

static void an_observer_may_leave_in_its_first_call(void **state)
{
    ht_module *layer = observed();

    (void)state;
    outer.before = before_once;
    assert_non_null(ht_forward(layer, input(3)));
    assert_non_null(ht_forward(layer, input(3)));
    assert_string_equal(heard, "once b( )b b( )b ");
    ht_release(layer);
}

/* Its memory is the observer's: a copy that it does not know runs alone. */
static void a_clone_is_not_observed(void **state)
{
    ht_module *layer = observed(), *clone = ht_module_clone(layer);

    (void)state;
    assert_non_null(ht_forward(clone, input(3)));
    assert_string_equal(heard, "");
    ht_release(clone);
    ht_release(layer);
}

HT_TEST_SUITE(test_forward_observer, cmocka_unit_test(observers_end_in_reverse_order),
              cmocka_unit_test(observers_hear_of_a_failed_forward),
              cmocka_unit_test(an_observer_may_leave_in_its_first_call),
              cmocka_unit_test(a_clone_is_not_observed));
