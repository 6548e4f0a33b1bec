/* SPDX-License-Identifier: MIT
 *
 * Strings of JSON: their escapes, and UTF-8. */
#include "core/base/base.h"
#include "core/io/safetensors/json.h"

#include <string.h>

int ht__utf8_length(const char *text, const char *end)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *t = (const unsigned char *)text;
    const int length = t[0] < 0x80             ? 1
                       : (t[0] & 0xe0) == 0xc0 ? 2
                       : (t[0] & 0xf0) == 0xe0 ? 3
                       : (t[0] & 0xf8) == 0xf0 ? 4
                                               : 0;
    uint32_t code = length == 1 ? t[0] : t[0] & (0x7fu >> length);

    if (length == 0 || end - text < length)
        return 0;
    for (int i = 1; i < length; i++) {
        if ((t[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (t[i] & 0x3f);
    }
    if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    return length;
}

/* Four hexadecimal digits; -1: they are not there. */
static int32_t take_hex(ht_json *json)
{
    int32_t code = 0;

    if (json->end - json->at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        const char c = *json->at++;

        if (c >= '0' && c <= '9')
            code = 16 * code + (c - '0');
        else if (c >= 'a' && c <= 'f')
            code = 16 * code + (c - 'a' + 10);
        else if (c >= 'A' && c <= 'F')
            code = 16 * code + (c - 'A' + 10);
        else
            return -1;
    }
    return code;
}

/* The character of "\u....", of one or two of them, as UTF-8. Returns its bytes. */
static int take_code(ht_json *json, char *to)
{
    int32_t code = take_hex(json);

    if (code >= 0xd800 && code <= 0xdbff && json->end - json->at >= 2 &&
        memcmp(json->at, "\\u", 2) == 0) {
        json->at += 2;
        const int32_t low = take_hex(json);

        code = low >= 0xdc00 && low <= 0xdfff ? 0x10000 + (code - 0xd800) * 0x400 + (low - 0xdc00)
                                              : -1;
    }
    if (code < 0 || (code >= 0xd800 && code <= 0xdfff)) {
        ht__json_fail(json, "a string has an escape \\u that is not a character");
        return 0;
    }
    if (code == 0) {
        ht__json_fail(json, "a string contains the character U+0000");
        return 0;
    }
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    const int length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    for (int i = length - 1; i > 0; i--, code >>= 6)
        to[i] = (char)(0x80 | (code & 0x3f));
    to[0] = (char)((0xf00 >> length & 0xff) | code);
    return length;
}

/* The characters after a backslash. Returns the bytes written; 0 after a fault. */
static int take_escape(ht_json *json, char *to)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char c = json->at < json->end ? *json->at++ : '\0';
    const char *found = c != '\0' ? strchr(names, c) : NULL;

    if (c == 'u')
        return take_code(json, to);
    if (found == NULL) {
        ht__json_fail(json, "a string has an invalid escape");
        return 0;
    }
    *to = values[found - names];
    return 1;
}

/* The text between the quotes; `to` has room for all of it. Returns its bytes. */
static size_t take_text(ht_json *json, char *to)
{
    size_t used = 0;

    while (json->why == NULL && json->at < json->end && *json->at != '"') {
        if (*json->at == '\\') {
            json->at++;
            used += (size_t)take_escape(json, to + used);
            continue;
        }
        const int length = ht__utf8_length(json->at, json->end);

        if (length == 0 || (unsigned char)*json->at < 0x20) {
            ht__json_fail(json, length == 0 ? "a string is not UTF-8"
                                            : "a string contains a control character");
            return 0;
        }
        memcpy(to + used, json->at, (size_t)length);
        used += (size_t)length;
        json->at += length;
    }
    return used;
}

/* The bytes up to the quote that may end the string: no text in it is longer, because an escape is
 * longer than its character. */
static size_t longest(const ht_json *json)
{
    const char *at = json->at;

    while (at < json->end && *at != '"')
        at += *at == '\\' && at + 1 < json->end ? 2 : 1;
    return (size_t)(at - json->at);
}

char *ht__json_string(ht_json *json)
{
    char *text;
    size_t used;

    if (!ht__json_take(json, '"')) {
        ht__json_fail(json, "a string is missing");
        return NULL;
    }
    text = ht__alloc(longest(json) + 1);
    used = take_text(json, text);
    if (json->why == NULL && json->at >= json->end)
        ht__json_fail(json, "a string has no end");
    if (json->why != NULL) {
        ht__free(text);
        return NULL;
    }
    json->at++;
    text[used] = '\0';
    return text;
}
