/* ranks 1 */
/* SPDX-License-Identifier: MIT */
/* Guards over a storage: who is asked for which bytes, and how often. */
#include "ht_test.h"

#include "core/core.h"
#include "ht.h"

enum { ROWS = 4, COLUMNS = 6 };

struct asked {
    ht_guard guard;
    bool stays;
    int times;
    int64_t begin, end;
    bool in_parts;
    const ht_tensor *reads; /* while it is asked */
};

static void bring(void *user, int64_t begin, int64_t end, bool in_parts)
{
    struct asked *asked = user;

    asked->times++;
    asked->begin = begin;
    asked->end = end;
    asked->in_parts = in_parts;
    if (asked->reads != NULL)
        ht__body_data(asked->reads->body);
    if (!asked->stays)
        ht__guard_clear(&asked->guard);
}

static void put(struct asked *asked, const ht_tensor *x)
{
    asked->times = 0;
    asked->guard.bring = bring;
    asked->guard.user = asked;
    ht__guard_set(&asked->guard, x->body);
}

static void those_whose_bytes_are_wanted_are_asked(void **state)
{
    int64_t shape[] = {ROWS, COLUMNS};
    ht_tensor *x = ht_zeros(2, shape, HT_FLOAT32, HT_NONE);
    struct asked first = {0}, last = {0};

    (void)state;
    put(&first, ht_narrow(x, 0, 0, 1));
    put(&last, ht_narrow(x, 0, ROWS - 1, ROWS));
    ht__body_data(ht_narrow(x, 0, 1, ROWS - 1)->body);
    assert_int_equal(first.times + last.times, 0);
    ht__body_data(ht_narrow(ht_transpose(x, 0, 1), 1, 1, ROWS)->body);
    assert_int_equal(first.times, 0);
    assert_int_equal(last.times, 1);
    assert_int_equal(last.begin, 1 * COLUMNS * 4);
    assert_int_equal(last.end, ROWS * COLUMNS * 4);
    ht_tensor_data(x);
    assert_int_equal(first.times, 1);
    assert_int_equal(last.times, 1); /* it took itself away */
}

static void one_that_stays_is_asked_once_and_may_read(void **state)
{
    int64_t shape[] = {ROWS, COLUMNS};
    ht_tensor *x = ht_zeros(2, shape, HT_FLOAT32, HT_NONE);
    struct asked a = {.stays = true, .reads = x}, b = {.stays = true};

    (void)state;
    put(&a, x);
    put(&b, x);
    ht__body_first(x->body, 5);
    assert_int_equal(a.times, 1);
    assert_int_equal(b.times, 1);
    assert_int_equal(a.end, 5 * 4);
    assert_true(a.in_parts);
    ht__body_version(x->body);
    ht__body_await(x->body);
    assert_int_equal(a.times, 3);
    assert_false(a.in_parts);
    ht__guard_clear(&a.guard);
    ht__guard_clear(&a.guard);
    ht__guard_clear(&b.guard);
}

static void what_is_inside_asks_nobody(void **state)
{
    int64_t shape[] = {ROWS, COLUMNS};
    ht_tensor *x = ht_zeros(2, shape, HT_FLOAT32, HT_NONE);
    ht_body *body = ht__body_view(x->body);
    struct asked a = {.stays = true};
    ht_tensor *inside;

    (void)state;
    body->inside = true;
    inside = ht__tensor_view(body);
    put(&a, x);
    assert_int_equal(ht_fill_(ht_narrow(inside, 0, 1, 2), 3), HT_SUCCESS);
    assert_int_equal(a.times, 0);
    assert_true(ht_item(ht_sum(x, HT_NONE)) == 3.0 * COLUMNS);
    assert_true(a.times > 0);
    ht__guard_clear(&a.guard);
}

static void a_storage_that_ends_takes_its_guards_away(void **state)
{
    ht_scope *scope = ht_scope_open();
    int64_t shape[] = {ROWS, COLUMNS};
    struct asked a = {0}, b = {0};
    ht_tensor *x = ht_zeros(2, shape, HT_FLOAT32, HT_NONE);

    (void)state;
    put(&a, x);
    put(&b, x);
    ht_scope_close(scope);
    assert_null(a.guard.storage);
    assert_null(b.guard.storage);
    ht__guard_clear(&a.guard);
}

HT_TEST_SUITE(test_storage, cmocka_unit_test(those_whose_bytes_are_wanted_are_asked),
              cmocka_unit_test(one_that_stays_is_asked_once_and_may_read),
              cmocka_unit_test(what_is_inside_asks_nobody),
              cmocka_unit_test(a_storage_that_ends_takes_its_guards_away));
