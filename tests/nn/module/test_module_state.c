/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* State files: saved states come back; what does not fit is said, and changes nothing. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nn/nn_test.h"
#include "tensor_check.h"

static char path[64];

/* A name that all ranks have and no other job. */
static int make_path(void **state)
{
    long id = ht_test_rank == 0 ? (long)getpid() : 0;

    (void)state;
    MPI_Bcast(&id, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "/tmp/ht-test-state-%ld.h5", id);
    return 0;
}

static int remove_path(void **state)
{
    (void)state;
    ht_test_remove(path);
    return 0;
}

static ht_module *net_new(uint64_t seed)
{
    ht_module *net;
    int64_t one = 1;

    ht_nn_seed(seed);
    net = ht_nn_sequential(HT_LIST(ht_module *, ht_nn_conv2d(1, 4, 3), ht_nn_linear(6, 2)));
    ht_module_add_buffer(net, "count", NULL, ht_full(1, &one, (double)seed, HT_INT64, HT_LOCAL));
    return net;
}

static void compare(const char *name, ht_tensor *x, void *other)
{
    ht_tensor *y = ht_module_find_parameter(other, name);

    assert_memory_equal(ht_test_data(x), ht_test_data(y), (size_t)ht_tensor_nbytes(x));
}

static void read_count(const char *name, ht_tensor *x, void *count)
{
    (void)name;
    *(int64_t *)count = *(const int64_t *)ht_test_data(x);
}

static void test_round_trip(void **state)
{
    ht_module *a = net_new(1), *b = net_new(2);
    int64_t count = 0;

    (void)state;
    assert_int_equal(ht_module_save_state(a, path, HT_COMM_WORLD), HT_SUCCESS);
    assert_int_equal(ht_module_load_state(b, path, HT_COMM_WORLD), HT_SUCCESS);
    ht_module_named_parameters(a, compare, b);
    ht_module_named_buffers(b, read_count, &count);
    assert_int_equal(count, 1);
    assert_true(ht_tensor_requires_grad(ht_module_find_parameter(b, "1.weight")));
    ht_release(a);
    ht_release(b);
}

/* Another dtype in the model: values are converted. */
static void test_loads_into_another_dtype(void **state)
{
    ht_module *a = net_new(1), *b = net_new(2);

    (void)state;
    ht_module_save_state(a, path, HT_COMM_WORLD);
    ht_module_to_dtype(b, HT_FLOAT64);
    assert_int_equal(ht_module_load_state(b, path, HT_COMM_WORLD), HT_SUCCESS);
    ht_module_to_dtype(b, HT_FLOAT32);
    ht_module_named_parameters(a, compare, b);
    ht_module_to_dtype(b, HT_BFLOAT16);
    assert_int_equal(ht_module_save_state(b, path, HT_COMM_WORLD), HT_SUCCESS);
    assert_int_equal(ht_module_load_state(a, path, HT_COMM_WORLD), HT_SUCCESS);
    ht_module_to_dtype(b, HT_FLOAT32);
    ht_module_named_parameters(a, compare, b);
    ht_release(a);
    ht_release(b);
}

static void every_entry_that_does_not_fit_is_listed(void **state)
{
    ht_module *a = net_new(1), *b = net_new(2), *same = net_new(2);
    char expected[512];

    (void)state;
    assert_int_equal(ht_module_save_state(a, path, HT_COMM_WORLD), HT_SUCCESS);
    ht_module_replace(b, "0", ht_nn_conv2d_ext(1, 8, 3, NULL, false));
    ht_module_add(b, "2", NULL, ht_nn_linear_ext(3, 3, false));
    ht_module_replace(same, "0", ht_module_clone(ht_module_find(b, "0")));
    ht_module_add(same, "2", NULL, ht_module_clone(ht_module_find(b, "2")));

    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_int_equal(ht_module_load_state(b, path, HT_COMM_WORLD), HT_ERR_FORMAT);
    snprintf(
        expected, sizeof expected,
        "ht_module_load_state: %s does not fit the model: unexpected 0.bias; misshapen 0.weight is "
        "(4, 1, 3, 3) in the state, (8, 1, 3, 3) in the model; missing 2.weight",
        path);
    nn_assert_error(expected);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_module_named_parameters(same, compare, b);
    ht_release(a);
    ht_release(b);
    ht_release(same);
}

static void test_a_checkpoint_is_named_as_one(void **state)
{
    ht_module *net = net_new(1);
    ht_value *run = ht_value_map();
    char expected[512];

    (void)state;
    ht_value_set(run, "model", ht_module_state_dict(net));
    ht_value_set(run, "epoch", ht_value_number(3));
    assert_int_equal(ht_checkpoint_save(run, path, HT_COMM_WORLD, NULL), HT_SUCCESS);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_int_equal(ht_module_load_state(net, path, HT_COMM_WORLD), HT_ERR_FORMAT);
    snprintf(
        expected, sizeof expected,
        "ht_module_load_state: %s is a checkpoint whose entry \"model\" is a state of its own; "
        "load it with ht_checkpoint_load",
        path);
    nn_assert_error(expected);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_release(net);
}

/* Bytes reach HDF5 only if they begin as HDF5 does; for a state, also its first bytes must be
 * undamaged. */
static void test_damaged_first_bytes_are_refused(void **state)
{
    ht_module *net = net_new(1);

    (void)state;
    ht_module_save_state(net, path, HT_COMM_WORLD);
    for (int at = 0; at < 8; at++) {
        ht_barrier(HT_COMM_WORLD);
        if (ht_test_rank == 0) {
            int file = open(path, O_WRONLY);

            assert_int_equal(pwrite(file, "?", 1, at), 1);
            close(file);
        }
        ht_barrier(HT_COMM_WORLD);
        HT_TEST_EXPECT_ERROR(ht_module_load_state(net, path, HT_COMM_WORLD), HT_ERR_FORMAT,
                             "it begins neither as a checkpoint nor as an HDF5 file");
    }
    ht_release(net);
}

static void test_a_failed_save_leaves_the_old_file(void **state)
{
    ht_module *a = net_new(1);
    const char *message;

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_int_equal(ht_module_save_state(a, "/nowhere/model.h5", HT_COMM_WORLD), HT_ERR_IO);
    ht_error_get(&message);
    assert_non_null(strstr(message, "ht_module_save_state: cannot create /nowhere/model.h5"));
    assert_int_equal(ht_module_load_state(a, "/nowhere/model.h5", HT_COMM_WORLD), HT_ERR_IO);
    ht_error_get(&message);
    assert_non_null(strstr(message, "/nowhere/model.h5"));
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_release(a);
}

/* The last entry is the bad one: those before it have not changed. */
static void a_state_with_one_bad_entry_changes_nothing(void **state)
{
    ht_module *net = net_new(1), *other = net_new(2);
    const char *const names[] = {"0.weight", "1.bias"};
    const int64_t two = 2;

    (void)state;
    for (int i = 0; i < 2; i++) { /* on all ranks; complex */
        ht_value *map = ht_module_state_dict(other);
        ht_tensor *before = ht_copy(ht_detach(ht_module_find_parameter(net, names[0])));
        ht_tensor *bad = i == 0 ? ht_zeros(1, &two, HT_FLOAT32, 0)
                                : ht_zeros(1, &two, HT_COMPLEX64, HT_NONE);

        if (i == 1 || ht_test_size == 1)
            bad = ht_astype(ht_tensor_local(bad), HT_COMPLEX64);
        ht_value_set(map, names[1], ht_value_tensor(bad));
        HT_TEST_EXPECT_ERROR(ht_module_load_state_dict(net, map), HT_ERR_FORMAT,
                             i == 0 && ht_test_size > 1 ? "misplaced 1.bias is on"
                                                        : "mistyped 1.bias is complex64");
        ht_test_expect_same(ht_module_find_parameter(net, names[0]), before, 0);
    }
    ht_release(other);
    ht_release(net);
}

HT_TEST_SUITE(
    test_module_state, cmocka_unit_test(a_state_with_one_bad_entry_changes_nothing),
    cmocka_unit_test_setup_teardown(test_round_trip, make_path, remove_path),
    cmocka_unit_test_setup_teardown(test_loads_into_another_dtype, make_path, remove_path),
    cmocka_unit_test_setup_teardown(every_entry_that_does_not_fit_is_listed, make_path,
                                    remove_path),
    cmocka_unit_test_setup_teardown(test_a_checkpoint_is_named_as_one, make_path, remove_path),
    cmocka_unit_test_setup_teardown(test_damaged_first_bytes_are_refused, make_path, remove_path),
    cmocka_unit_test(test_a_failed_save_leaves_the_old_file));
