/* SPDX-License-Identifier: MIT
 *
 * Numbers in text, independent of the program's locale. */
#include "core/base/number.h"

#include <pthread.h>
#include <stdlib.h>

#include "ht/number.h"

static locale_t plain;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void set_up(void)
{
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

locale_t ht__plain_begin(void)
{
    pthread_once(&once, set_up);
    return plain != (locale_t)0 ? uselocale(plain) : (locale_t)0;
}

void ht__plain_end(locale_t before)
{
    if (before != (locale_t)0)
        uselocale(before);
}

bool ht_number_from_text(const char *text, double *number)
{
    locale_t before;
    double found;
    char *end;

    if (text == NULL || number == NULL)
        return false;
    before = ht__plain_begin();
    found = strtod(text, &end);
    ht__plain_end(before);
    if (end == text || *end != '\0')
        return false;
    *number = found;
    return true;
}
