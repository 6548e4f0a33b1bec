/* ranks 1 own device */
/* SPDX-License-Identifier: MIT */
/* Loads libraries: a missing one, and one that lacks a function. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "backends/cuda/library/library.h"
#include "ht_test.h"

typedef struct functions {
    double (*cosine)(double x);
    void (*other)(void);
} functions;

static const char *const math[] = {"libht-is-not-there.so.1", "libm.so.6", NULL};

static void takes_the_first_file_that_there_is(void **state)
{
    static const ht_cuda_symbol symbols[] = {{"cos", offsetof(functions, cosine)}, {NULL, 0}};
    char missing[256];
    functions f = {NULL, NULL};

    (void)state;
    assert_true(ht_cuda_library_load(math, symbols, &f, missing, sizeof missing));
    assert_true(f.cosine(0) == 1);
    assert_null(f.other);
}

static void says_which_function_is_missing(void **state)
{
    static const ht_cuda_symbol symbols[] = {{"cos", offsetof(functions, cosine)},
                                             {"ht_not_in_libm", offsetof(functions, other)},
                                             {NULL, 0}};
    char missing[256];
    functions f = {NULL, NULL};

    (void)state;
    assert_false(ht_cuda_library_load(math, symbols, &f, missing, sizeof missing));
    assert_string_equal(missing, "libm.so.6 has no ht_not_in_libm");
}

static void says_which_file_is_missing(void **state)
{
    static const char *const files[] = {"libht-is-not-there.so.1", "libht-nor-this.so.2", NULL};
    static const ht_cuda_symbol symbols[] = {{"cos", offsetof(functions, cosine)}, {NULL, 0}};
    char missing[256];
    functions f = {NULL, NULL};

    (void)state;
    assert_false(ht_cuda_library_load(files, symbols, &f, missing, sizeof missing));
    assert_non_null(strstr(missing, "libht-nor-this.so.2"));
    assert_null(f.cosine);
}

HT_TEST_SUITE(test_cuda_library, cmocka_unit_test(takes_the_first_file_that_there_is),
              cmocka_unit_test(says_which_function_is_missing),
              cmocka_unit_test(says_which_file_is_missing));
