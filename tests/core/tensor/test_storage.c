/* ranks 1 */
/* SPDX-License-Identifier: MIT */
/* Guards over a storage: which of them is asked for which bytes, and how often; and memory that is
 * released temporarily. Tests that end the job are in tests/core/jobs.sh. */
#include "core/tensor/tensor.h"
#include "ht_test.h"
#include "tensor_check.h"

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

static void guards_of_the_accessed_bytes_are_asked(void **state)
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
    ht_test_data(x);
    assert_int_equal(first.times, 1);
    assert_int_equal(last.times, 1); /* it took itself away */
}

static void a_guard_that_stays_is_asked_once_and_may_read(void **state)
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

static void a_body_inside_a_guard_does_not_run_it(void **state)
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

static size_t bytes_in_use(const ht_storage *storage)
{
    ht_device_memory memory;

    ht_device_get_memory(storage->device, &memory);
    return memory.in_use;
}

static void memory_is_put_away_and_brought_back(void **state)
{
    ht_tensor *x = ht_zeros(HT_SHAPE(300, 1000), HT_FLOAT32, HT_NONE), *view;
    ht_storage *storage = x->body->storage;
    size_t before = bytes_in_use(storage);
    unsigned version;

    (void)state;
    ht_fill_(x, 2);
    version = ht__body_version(x->body);
    ht__storage_put_away(storage, "x");
    ht__storage_put_away(storage, "x");
    assert_string_equal(ht__storage_away(storage), "x");
    assert_true(before - bytes_in_use(storage) >= 300 * 1000 * 4);
    assert_null(ht__storage_raw(storage));
    view = ht_narrow(ht_transpose(x, 0, 1), 0, 2, 5); /* that needs no elements */
    assert_true(ht__storage_bring_back(storage));
    assert_true(ht__storage_bring_back(storage));
    assert_null(ht__storage_away(storage));
    assert_int_equal(bytes_in_use(storage), before);
    assert_int_equal(ht__body_version(x->body), version);
    ht_fill_(x, 3);
    assert_true(ht_item(ht_sum(view, HT_NONE)) == 3.0 * 3 * 300);
}

static void the_address_of_memory_put_away_is_an_error(void **state)
{
    ht_device *device = ht_get_device();
    const char *message;
    ht_tensor *x;

    (void)state;
    ht_use_device(ht_device_get("cpu"));
    x = ht_zeros(HT_SHAPE(2, 3), HT_FLOAT32, HT_NONE);
    ht_use_device(device);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht__storage_put_away(x->body->storage, "fc1.weight");
    assert_null(ht_tensor_mutable_data(ht_narrow(x, 0, 0, 1)));
    assert_int_equal(ht_error_get(&message), HT_ERR_STATE);
    assert_string_equal(message,
                        "ht_tensor_data: the memory of fc1.weight is released temporarily");
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    assert_true(ht__storage_bring_back(x->body->storage));
    assert_int_equal(ht__body_version(x->body), 0);
}

static void due_updates_come_before_memory_is_put_away(void **state)
{
    ht_tensor *x = ht_zeros(HT_SHAPE(2, 3), HT_FLOAT32, HT_NONE);
    struct asked a = {0};

    (void)state;
    put(&a, x);
    ht__storage_put_away(x->body->storage, "x");
    assert_int_equal(a.times, 1);
}

/* Values that a graph has saved are valid when they are used, also if memory was released in
 * between. */
static void a_graph_keeps_saved_values_of_memory_put_away(void **state)
{
    float two[] = {2, 2, 2};
    ht_tensor *x = ht_array(two, HT_SHAPE(3), HT_FLOAT32, HT_LOCAL);

    (void)state;
    ht_tensor_set_requires_grad(x, true);

    ht_tensor *y = ht_sum(ht_mul(x, x), HT_NONE);

    ht__storage_put_away(x->body->storage, "x");
    assert_true(ht__storage_bring_back(x->body->storage));
    ht__device_put(x->body->storage->device, ht__storage_raw(x->body->storage), two, sizeof two);
    assert_int_equal(ht_backward(y), HT_SUCCESS);
    assert_true(ht_item(ht_sum(ht_tensor_grad(x), HT_NONE)) == 12);
}

HT_TEST_SUITE(test_storage, cmocka_unit_test(guards_of_the_accessed_bytes_are_asked),
              cmocka_unit_test(a_guard_that_stays_is_asked_once_and_may_read),
              cmocka_unit_test(a_body_inside_a_guard_does_not_run_it),
              cmocka_unit_test(a_storage_that_ends_takes_its_guards_away),
              cmocka_unit_test(memory_is_put_away_and_brought_back),
              cmocka_unit_test(the_address_of_memory_put_away_is_an_error),
              cmocka_unit_test(due_updates_come_before_memory_is_put_away),
              cmocka_unit_test(a_graph_keeps_saved_values_of_memory_put_away));
