/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* The device that lags (tests/backends/lagging): a host access to its memory says whose it is. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/tensor/tensor.h"
#include "ht_test.h"
#include "tensor_check.h"

/* The device's message to a process that reads the tensor's memory, here or in ht_array: the device
 * ends the process. */
static const char *last_words(ht_tensor *x, bool in_library, char words[], size_t room)
{
    const char *at = ht__body_data(x->body);
    int ends[2], status;
    size_t length = 0;
    pid_t child;
    char *said;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        ht_use_device(ht_device_get("cpu")); /* a GPU is its parent's alone */
        if (in_library)
            ht_array(at, HT_SHAPE(4), HT_FLOAT32, HT_LOCAL);
        _exit(*(volatile const char *)at); /* not reached */
    }
    close(ends[1]);
    for (ssize_t count; (count = read(ends[0], words + length, room - 1 - length)) > 0;)
        length += (size_t)count;
    words[length] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSEGV)
        fail_msg("status %d: %s", status, words);
    said = strstr(words, "lag: ");
    assert_non_null(said);
    said[strcspn(said, "\n")] = '\0';
    return said;
}

static void a_host_access_names_the_device_and_its_last_operation(void **state)
{
    (void)state;
    if (getenv("LAG_REFUSE") != NULL)
        HT_TEST_SKIP("kernels run on the host: nothing runs on the device");
    ht_scope *scope = ht_scope_open();
    const char *names[] = {"lag:0", "lag:1"};
    ht_tensor *x[2];
    char words[4000];

    for (int i = 0; i < 2; i++)
        x[i] = ht_full_ext(HT_SHAPE(4), HT_NUM(1), HT_FLOAT32, HT_NONE, ht_device_get(names[i]),
                           HT_COMM_SELF);
    ht_exp(x[1]);
    ht_add(x[0], x[0]); /* the last of all */
    for (int i = 0; i < 2; i++) {
        assert_string_equal(
            last_words(x[i], false, words, sizeof words),
            i == 0 ? "lag: the host touches memory of lag:0; the last operation there was ht_add"
                   : "lag: the host touches memory of lag:1; the last operation there was ht_exp");
    }
    assert_string_equal(
        last_words(x[1], true, words, sizeof words),
        "lag: the host touches memory of lag:1 in ht_array; the last operation there was ht_exp");
    ht_scope_close(scope);
}

HT_TEST_SUITE(test_lagging,
              cmocka_unit_test(a_host_access_names_the_device_and_its_last_operation));
