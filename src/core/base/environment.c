/* SPDX-License-Identifier: MIT
 *
 * Environment variables. */
#include "core/base/environment.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ht/number.h"

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

const char *ht__env_name(ht_env variable)
{
    return rows[variable].name;
}

const char *ht__env_allowed(ht_env variable)
{
    return rows[variable].allowed;
}

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

const char *ht__env_refused(ht_env variable)
{
    const char *text = getenv(rows[variable].name);

    return text != NULL && *text != '\0' && !is_allowed(variable, text) ? text : NULL;
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
