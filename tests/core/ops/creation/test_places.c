/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* The device and communicator of new tensors: by each factory and draw, short, with HT_LOCAL,
 * long. */
#include "ht_test.h"
#include "tensor_check.h"

typedef struct factory {
    const char *name;
    ht_tensor *(*here)(int split);
    ht_tensor *(*there)(int split, ht_device *device, ht_comm *comm);
} factory;

static const double numbers[] = {1, 2, 3, 4, 5, 6};

/* The two functions of a row, from the calls that they make. */
#define FACTORY(name, short_call, long_call)                                    \
    static ht_tensor *name##_here(int split)                                    \
    {                                                                           \
        return short_call;                                                      \
    }                                                                           \
                                                                                \
    static ht_tensor *name##_there(int split, ht_device *device, ht_comm *comm) \
    {                                                                           \
        return long_call;                                                       \
    }
#define ROW(name)                                     \
    {                                                 \
        "ht_" #name "_ext", name##_here, name##_there \
    }

FACTORY(empty, ht_empty(HT_SHAPE(6, 1), HT_INT8, split),
        ht_empty_ext(HT_SHAPE(6, 1), HT_INT8, split, device, comm))
FACTORY(zeros, ht_zeros(HT_SHAPE(6, 1), HT_INT8, split),
        ht_zeros_ext(HT_SHAPE(6, 1), HT_INT8, split, device, comm))
FACTORY(ones, ht_ones(HT_SHAPE(6, 1), HT_INT8, split),
        ht_ones_ext(HT_SHAPE(6, 1), HT_INT8, split, device, comm))
FACTORY(full, ht_full(HT_SHAPE(6), 7, HT_FLOAT64, split),
        ht_full_ext(HT_SHAPE(6), HT_NUM(7), HT_FLOAT64, split, device, comm))
FACTORY(arange, ht_arange(0, 6, 1, HT_INT64, split),
        ht_arange_ext(HT_NUM(0), HT_NUM(6.0), HT_NUM(1), HT_INT64, split, device, comm))
FACTORY(linspace, ht_linspace(0, 1, 6, HT_FLOAT64, split),
        ht_linspace_ext(0, 1, 6, HT_FLOAT64, split, device, comm))
FACTORY(eye, ht_eye(6, 4, HT_BOOL, split), ht_eye_ext(6, 4, HT_BOOL, split, device, comm))
FACTORY(array, ht_array(numbers, HT_SHAPE(6), HT_FLOAT64, split),
        ht_array_ext(numbers, HT_SHAPE(6), HT_FLOAT64, split, device, comm))
FACTORY(rand, ht_rand(HT_SHAPE(6), HT_FLOAT32, split),
        ht_rand_ext(HT_SHAPE(6), HT_FLOAT32, split, device, comm))
FACTORY(randn, ht_randn(HT_SHAPE(6), HT_FLOAT32, split),
        ht_randn_ext(HT_SHAPE(6), HT_FLOAT32, split, device, comm))
FACTORY(randint, ht_randint(0, 9, HT_SHAPE(6), HT_INT16, split),
        ht_randint_ext(0, 9, HT_SHAPE(6), HT_INT16, split, device, comm))

static const factory factories[] = {ROW(empty),  ROW(zeros),    ROW(ones),   ROW(full),
                                    ROW(arange), ROW(linspace), ROW(eye),    ROW(array),
                                    ROW(rand),   ROW(randn),    ROW(randint)};

#define FOR_EACH(f) \
    for (const factory *f = factories; f < factories + sizeof factories / sizeof *factories; f++)

static void ht_local_makes_a_process_local_tensor(void **state)
{
    (void)state;
    FOR_EACH(f)
    {
        if (ht_test_rank > 0) /* the others do not come here */
            continue;
        ht_tensor *x = f->here(HT_LOCAL);

        assert_ptr_equal(ht_tensor_comm(x), HT_COMM_SELF);
        assert_int_equal(ht_tensor_split(x), HT_NONE);
        assert_int_equal(ht_tensor_lshape(x)[0], 6);
    }
}

/* On the ranks of the same parity, and on a device that is not in use. */
static void the_long_form_takes_a_device_and_a_communicator(void **state)
{
    ht_comm *half = ht_comm_split(HT_COMM_WORLD, ht_test_rank % 2, 0);
    ht_device *device = ht_device_get("cpu:1");

    (void)state;
    FOR_EACH(f)
    {
        ht_random_seed(3);
        ht_tensor *here = f->here(HT_LOCAL);
        ht_random_seed(3);
        ht_tensor *x = f->there(0, device, half), *all = ht_resplit(x, HT_NONE);

        assert_ptr_equal(ht_tensor_comm(x), half);
        assert_ptr_equal(ht_tensor_device(x), device);
        assert_int_equal(ht_tensor_split(x), 0);
        assert_int_equal(ht_tensor_dtype(x), ht_tensor_dtype(here));
        if (f->here != empty_here)
            ht_test_expect_same(ht_tensor_local(ht_to_device(all, ht_get_device())), here, 0);
    }
    ht_release(half);
}

static void a_null_device_or_communicator_is_an_error(void **state)
{
    (void)state;
    FOR_EACH(f)
    {
        HT_TEST_EXPECT_ERROR(f->there(0, NULL, HT_COMM_WORLD), HT_ERR_ARGUMENT, f->name);
        HT_TEST_EXPECT_ERROR(f->there(0, ht_get_device(), NULL), HT_ERR_ARGUMENT, f->name);
        HT_TEST_EXPECT_ERROR(
            f->there(HT_LOCAL, ht_get_device(), HT_COMM_WORLD), HT_ERR_ARGUMENT,
            "split is HT_LOCAL with a communicator, expected HT_NONE and HT_COMM_SELF");
    }
}

/* Process-local draws have the same numbers on all ranks, and do not change the world's. */
static void local_draws_count_by_themselves(void **state)
{
    uint64_t seed, draw;
    ht_tensor *first, *second;

    (void)state;
    ht_random_seed(5);
    first = ht_rand(HT_SHAPE(4), HT_FLOAT32, HT_LOCAL);
    ht_random_get_state(&seed, &draw);
    assert_true(draw == 0);
    second = ht_tensor_local(ht_rand(HT_SHAPE(4), HT_FLOAT32, HT_NONE));
    ht_test_expect_same(first, second, 0);
}

static void like_functions_take_another_dtype(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(5, 2), HT_FLOAT32, 0);
    ht_tensor *made[] = {ht_zeros_like_ext(x, HT_INT8), ht_ones_like_ext(x, HT_INT8),
                         ht_full_like_ext(x, HT_NUM(2), HT_INT8), ht_empty_like_ext(x, HT_INT8)};

    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(ht_tensor_dtype(made[i]), HT_INT8);
        assert_int_equal(ht_tensor_split(made[i]), 0);
        assert_true(i == 3 || ht_item(ht_sum(made[i], HT_NONE)) == 10 * i);
    }
    HT_TEST_EXPECT_ERROR(ht_zeros_like_ext(x, (ht_dtype)77), HT_ERR_ARGUMENT,
                         "ht_zeros_like_ext: dtype is 77, expected an ht_dtype");
}

HT_TEST_SUITE(test_places, cmocka_unit_test(ht_local_makes_a_process_local_tensor),
              cmocka_unit_test(the_long_form_takes_a_device_and_a_communicator),
              cmocka_unit_test(a_null_device_or_communicator_is_an_error),
              cmocka_unit_test(local_draws_count_by_themselves),
              cmocka_unit_test(like_functions_take_another_dtype));
