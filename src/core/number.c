/* SPDX-License-Identifier: MIT
 *
 * Numbers in text, whatever the locale of the program. */
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>

#include "ht/types.h"

static locale_t plain;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void set_up(void)
{
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

bool ht_number_from_text(const char *text, double *number)
{
    locale_t before;
    double found;
    char *end;

    if (text == NULL || number == NULL)
        return false;
    pthread_once(&once, set_up);
    before = plain != (locale_t)0 ? uselocale(plain) : (locale_t)0;
    found = strtod(text, &end);
    if (plain != (locale_t)0)
        uselocale(before);
    if (end == text || *end != '\0')
        return false;
    *number = found;
    return true;
}
