/* SPDX-License-Identifier: MIT
 *
 * Warnings about environment variables: invalid values, and names that libht does not read, with
 * the name that was probably meant. */
#include "core/base/environment.h"

#include <limits.h>
#include <string.h>

#include "ht/log.h"

extern char **environ;

/* Names that begin with these belong to programs, tests and modules. */
static const char *const others[] = {"HT_TEST_",   "HT_BENCH_", "HT_FUZZ_", "HT_DUMMY_",
                                     "HT_LAUNCH_", "HT_USER_",  "HT_CUDA_"};

/* Letters that are too many, too few, others, or two that changed places: how many of these lead
 * from one name to the other. Names are below 64 letters. */
static int distance(const char *a, size_t length, const char *b)
{
    int rows_of[3][65], *before = rows_of[0], *above = rows_of[1], *now = rows_of[2];
    size_t width = strlen(b);

    if (length > 64 || width > 64)
        return INT_MAX;
    for (size_t j = 0; j <= width; j++)
        above[j] = (int)j;
    for (size_t i = 1; i <= length; i++) {
        int *next = before;

        now[0] = (int)i;
        for (size_t j = 1; j <= width; j++) {
            int least = above[j - 1] + (a[i - 1] != b[j - 1]);

            least = above[j] + 1 < least ? above[j] + 1 : least;
            least = now[j - 1] + 1 < least ? now[j - 1] + 1 : least;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < least)
                least = before[j - 2] + 1;
            now[j] = least;
        }
        before = above;
        above = now;
        now = next;
    }
    return above[width];
}

static void warn_of_name(const char *name, size_t length)
{
    int nearest = INT_MAX, best = 0;

    for (int v = 0; v < HT_ENV_COUNT; v++) {
        int far = distance(name, length, ht__env_name((ht_env)v));

        if (far == 0)
            return;
        if (far < nearest) {
            nearest = far;
            best = v;
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strncmp(name, others[i], strlen(others[i])) == 0)
            return;
    }
    if (nearest <= 2)
        ht_log_write0(HT_LOG_WARN, "%.*s is not a variable of libht, but %s is", (int)length, name,
                      ht__env_name((ht_env)best));
    else
        ht_log_write0(HT_LOG_WARN, "%.*s is not a variable of libht", (int)length, name);
}

void ht__env_check(void)
{
    for (int v = 0; v < HT_ENV_COUNT; v++) {
        const char *text = ht__env_refused((ht_env)v);

        if (text != NULL)
            ht_log_write0(HT_LOG_WARN, "%s=%s is ignored: expected %s", ht__env_name((ht_env)v),
                          text, ht__env_allowed((ht_env)v));
    }
    for (char **entry = environ; *entry != NULL; entry++) {
        if (strncmp(*entry, "HT_", 3) == 0)
            warn_of_name(*entry, strcspn(*entry, "="));
    }
}
