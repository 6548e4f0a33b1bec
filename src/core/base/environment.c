/* SPDX-License-Identifier: MIT
 *
 * Environment variables. */
#include "core/base/environment.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ht/log.h"
#include "ht/number.h"

extern char **environ;

typedef enum kind { FLAG, CHOICE, COUNT, NUMBER, PAIR, TEXT } kind;

static const struct {
    const char *name;
    kind kind;
    const char *allowed;
} rows[HT_ENV_COUNT] = {
#define ROW(name, kind, allowed) {#name, kind, allowed},
    HT_ENV_LIST(ROW)
#undef ROW
};

/* Names that begin with these belong to programs and tests. */
static const char *const others[] = {"HT_TEST_",  "HT_BENCH_",  "HT_FUZZ_",
                                     "HT_DUMMY_", "HT_LAUNCH_", "HT_USER_"};

/* The place of a word in a list "a|b|c"; -1: none. */
static int place_in(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (int place = 0;; place++) {
        size_t end = strcspn(list, "|");

        if (end == length && strncmp(list, word, length) == 0)
            return place;
        if (list[end] == '\0')
            return -1;
        list += end + 1;
    }
}

/* The end of a whole number from `least` to INT_MAX; NULL: there is none. */
static const char *after_integer(const char *text, long least)
{
    char *end;
    long number = strtol(text, &end, 10);

    return end > text && number >= least && number <= INT_MAX ? end : NULL;
}

static bool is_allowed(ht_env variable, const char *text)
{
    const char *end;
    double number;

    switch (rows[variable].kind) {
    case FLAG:
    case CHOICE:
        return place_in(rows[variable].allowed, text) >= 0;
    case COUNT:
        end = after_integer(text, 1);
        return end != NULL && *end == '\0';
    case NUMBER:
        return ht_number_from_text(text, &number) && number >= 0 && isfinite(number);
    case PAIR:
        end = after_integer(text, 0);
        end = end != NULL && *end == ':' ? after_integer(end + 1, 0) : NULL;
        return end != NULL && (*end == '\0' || strcmp(end, ":tensors") == 0);
    case TEXT:
        break;
    }
    return true;
}

const char *ht__env_text(ht_env variable)
{
    const char *text = getenv(rows[variable].name);

    return text != NULL && *text != '\0' && is_allowed(variable, text) ? text : NULL;
}

bool ht__env_flag(ht_env variable)
{
    const char *text = ht__env_text(variable);

    return text != NULL && strcmp(text, "1") == 0;
}

bool ht__env_number(ht_env variable, double *number)
{
    const char *text = ht__env_text(variable);

    return text != NULL && ht_number_from_text(text, number);
}

int ht__env_count(ht_env variable)
{
    const char *text = ht__env_text(variable);

    return text != NULL ? (int)strtol(text, NULL, 10) : 0;
}

int ht__env_choice(ht_env variable)
{
    const char *text = ht__env_text(variable);

    return text != NULL ? place_in(rows[variable].allowed, text) : -1;
}

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
        int far = distance(name, length, rows[v].name);

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
        ht_log_write0(HT_LOG_WARN, "%.*s is no variable of libht: %s is", (int)length, name,
                      rows[best].name);
    else
        ht_log_write0(HT_LOG_WARN, "%.*s is no variable of libht", (int)length, name);
}

void ht__env_check(void)
{
    for (int v = 0; v < HT_ENV_COUNT; v++) {
        const char *text = getenv(rows[v].name);

        if (text != NULL && *text != '\0' && !is_allowed((ht_env)v, text))
            ht_log_write0(HT_LOG_WARN, "%s=%s is ignored: expected %s", rows[v].name, text,
                          rows[v].allowed);
    }
    for (char **entry = environ; *entry != NULL; entry++) {
        if (strncmp(*entry, "HT_", 3) == 0)
            warn_of_name(*entry, strcspn(*entry, "="));
    }
}
