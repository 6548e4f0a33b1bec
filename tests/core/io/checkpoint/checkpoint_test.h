/* SPDX-License-Identifier: MIT
 *
 * Shared by tests of checkpoints: a folder for each, states, and loading. */
#ifndef HT_TESTS_CORE_IO_CHECKPOINT_TEST_H
#define HT_TESTS_CORE_IO_CHECKPOINT_TEST_H

#include "ht_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/io/checkpoint/checkpoint.h"
#include "ht.h"

static char folder[64], path[80];

/* A folder that all ranks have and no other job. */
static inline int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/ht-test-XXXXXX");
    if (ht_test_rank == 0)
        assert_non_null(mkdtemp(folder));
    ht__comm_bcast_bytes(HT_COMM_WORLD, folder, sizeof folder, 0, "folder");
    snprintf(path, sizeof path, "%s/run.h5", folder);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    return 0;
}

static inline int remove_folder(void **state)
{
    (void)state;
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_test_remove(path);
    return ht_test_rank == 0 ? rmdir(folder) : 0;
}

static inline void assert_error(ht_status code, const char *text)
{
    const char *message;

    assert_int_equal(ht_error_get(&message), code);
    if (strstr(message, text) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", text, message);
    ht_error_clear();
}

static inline ht_tensor *numbers(int64_t count, ht_dtype dtype, int split, ht_comm *comm)
{
    ht_comm *was = ht_get_comm();
    ht_tensor *x;

    ht_use_comm(comm);
    x = ht_astype(ht_arange(0, (double)count, 1, HT_FLOAT64, split), dtype);
    ht_use_comm(was);
    return x;
}

static inline ht_value *numbered(int number)
{
    ht_value *map = ht_value_map();

    ht_value_set(map, "number", ht_value_number(number));
    ht_value_set(map, "x", ht_value_tensor(numbers(300, HT_FLOAT32, HT_NONE, HT_COMM_SELF)));
    return map;
}

static inline double number_in(const char *name, bool earlier)
{
    ht_checkpoint_options options = ht_checkpoint_options_default();

    options.earlier = earlier;
    return ht_value_as_number(
        ht_value_get(ht_checkpoint_load(name, HT_COMM_WORLD, &options), "number"));
}

static inline bool is_there(const char *end)
{
    char name[96];

    snprintf(name, sizeof name, "%s%s", path, end);
    return access(name, F_OK) == 0;
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

#endif
