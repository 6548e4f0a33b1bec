/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* The core's functions marked *agrees*, each with an error on one rank alone. */
#include "ht_test.h"

#include <stdio.h>
#include <string.h>

#include "agrees.h"

/* Files that only some ranks see: each rank names its own. */
static const char *path_of(bool odd)
{
    return odd ? "/nowhere/agrees.h5" : "agrees.h5";
}

static ht_tensor *numbers(void)
{
    return ht_arange(0, 12, 1, HT_FLOAT32, 0);
}

static ht_status loaded(ht_tensor *x)
{
    return x != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

static void write_file(void)
{
    assert_int_equal(ht_save_hdf5(numbers(), "agrees.h5", "x", "w"), HT_SUCCESS);
}

static ht_status load_no_path(bool odd)
{
    write_file();
    return loaded(ht_load_hdf5(odd ? NULL : "agrees.h5", "x", HT_FLOAT32, 0));
}

static ht_status load_unseen(bool odd)
{
    write_file();
    return loaded(ht_load_hdf5(path_of(odd), "x", HT_FLOAT32, 0));
}

static ht_status load_no_dtype(bool odd)
{
    write_file();
    return loaded(ht_load_hdf5("agrees.h5", "x", odd ? (ht_dtype)99 : HT_FLOAT32, 0));
}

static ht_status load_no_dataset(bool odd)
{
    write_file();
    return loaded(ht_load_hdf5("agrees.h5", odd ? "y" : "x", HT_FLOAT32, 0));
}

static ht_status load_no_axis(bool odd)
{
    write_file();
    return loaded(ht_load_hdf5("agrees.h5", "x", HT_FLOAT32, odd ? 7 : 0));
}

static ht_status load_no_device(bool odd)
{
    write_file();
    return loaded(ht_load_hdf5_ext("agrees.h5", "x", HT_FLOAT32, 0, odd ? NULL : ht_get_device(),
                                   HT_COMM_WORLD));
}

static ht_status part_no_dtype(bool odd)
{
    const float part = 1;

    return loaded(ht_array_from_local(&part, HT_SHAPE(1), odd ? (ht_dtype)99 : HT_FLOAT32, 0));
}

static ht_status part_no_device(bool odd)
{
    const float part = 1;

    return loaded(ht_array_from_local_ext(&part, HT_SHAPE(1), HT_FLOAT32, 0,
                                          odd ? NULL : ht_get_device(), HT_COMM_WORLD));
}

static ht_status array_no_memory(bool odd)
{
    double array[12];

    return ht_tensor_to_array(numbers(), odd ? NULL : array, 12, HT_FLOAT64);
}

static ht_status array_too_short(bool odd)
{
    double array[12];

    return ht_tensor_to_array(numbers(), array, odd ? 11 : 12, HT_FLOAT64);
}

static ht_status array_on_no_rank(bool odd)
{
    double array[12];

    return ht_tensor_to_array_ext(numbers(), array, 12, HT_FLOAT64, odd ? 99 : 0);
}

static ht_status save_no_path(bool odd)
{
    return ht_save_hdf5(numbers(), odd ? NULL : "agrees.h5", "x", "w");
}

static ht_status save_no_mode(bool odd)
{
    return ht_save_hdf5(numbers(), "agrees.h5", "x", odd ? "q" : "w");
}

static ht_value *state(void)
{
    ht_value *map = ht_value_map();

    ht_value_set(map, "x", ht_value_tensor(numbers()));
    return map;
}

static ht_status checkpoint_no_state(bool odd)
{
    ht_value *map = state();

    return ht_checkpoint_save(odd ? NULL : map, "agrees.h5", HT_COMM_WORLD, NULL);
}

static ht_status checkpoint_no_path(bool odd)
{
    return ht_checkpoint_save(state(), odd ? NULL : "agrees.h5", HT_COMM_WORLD, NULL);
}

static ht_status checkpoint_no_options(bool odd)
{
    ht_checkpoint_options options = ht_checkpoint_options_default();

    options.keep = odd ? 0 : 2;
    return ht_checkpoint_save(state(), "agrees.h5", HT_COMM_WORLD, &options);
}

static ht_status checkpoint_other_state(bool odd)
{
    ht_value *map = state();

    if (odd)
        ht_value_set(map, "y/z", ht_value_number(1));
    return ht_checkpoint_save(map, "agrees.h5", HT_COMM_WORLD, NULL);
}

static ht_status checkpoint_load(const char *path, const ht_checkpoint_options *options)
{
    ht_checkpoint_save(state(), "agrees.h5", HT_COMM_WORLD, NULL);
    return ht_checkpoint_load(path, HT_COMM_WORLD, options) != NULL ? HT_SUCCESS
                                                                    : ht_error_get(NULL);
}

static ht_status checkpoint_load_no_path(bool odd)
{
    return checkpoint_load(odd ? NULL : "agrees.h5", NULL);
}

static ht_status checkpoint_load_unseen(bool odd)
{
    return checkpoint_load(path_of(odd), NULL);
}

static ht_status checkpoint_load_no_options(bool odd)
{
    ht_checkpoint_options options = ht_checkpoint_options_default();

    options.size = odd ? 1 : options.size;
    return checkpoint_load("agrees.h5", &options);
}

static ht_status own_error(bool odd)
{
    return ht_error_agree(HT_COMM_WORLD, odd ? HT_ERR_FORMAT : HT_SUCCESS, "read_ini: line %d: %s",
                          odd ? 7 : 0, "no value");
}

static ht_status print_no_stream(bool odd)
{
    return ht_print(numbers(), odd ? NULL : stdout);
}

static const ht_test_agreed rows[] = {
    HT_AGREES(ht_error_agree, "", own_error),
    HT_AGREES(ht_print, " without a stream", print_no_stream),
    HT_AGREES(ht_load_hdf5, " without a path", load_no_path),
    HT_AGREES(ht_load_hdf5, " of a file that it cannot see", load_unseen),
    HT_AGREES(ht_load_hdf5, " without a dtype", load_no_dtype),
    HT_AGREES(ht_load_hdf5, " of no data set", load_no_dataset),
    HT_AGREES(ht_load_hdf5, " along no axis", load_no_axis),
    HT_AGREES(ht_load_hdf5_ext, " without a device", load_no_device),
    HT_AGREES(ht_array_from_local, " without a dtype", part_no_dtype),
    HT_AGREES(ht_array_from_local_ext, " without a device", part_no_device),
    HT_AGREES(ht_tensor_to_array, " without memory", array_no_memory),
    HT_AGREES(ht_tensor_to_array, " that is too short", array_too_short),
    HT_AGREES(ht_tensor_to_array_ext, " on no rank", array_on_no_rank),
    HT_AGREES(ht_save_hdf5, " without a path", save_no_path),
    HT_AGREES(ht_save_hdf5, " without a mode", save_no_mode),
    HT_AGREES(ht_checkpoint_save, " without a state", checkpoint_no_state),
    HT_AGREES(ht_checkpoint_save, " without a path", checkpoint_no_path),
    HT_AGREES(ht_checkpoint_save, " without options", checkpoint_no_options),
    HT_AGREES(ht_checkpoint_save, " of a bad key", checkpoint_other_state),
    HT_AGREES(ht_checkpoint_load, " without a path", checkpoint_load_no_path),
    HT_AGREES(ht_checkpoint_load, " of a file that it cannot see", checkpoint_load_unseen),
    HT_AGREES(ht_checkpoint_load, " without options", checkpoint_load_no_options),
};

static void an_error_on_one_rank(void **unused)
{
    (void)unused;
    ht_test_agree_all(sizeof rows / sizeof *rows, rows);
    if (ht_test_rank == 0) {
        remove("agrees.h5");
        remove("agrees.h5.1");
    }
}

static void own_errors(void **unused)
{
    const char *message;

    (void)unused;
    ht_test_agrees(&(ht_test_agreed){"ht_error_agree", own_error}, "read_ini: line 7: no value");
    assert_int_equal(ht_error_agree(HT_COMM_WORLD, HT_SUCCESS, "not looked at"), HT_SUCCESS);
    assert_int_equal(ht_error_get(NULL), HT_SUCCESS);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_int_equal(ht_error_raise(HT_COMM_WORLD, HT_ERR_SHAPE, "mesh: %d of %d", 3, 4),
                     HT_ERR_SHAPE);
    assert_int_equal(ht_error_get(&message), HT_ERR_SHAPE);
    assert_string_equal(message, "mesh: 3 of 4");
    assert_int_equal(ht_error_raise(HT_COMM_WORLD, HT_SUCCESS, "no code"), HT_ERR_ARGUMENT);
    assert_int_equal(ht_error_raise(HT_COMM_WORLD, (ht_status)99, "no code"), HT_ERR_ARGUMENT);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_error_clear();
}

HT_TEST_SUITE(test_agrees, cmocka_unit_test(an_error_on_one_rank), cmocka_unit_test(own_errors));
