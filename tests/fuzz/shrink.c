/* SPDX-License-Identifier: MIT
 *
 * Whether a smaller case fails for the reason of the larger one: its message says the same of the
 * same variable, but for numbers and dtypes. */
#include <ctype.h>
#include <string.h>

#include "fuzz/fuzz.h"

static bool is_dtype(const char *word, size_t length)
{
    for (int dtype = 0; dtype < HT_DTYPE_COUNT; dtype++) {
        const char *name = ht_dtype_name((ht_dtype)dtype);

        if (strlen(name) == length && strncmp(name, word, length) == 0)
            return true;
    }
    return false;
}

/* Parts of a message that may differ: a dtype, a number (nan, inf, 1e17i), a path. */
static bool is_loose(const char *word, size_t length)
{
    return isdigit((unsigned char)word[0]) || is_dtype(word, length) ||
           (length == 3 && (strncmp(word, "nan", 3) == 0 || strncmp(word, "inf", 3) == 0)) ||
           (length == 4 && (strncmp(word, "nani", 4) == 0 || strncmp(word, "infi", 4) == 0));
}

/* The next word that must be there in the other message, too; its length, 0 at the end. */
static size_t next_word(const char **text)
{
    for (;;) {
        size_t length = 0;

        while (**text != '\0' && !isalnum((unsigned char)**text))
            ++*text;
        while (isalnum((unsigned char)(*text)[length]) || (*text)[length] == '_')
            length++;
        if (length == 0 || !is_loose(*text, length))
            return length;
        *text += length;
    }
}

bool same_failure(const char *a, const char *b)
{
    size_t length;

    while ((length = next_word(&a)) > 0) {
        if (next_word(&b) != length || strncmp(a, b, length) != 0)
            return false;
        a += length;
        b += length;
    }
    return next_word(&b) == 0;
}
