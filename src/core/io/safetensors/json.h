/* SPDX-License-Identifier: MIT
 *
 * A strict reader of JSON (RFC 8259) that builds no tree: the caller takes the values in the order
 * of the text. The first fault stays in `why`, and every later call fails. */
#ifndef HT_CORE_IO_SAFETENSORS_JSON_H
#define HT_CORE_IO_SAFETENSORS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ht_json {
    const char *start, *at, *end; /* the text; it need not end in a NUL */
    const char *why;              /* the first fault, a literal; NULL: none so far */
} ht_json;

/* Sets `why` unless there was a fault before. Returns false. */
bool ht__json_fail(ht_json *json, const char *why);

/* Passes over blanks. */
void ht__json_blanks(ht_json *json);

/* Takes the mark `c`, one of {}[]:, after blanks, if it is next. */
bool ht__json_take(ht_json *json, char c);

/* The next string as UTF-8 text with a NUL at its end. Owned; NULL after a fault. A string that
 * contains U+0000 is a fault, because a C string cannot hold it. */
char *ht__json_string(ht_json *json);

/* Moves to the next member of an object, whose '{' was taken, and sets *key (owned). `count`: the
 * members before it. False at the '}', and after a fault. */
bool ht__json_member(ht_json *json, int64_t count, char **key);

/* Moves to the next item of an array, whose '[' was taken; false at the ']', and after a fault. */
bool ht__json_item(ht_json *json, int64_t count);

/* An integer from 0 to INT64_MAX, written without a point and an exponent. */
bool ht__json_integer(ht_json *json, int64_t *value);

/* Checks any value and passes over it. */
bool ht__json_skip(ht_json *json);

/* Only blanks are left. */
bool ht__json_end(ht_json *json);

/* The bytes of one character of UTF-8, 1 to 4; 0: there is none. Not longer than it has to be, and
 * not a surrogate. json_string.c */
int ht__utf8_length(const char *text, const char *end);

#endif
