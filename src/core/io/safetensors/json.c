/* SPDX-License-Identifier: MIT
 *
 * Values of JSON, one after another. */
#include "core/io/safetensors/json.h"
#include "core/base/base.h"

#include <string.h>

enum { DEPTH = 128 }; /* of values inside one another */

bool ht__json_item(ht_json *json, int64_t count)
{
    if (json->why != NULL || ht__json_take(json, ']'))
        return false;
    if (count > 0 && !ht__json_take(json, ','))
        return ht__json_fail(json, "an array has neither a comma nor an end");
    return true;
}

bool ht__json_member(ht_json *json, int64_t count, char **key)
{
    *key = NULL;
    if (json->why != NULL || ht__json_take(json, '}'))
        return false;
    if (count > 0 && !ht__json_take(json, ','))
        return ht__json_fail(json, "an object has neither a comma nor an end");
    *key = ht__json_string(json);
    if (*key == NULL)
        return false;
    if (ht__json_take(json, ':'))
        return true;
    ht__free(*key);
    *key = NULL;
    return ht__json_fail(json, "a member of an object has no colon");
}

static bool is_digit(const ht_json *json)
{
    return json->at < json->end && *json->at >= '0' && *json->at <= '9';
}

/* Digits, at least one. */
static bool take_digits(ht_json *json)
{
    if (!is_digit(json))
        return ht__json_fail(json, "a number has no digits");
    while (is_digit(json))
        json->at++;
    return true;
}

/* A digit other than 0 and more digits, or 0 alone. */
static bool take_whole(ht_json *json)
{
    const bool zero = json->at < json->end && *json->at == '0';

    if (!zero)
        return take_digits(json);
    json->at++;
    return !is_digit(json) || ht__json_fail(json, "a number begins with 0");
}

bool ht__json_integer(ht_json *json, int64_t *value)
{
    const char *from;

    if (json->why != NULL)
        return false;
    ht__json_blanks(json);
    from = json->at;
    *value = 0;
    if (!is_digit(json))
        return ht__json_fail(json, "an integer from 0 on is missing");
    if (!take_whole(json))
        return false;
    if (json->at < json->end && strchr(".eE", *json->at) != NULL && *json->at != '\0')
        return ht__json_fail(json, "a number is not an integer");
    for (; from < json->at; from++) {
        const int digit = *from - '0';

        if (*value > (INT64_MAX - digit) / 10)
            return ht__json_fail(json, "an integer is above 2^63 - 1");
        *value = 10 * *value + digit;
    }
    return true;
}

static bool skip_number(ht_json *json)
{
    if (*json->at == '-')
        json->at++;
    if (!take_whole(json))
        return false;
    if (json->at < json->end && *json->at == '.') {
        json->at++;
        if (!take_digits(json))
            return false;
    }
    if (json->at < json->end && (*json->at == 'e' || *json->at == 'E')) {
        json->at++;
        if (json->at < json->end && (*json->at == '+' || *json->at == '-'))
            json->at++;
        return take_digits(json);
    }
    return true;
}

static bool skip_word(ht_json *json)
{
    static const char *const words[] = {"true", "false", "null"};

    for (int i = 0; i < 3; i++) {
        const size_t length = strlen(words[i]);

        if ((size_t)(json->end - json->at) < length || memcmp(json->at, words[i], length) != 0)
            continue;
        json->at += length;
        return true;
    }
    return ht__json_fail(json, "a value is missing");
}

static bool skip(ht_json *json, int depth)
{
    char *text;

    if (depth > DEPTH)
        return ht__json_fail(json, "values are nested more than 128 deep");
    if (ht__json_take(json, '{')) {
        for (int64_t i = 0; ht__json_member(json, i, &text); i++) {
            ht__free(text);
            if (!skip(json, depth + 1))
                return false;
        }
        return json->why == NULL;
    }
    if (ht__json_take(json, '[')) {
        for (int64_t i = 0; ht__json_item(json, i); i++) {
            if (!skip(json, depth + 1))
                return false;
        }
        return json->why == NULL;
    }
    if (json->why != NULL || json->at >= json->end)
        return ht__json_fail(json, "a value is missing");
    if (*json->at == '"') {
        text = ht__json_string(json);
        ht__free(text);
        return text != NULL;
    }
    return *json->at == '-' || is_digit(json) ? skip_number(json) : skip_word(json);
}

bool ht__json_skip(ht_json *json)
{
    return json->why == NULL && skip(json, 1);
}

bool ht__json_end(ht_json *json)
{
    if (json->why != NULL)
        return false;
    ht__json_blanks(json);
    return json->at == json->end || ht__json_fail(json, "text follows its end");
}
