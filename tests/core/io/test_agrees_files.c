/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Files of all formats, each with an error on one rank alone. */
#include "ht_test.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agrees.h"

static const char folder[] = "agrees.files", npy[] = "agrees.files/x.npy",
                  csv[] = "agrees.files/x.csv", hdf5[] = "agrees.files/x.h5",
                  safetensors[] = "agrees.files/x.safetensors";

static ht_tensor *numbers(void)
{
    return ht_reshape(ht_arange(0, 12, 1, HT_FLOAT32, HT_NONE), HT_SHAPE(4, 3));
}

static ht_status loaded(ht_tensor *x)
{
    return x != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

static ht_status load_npy_no_path(bool odd)
{
    return loaded(ht_load_npy(odd ? NULL : npy, HT_FLOAT32, 0));
}

static ht_status graph_dot_no_path(bool odd)
{
    ht_tensor *x = numbers();

    ht_tensor_set_requires_grad(x, true);
    return ht_graph_dot(ht_exp(x), NULL, odd ? NULL : "agrees.files/x.dot");
}

static ht_status graph_dot_of_a_list(bool odd)
{
    ht_tensor *x = numbers();

    ht_tensor_set_requires_grad(x, true);
    return ht_graph_dot(ht_exp(x), odd ? ht_value_list() : NULL, "agrees.files/x.dot");
}

static ht_status load_npy_unseen(bool odd)
{
    return loaded(ht_load_npy(odd ? "/nowhere/x.npy" : npy, HT_FLOAT32, 0));
}

static ht_status load_npy_of_text(bool odd)
{
    return loaded(ht_load_npy(odd ? csv : npy, HT_FLOAT32, 0));
}

static ht_status load_npy_no_dtype(bool odd)
{
    return loaded(ht_load_npy(npy, odd ? (ht_dtype)99 : HT_FLOAT32, 0));
}

static ht_status load_npy_of_another_split(bool odd)
{
    return loaded(ht_load_npy(npy, HT_FLOAT32, odd ? 7 : 0));
}

static ht_status load_npy_of_another_dtype(bool odd)
{
    return loaded(ht_load_npy(npy, odd ? HT_FLOAT64 : HT_FLOAT32, 0));
}

static ht_status load_folder_of_another_axis(bool odd)
{
    return loaded(ht_load_npy_from_path(folder, HT_FLOAT32, odd ? 9 : 0));
}

static ht_status load_hdf5_of_another_split(bool odd)
{
    return loaded(ht_load_hdf5(hdf5, "x", HT_FLOAT32, odd ? 1 : 0));
}

static ht_status load_csv_of_another_split(bool odd)
{
    return loaded(ht_load_csv(csv, 0, ',', HT_FLOAT32, odd ? 1 : 0));
}

static ht_status load_csv_of_other_lines(bool odd)
{
    return loaded(ht_load_csv(csv, odd, ',', HT_FLOAT32, 0));
}

static ht_status load_npy_no_device(bool odd)
{
    return loaded(ht_load_npy_ext(npy, HT_FLOAT32, 0, odd ? NULL : ht_get_device(), HT_COMM_WORLD));
}

static ht_status load_folder_no_path(bool odd)
{
    return loaded(ht_load_npy_from_path(odd ? NULL : folder, HT_FLOAT32, 0));
}

static ht_status load_folder_no_device(bool odd)
{
    return loaded(ht_load_npy_from_path_ext(folder, HT_FLOAT32, 0, 0, odd ? NULL : ht_get_device(),
                                            HT_COMM_WORLD));
}

static ht_status load_stores_no_dataset(bool odd)
{
    return loaded(ht_load_multiple_hdf5(folder, odd ? NULL : "x", HT_FLOAT32));
}

static ht_status load_stores_no_device(bool odd)
{
    return loaded(ht_load_multiple_hdf5_ext(folder, "x", HT_FLOAT32, 0, 0,
                                            odd ? NULL : ht_get_device(), HT_COMM_WORLD));
}

static ht_status save_npy_no_path(bool odd)
{
    return ht_save_npy(numbers(), odd ? NULL : npy);
}

static ht_status load_csv_no_path(bool odd)
{
    return loaded(ht_load_csv(odd ? NULL : csv, 0, ',', HT_FLOAT32, 0));
}

static ht_status load_csv_unseen(bool odd)
{
    return loaded(ht_load_csv(odd ? "/nowhere/x.csv" : csv, 0, ',', HT_FLOAT32, 0));
}

static ht_status load_csv_no_separator(bool odd)
{
    return loaded(ht_load_csv(csv, 0, odd ? '\0' : ',', HT_FLOAT32, 0));
}

static ht_status load_csv_no_device(bool odd)
{
    return loaded(
        ht_load_csv_ext(csv, 0, ',', HT_FLOAT32, 0, odd ? NULL : ht_get_device(), HT_COMM_WORLD));
}

static ht_status load_tables_of_another_dtype(bool odd)
{
    return loaded(ht_load_csv_from_folder(folder, 0, ',', odd ? (ht_dtype)99 : HT_FLOAT32, 0));
}

static ht_status save_csv_no_path(bool odd)
{
    return ht_save_csv(numbers(), odd ? NULL : csv, NULL, -1, ',');
}

static ht_status save_csv_no_separator(bool odd)
{
    return ht_save_csv(numbers(), csv, NULL, -1, odd ? '7' : ',');
}

static ht_status load_safetensors_of_text(bool odd)
{
    return loaded(ht_load_safetensors(odd ? csv : safetensors, odd ? NULL : "x", HT_FLOAT32, 0));
}

static ht_status load_safetensors_no_device(bool odd)
{
    return loaded(ht_load_safetensors_ext(safetensors, "x", HT_FLOAT32, 0,
                                          odd ? NULL : ht_get_device(), HT_COMM_WORLD));
}

static ht_status save_safetensors_no_name(bool odd)
{
    return ht_save_safetensors(numbers(), safetensors, odd ? NULL : "x");
}

static ht_value *map_of_one(void)
{
    ht_value *map = ht_value_map();

    ht_value_set(map, "x", ht_value_tensor(numbers()));
    return map;
}

static ht_status save_map_of_none(bool odd)
{
    return ht_safetensors_save(odd ? ht_value_list() : map_of_one(), safetensors, HT_COMM_WORLD);
}

static ht_status save_map_no_metadata(bool odd)
{
    static const ht_safetensors_text text[] = {{"format", "pt"}};

    return ht_safetensors_save_ext(map_of_one(), safetensors, 1, odd ? NULL : text, HT_COMM_WORLD);
}

static ht_status load_map_no_path(bool odd)
{
    ht_value *map = ht_safetensors_load(odd ? NULL : safetensors, HT_COMM_WORLD);

    return map != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

static void see_text(const char *key, const char *value, void *user)
{
    (void)key;
    (void)value;
    (void)user;
}

static ht_status metadata_no_visit(bool odd)
{
    return ht_safetensors_metadata(safetensors, odd ? NULL : see_text, NULL, HT_COMM_WORLD);
}

static ht_status load_no_format(bool odd)
{
    return loaded(ht_load(odd ? "agrees.txt" : npy, NULL, HT_FLOAT32, 0));
}

static ht_status save_no_format(bool odd)
{
    return ht_save(numbers(), odd ? "agrees.txt" : npy, NULL);
}

static const ht_test_agreed rows[] = {
    HT_AGREES(ht_graph_dot, " without a path", graph_dot_no_path),
    HT_AGREES(ht_graph_dot, " with names in a list", graph_dot_of_a_list),
    HT_AGREES(ht_load_npy, " without a path", load_npy_no_path),
    HT_AGREES(ht_load_npy, " of a file that it cannot see", load_npy_unseen),
    HT_AGREES(ht_load_npy, " of a file that is none", load_npy_of_text),
    HT_AGREES(ht_load_npy, " without a dtype", load_npy_no_dtype),
    HT_AGREES(ht_load_npy, " of another split", load_npy_of_another_split),
    HT_AGREES(ht_load_npy_from_path, " along another axis", load_folder_of_another_axis),
    HT_AGREES(ht_load_npy_ext, " without a device", load_npy_no_device),
    HT_AGREES(ht_load_npy_from_path_ext, " without a device", load_folder_no_device),
    HT_AGREES(ht_load_npy_from_path, " without a path", load_folder_no_path),
    HT_AGREES(ht_load_multiple_hdf5, " without a data set", load_stores_no_dataset),
    HT_AGREES(ht_load_multiple_hdf5_ext, " without a device", load_stores_no_device),
    HT_AGREES(ht_save_npy, " without a path", save_npy_no_path),
    HT_AGREES(ht_load_csv, " without a path", load_csv_no_path),
    HT_AGREES(ht_load_csv, " of a file that it cannot see", load_csv_unseen),
    HT_AGREES(ht_load_csv, " without a separator", load_csv_no_separator),
    HT_AGREES(ht_load_csv_ext, " without a device", load_csv_no_device),
    HT_AGREES(ht_load_csv_from_folder, " without a dtype", load_tables_of_another_dtype),
    HT_AGREES(ht_save_csv, " without a path", save_csv_no_path),
    HT_AGREES(ht_save_csv, " without a separator", save_csv_no_separator),
    HT_AGREES(ht_load_safetensors, " of a file that is none", load_safetensors_of_text),
    HT_AGREES(ht_load_safetensors_ext, " without a device", load_safetensors_no_device),
    HT_AGREES(ht_save_safetensors, " without a name", save_safetensors_no_name),
    HT_AGREES(ht_safetensors_save, " of a list", save_map_of_none),
    HT_AGREES(ht_safetensors_save_ext, " without metadata", save_map_no_metadata),
    HT_AGREES(ht_safetensors_load, " without a path", load_map_no_path),
    HT_AGREES(ht_safetensors_metadata, " without a function", metadata_no_visit),
    HT_AGREES(ht_load, " of no format", load_no_format),
    HT_AGREES(ht_save, " of no format", save_no_format),
};

/* Each is right by itself. */
static const ht_test_agreed differing[] = {
    HT_AGREES(ht_load_npy, " of another dtype", load_npy_of_another_dtype),
    HT_AGREES(ht_load_hdf5, " of another split", load_hdf5_of_another_split),
    HT_AGREES(ht_load_csv, " of another split", load_csv_of_another_split),
    HT_AGREES(ht_load_csv, " behind other lines", load_csv_of_other_lines),
};

static void an_error_on_one_rank(void **unused)
{
    (void)unused;
    if (ht_test_rank == 0)
        mkdir(folder, 0755);
    ht_barrier(HT_COMM_WORLD);
    assert_int_equal(ht_save_npy(numbers(), npy), HT_SUCCESS);
    assert_int_equal(ht_save_csv(numbers(), csv, NULL, -1, ','), HT_SUCCESS);
    assert_int_equal(ht_save_hdf5(numbers(), hdf5, "x", "w"), HT_SUCCESS);
    assert_int_equal(ht_save_safetensors(numbers(), safetensors, "x"), HT_SUCCESS);
    ht_test_agree_all(sizeof rows / sizeof *rows, rows);
    if (ht_test_size > 1)
        ht_test_agree_all(sizeof differing / sizeof *differing, differing);
    if (ht_test_rank == 0) {
        unlink(npy);
        unlink(csv);
        unlink(hdf5);
        unlink(safetensors);
        assert_int_equal(rmdir(folder), 0);
    }
}

HT_TEST_SUITE(test_agrees_files, cmocka_unit_test(an_error_on_one_rank));
