/* ranks 1 */
/* SPDX-License-Identifier: MIT */
/* Small blocks that one thread allocates and another frees, as a loader's or a device's thread and
 * the program do: memory kept for later stays bounded. */
#include "core/base/base.h"
#include "ht_test.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "ht/factories.h"

enum { ROUNDS = 64, BLOCKS = 1 << 14, BYTES = 128 }; /* 2 MiB a round */

static void *blocks[BLOCKS];

static size_t resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    size_t all, resident = 0;

    if (file == NULL)
        return 0;
    assert_int_equal(fscanf(file, "%zu %zu", &all, &resident), 2);
    fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static void *allocate(void *unused)
{
    (void)unused;
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = ht__block_alloc(BYTES);
    return NULL;
}

static void test_blocks_of_another_thread_do_not_pile_up(void **state)
{
    size_t before = resident_bytes();

    (void)state;
#ifdef __SANITIZE_ADDRESS__
    HT_TEST_SKIP("the sanitizer keeps freed memory");
#endif
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, allocate, NULL), 0);
        pthread_join(thread, NULL);
        for (int i = 0; i < BLOCKS; i++)
            ht__block_free(blocks[i], BYTES);
    }
    assert_true(resident_bytes() < before + ((size_t)64 << 20));
}

/* Without a scope: they live in the root scope, which ends with the thread. */
static void *make_tensors(void *unused)
{
    (void)unused;
    for (int i = 0; i < 1000; i++)
        ht_zeros(HT_SHAPE(1), HT_FLOAT32, HT_NONE);
    return NULL;
}

static void test_a_thread_leaves_nothing(void **state)
{
    enum { THREADS = 20 }; /* of half a MiB each */
    size_t before = 0;

    (void)state;
    for (int i = 0; i <= THREADS; i++) {
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, make_tensors, NULL), 0);
        pthread_join(thread, NULL);
        if (i == 0)
            before = mallinfo2().uordblks;
    }
    assert_true(mallinfo2().uordblks < before + ((size_t)1 << 20));
}

/* Freed and allocated again by one thread: the same memory, zeroed. */
static void test_blocks_are_used_again(void **state)
{
    unsigned char *block = ht__block_alloc(BYTES);

    (void)state;
    block[5] = 1;
    ht__block_free(block, BYTES);
    block = ht__block_alloc(BYTES);
    assert_int_equal(block[5], 0);
    ht__block_free(block, BYTES);
}

HT_TEST_SUITE(test_memory, cmocka_unit_test(test_blocks_of_another_thread_do_not_pile_up),
              cmocka_unit_test(test_a_thread_leaves_nothing),
              cmocka_unit_test(test_blocks_are_used_again));
