/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "ht.h"
#include "ht_test.h"
#include "tensor_check.h"

static const int64_t shape[1] = {8};

static ht_tensor *number(void)
{
    return ht_ones(1, shape, HT_FLOAT32, HT_NONE);
}

static void closing_releases_objects_made_inside(void **state)
{
    (void)state;
    int64_t before = ht_live_objects("tensor");
    ht_scope *scope = ht_scope_open();

    for (int i = 0; i < 100; i++)
        assert_non_null(ht_add(number(), number()));
    assert_true(ht_live_objects("tensor") >= before + 300);
    ht_scope_close(scope);
    assert_int_equal(ht_live_objects("tensor"), before);
}

static void retained_and_returned_tensors_survive(void **state)
{
    (void)state;
    ht_scope *outer = ht_scope_open(), *inner = ht_scope_open();
    ht_tensor *kept = ht_retain(number());
    ht_tensor *returned = ht_scope_return(inner, number());

    assert_int_equal(ht_tensor_size(kept), 8);
    assert_int_equal(ht_tensor_size(returned), 8);
    ht_release(kept);
    ht_scope_close(outer);
}

static void closing_an_outer_scope_closes_inner_ones(void **state)
{
    (void)state;
    int64_t before = ht_live_objects("tensor");
    ht_scope *outer = ht_scope_open();

    ht_scope_open(); /* as after an early return */
    number();
    ht_scope_close(outer);
    assert_int_equal(ht_live_objects("tensor"), before);
}

static void *make_on_thread(void *unused)
{
    (void)unused;
    return ht_retain(number()); /* the thread's root scope dies with the thread */
}

static void a_tensor_of_another_thread_is_adopted(void **state)
{
    (void)state;
    int64_t before = ht_live_objects("tensor");
    ht_scope *scope = ht_scope_open();
    pthread_t thread;
    void *made;

    pthread_create(&thread, NULL, make_on_thread, NULL);
    pthread_join(thread, &made);
    ht_tensor *x = ht_scope_adopt(made);
    assert_int_equal(((const float *)ht_test_data(x))[7], 1);
    ht_scope_close(scope);
    assert_int_equal(ht_live_objects("tensor"), before);
}

HT_TEST_SUITE(test_scope, cmocka_unit_test(closing_releases_objects_made_inside),
              cmocka_unit_test(retained_and_returned_tensors_survive),
              cmocka_unit_test(closing_an_outer_scope_closes_inner_ones),
              cmocka_unit_test(a_tensor_of_another_thread_is_adopted));
