/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* Several observers follow the passes of a thread: all are asked, in their order, and one may leave
 * or refuse without the others' harm. */
#include <string.h>

#include "core/autograd/autograd.h"

#include "ht_test.h"
#include "tensor_check.h"

static char heard[64];

struct follower {
    ht_backward_observer observer;
    const char *name;
    double scale;
    bool leaves; /* as soon as it is asked */
};

static void note(const struct follower *f, const char *what)
{
    strcat(heard, f->name);
    strcat(heard, what);
    strcat(heard, " ");
}

static double begins(ht_tensor *root, void *user)
{
    struct follower *f = user;

    assert_non_null(root);
    note(f, "?");
    if (f->leaves)
        ht__backward_leave(&f->observer);
    if (f->scale < 0)
        HT_FAIL(root->body->comm, HT_ERR_STATE, "%s will not", f->name);
    return f->scale;
}

static void failed(bool begun, ht_tensor *root, void *user)
{
    (void)root;
    note(user, begun ? "!" : "-");
}

static void progress(void *user)
{
    ((struct follower *)user)->scale += 1; /* too late for this pass */
}

static struct follower a, b, c;

static int come(void **state)
{
    (void)state;
    a = (struct follower){{begins, NULL, failed, &a, NULL}, "a", 2, false};
    b = (struct follower){{begins, NULL, failed, &b, NULL}, "b", 3, false};
    c = (struct follower){{NULL, progress, NULL, &c, NULL}, "c", 0, false};
    ht__backward_observe(&a.observer);
    ht__backward_observe(&b.observer);
    ht__backward_observe(&c.observer);
    heard[0] = '\0';
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    return 0;
}

static int leave(void **state)
{
    (void)state;
    ht__backward_leave(&a.observer);
    ht__backward_leave(&b.observer);
    ht__backward_leave(&c.observer);
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    return 0;
}

static ht_tensor *leaf(void)
{
    ht_tensor *x = ht_full(HT_SHAPE(3), 1.0, HT_FLOAT64, HT_NONE);

    ht_tensor_set_requires_grad(x, true);
    return x;
}

static void factors_multiply(void **state)
{
    ht_tensor *x = leaf();

    (void)state;
    assert_int_equal(ht_backward(ht_sum(x, HT_NONE)), HT_SUCCESS);
    assert_string_equal(heard, "a? b? ");
    assert_true(ht_item(ht_sum(ht_tensor_grad(x), HT_NONE)) == 6.0 * 3);
    assert_true(c.scale > 0);
}

static void one_leaves_when_asked(void **state)
{
    ht_tensor *x = leaf();

    (void)state;
    a.leaves = true;
    assert_int_equal(ht_backward(ht_sum(x, HT_NONE)), HT_SUCCESS);
    assert_int_equal(ht_backward(ht_sum(x, HT_NONE)), HT_SUCCESS);
    assert_string_equal(heard, "a? b? b? ");
    assert_true(ht_item(ht_sum(ht_tensor_grad(x), HT_NONE)) == (6.0 + 3.0) * 3);
}

static void one_refuses(void **state)
{
    ht_tensor *x = leaf();
    ht_tensor *loss = ht_sum(x, HT_NONE);

    (void)state;
    b.scale = -1;
    c.observer.failed = failed;
    assert_int_equal(ht_backward(loss), HT_ERR_STATE);
    assert_string_equal(heard, "a? b? a! c- ");
    assert_null(ht_tensor_grad(x));
}

static void all_hear_of_no_loss(void **state)
{
    (void)state;
    assert_int_equal(ht_backward(NULL), HT_ERR_ARGUMENT);
    assert_string_equal(heard, "a- b- ");
}

static void coming_twice_is_coming_once(void **state)
{
    (void)state;
    ht__backward_observe(&a.observer);
    assert_int_equal(ht_backward(ht_sum(leaf(), HT_NONE)), HT_SUCCESS);
    assert_string_equal(heard, "a? b? ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, come, leave)
HT_TEST_SUITE(test_backward_observer, TEST(factors_multiply), TEST(one_leaves_when_asked),
              TEST(one_refuses), TEST(all_hear_of_no_loss), TEST(coming_twice_is_coming_once));
