/* SPDX-License-Identifier: MIT */
/* Included by every test file: CMocka, the suite macro and the helpers shared by all tests. */
#ifndef HT_TEST_H
#define HT_TEST_H

/* cmocka.h wants these four before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>

struct ht_test_suite {
    const char *name;
    const struct CMUnitTest *tests;
    size_t count;
};

/* One row of the table that tests/make-registry.sh makes from the first lines of test files. */
struct ht_test_entry {
    const struct ht_test_suite *suite;
    const int *ranks; /* the rank counts it runs on, ended by 0 */
    bool is_long;     /* runs under `make check-long` only */
    bool
        has_own_device; /* chooses the devices of its tensors: runs with HT_TEST_DEVICE=cpu alone */
};

extern const struct ht_test_entry ht_test_registry[]; /* ended by a NULL suite */

/* Ends a test file: the suite, named as the file without its .c, and its tests. */
#define HT_TEST_SUITE(suite, ...)                                   \
    static const struct CMUnitTest suite##_tests[] = {__VA_ARGS__}; \
    extern const struct ht_test_suite suite;                        \
    const struct ht_test_suite suite = {#suite, suite##_tests,      \
                                        sizeof suite##_tests / sizeof *suite##_tests}

/* This process in the job. */
extern int ht_test_rank, ht_test_size;

/* Leaves the test and counts it as skipped; to be called by all ranks or by none. */
#define HT_TEST_SKIP(why) (ht_test_set_skip_reason(why), skip())
/* Rank 0 removes a file, or an empty folder, and the files that checkpoints of this name leave in
 * its folder. Collective. */
void ht_test_remove(const char *path);

void ht_test_set_skip_reason(const char *why);

/* There is an error, `part` is in its message, and it is cleared. */
#define assert_message(part) ht_test_assert_message(part, __FILE__, __LINE__)
void ht_test_assert_message(const char *part, const char *file, int line);

#endif
