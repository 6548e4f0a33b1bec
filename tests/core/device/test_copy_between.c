/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* Tensors that go from one device of a backend to another, without the host: after the work that
 * made them, and before what changes them. */
#include "backends/cuda/cuda_device.h"
#include "core/tensor/tensor.h"
#include "ht/arithmetics.h"
#include "ht/autograd.h"
#include "ht/exponential.h"
#include "ht/factories.h"
#include "ht/manipulations.h"
#include "tensor_check.h"

enum { COUNT = 100000 };

static ht_device *find(const char *backend, int index)
{
    char name[32];

    if (strcmp(backend, "cuda") == 0 &&
        (cuda_device() == NULL || cuda_device()->backend->device_count() < 3))
        return NULL;
    snprintf(name, sizeof name, "%s:%d", backend, index);
    return ht_device_get(name);
}

static ht_tensor *numbers(ht_device *device)
{
    return ht_to_device(ht_test_randn(1, (int64_t[]){COUNT}, HT_FLOAT32, HT_NONE, 3), device);
}

/* The source is changed before any wait; the copy is changed, too, and copied to a third device. */
static void values_are_those_of_the_time_of_the_call(const char *backend)
{
    ht_scope *scope = ht_scope_open();
    ht_device *host = ht_device_get("cpu");
    ht_tensor *x = numbers(find(backend, 1)), *plain = numbers(host), *y, *z;

    x = ht_mul(x, x);
    plain = ht_mul(plain, plain);
    y = ht_to_device(x, find(backend, 2));
    ht_mul_scalar_(x, 0);
    assert_ptr_equal(ht_tensor_device(y), find(backend, 2));
    z = ht_to_device(ht_add(y, y), find(backend, 0));
    ht_mul_scalar_(y, 3);
    ht_test_expect_same(ht_to_device(z, host), ht_add(plain, plain), 0);
    ht_mul_scalar_(plain, 3);
    ht_test_expect_same(ht_to_device(y, host), plain, 0);
    ht_scope_close(scope);
}

static void gradients_come_back(const char *backend)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = numbers(find(backend, 1)), *y;

    ht_tensor_set_requires_grad(x, true);
    y = ht_to_device(x, find(backend, 0));
    ht_backward(ht_sum(ht_mul(y, y), HT_NONE));
    assert_ptr_equal(ht_tensor_device(ht_tensor_grad(x)), find(backend, 1));
    y = numbers(ht_device_get("cpu"));
    ht_test_expect_same(ht_to_device(ht_tensor_grad(x), ht_device_get("cpu")), ht_add(y, y), 0);
    ht_scope_close(scope);
}

static const char *const backends[] = {"lag", "cuda"};

static void tensors_go_from_device_to_device(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
        if (find(backends[i], 0) == NULL)
            continue;
        values_are_those_of_the_time_of_the_call(backends[i]);
        gradients_come_back(backends[i]);
    }
}

/* The memory of the host stays as it is. */
static void copies_do_not_use_host_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
        ht_device *first = find(backends[i], 0), *second = find(backends[i], 1);
        ht_device_memory before, after;
        ht_scope *scope = ht_scope_open();
        ht_tensor *x;

        if (first != NULL && first->backend->copy_between != NULL) {
            x = numbers(first);
            ht_device_get_memory(ht_device_get("cpu"), &before);
            assert_non_null(ht_to_device(x, second));
            ht_device_get_memory(ht_device_get("cpu"), &after);
            assert_int_equal(after.allocated, before.allocated);
        }
        ht_scope_close(scope);
    }
}

HT_TEST_SUITE(test_copy_between, cmocka_unit_test(tensors_go_from_device_to_device),
              cmocka_unit_test(copies_do_not_use_host_memory));
