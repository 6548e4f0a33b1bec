/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* Hooks of an optimizer's steps. */
#include "ht_test.h"
#include "tensor_check.h"

#include <string.h>

#include "ht.h"

/* Hooks write a letter each. */
struct log {
    char text[32], letter;
    uint64_t remove; /* a hook that this one removes; 0: none */
    struct log *to;
    bool fails;
};

static ht_status write_letter(ht_optimizer *optimizer, void *user)
{
    struct log *log = user;

    strncat(log->to->text, &log->letter, 1);
    if (log->remove != 0)
        assert_int_equal(ht_optimizer_remove_hook(optimizer, log->remove), HT_SUCCESS);
    return log->fails ? HT_ERR_STATE : HT_SUCCESS;
}

static ht_optimizer *optimizer_of_one(ht_tensor **p)
{
    const int64_t one = 1;

    *p = ht_ones(1, &one, HT_FLOAT64, HT_LOCAL);
    ht_tensor_set_grad(*p, ht_ones_like(*p));
    return ht_optim_sgd(ht_value_tensors(1, p), 0.5, NULL);
}

static void test_order(void **state)
{
    ht_tensor *p;
    ht_optimizer *o = optimizer_of_one(&p);
    struct log all = {.letter = 'a'}, b = {.letter = 'b', .to = &all};
    struct log c = {.letter = 'c', .to = &all};
    uint64_t first;

    (void)state;
    all.to = &all;
    first = ht_optimizer_register_step_pre_hook(o, write_letter, &all);
    assert_true(ht_optimizer_register_step_post_hook(o, write_letter, &b) > first);
    assert_true(ht_optimizer_register_step_pre_hook(o, write_letter, &c) > 0);
    assert_int_equal(ht_optimizer_step(o), HT_SUCCESS);
    assert_string_equal(all.text, "acb");
    all.remove = first; /* itself; the next one runs all the same */
    assert_int_equal(ht_optimizer_step(o), HT_SUCCESS);
    assert_int_equal(ht_optimizer_step(o), HT_SUCCESS);
    assert_string_equal(all.text, "acbacbcb");
    ht_release(o);
}

/* A hook that fails ends the step before the update. */
static void test_a_failure_ends_the_step(void **state)
{
    ht_tensor *p;
    ht_optimizer *o = optimizer_of_one(&p);
    struct log a = {.letter = 'a', .fails = true}, b = {.letter = 'b', .to = &a};

    (void)state;
    a.to = &a;
    ht_optimizer_register_step_pre_hook(o, write_letter, &a);
    ht_optimizer_register_step_post_hook(o, write_letter, &b);
    assert_int_equal(ht_optimizer_step(o), HT_ERR_STATE);
    assert_string_equal(a.text, "a");
    assert_true(ht_item(p) == 1);
    ht_release(o);
}

static void test_misuse(void **state)
{
    ht_tensor *p;
    ht_optimizer *o = optimizer_of_one(&p);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_optimizer_register_step_pre_hook(o, NULL, NULL), HT_ERR_ARGUMENT,
                         "ht_optimizer_register_step_pre_hook: hook is NULL");
    HT_TEST_EXPECT_ERROR(ht_optimizer_remove_hook(o, 3), HT_ERR_ARGUMENT,
                         "ht_optimizer_remove_hook: id is 3, expected that of a hook of optimizer");
    ht_release(o);
}

HT_TEST_SUITE(test_hooks, cmocka_unit_test(test_order),
              cmocka_unit_test(test_a_failure_ends_the_step), cmocka_unit_test(test_misuse));
