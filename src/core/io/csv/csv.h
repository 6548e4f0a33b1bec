/* SPDX-License-Identifier: MIT
 *
 * Numbers as text, independent of the program's locale. */
#ifndef HT_CORE_IO_CSV_CSV_H
#define HT_CORE_IO_CSV_CSV_H

#include <locale.h>
#include <stddef.h>

#include "core/base/base.h"

/* While a thread reads and writes numbers of a C locale: begin gives what end is to be given. */
typedef struct ht_plain_locale {
    locale_t plain, before;
} ht_plain_locale;
ht_plain_locale ht__plain_locale_begin(void);
void ht__plain_locale_end(ht_plain_locale locale);

/* Whether fields may be separated by a character: not one of numbers, line ends or quotes; and the
 * error if not. */
bool ht__csv_separates(char separator);
ht_status ht__csv_bad_separator(const char *what, char separator);

/* The field text ... end - 1, without blanks around it, as element `at` of `dtype`, which is not
 * complex. The character at `end` can be read, and does not continue a number. An empty one is NaN.
 * NULL, or what the field is not: "not a number", "out of the range of int8". Exact: the nearest
 * number of the dtype (of 16 bits: of the nearest float64). */
const char *ht__csv_read(const char *text, const char *end, ht_dtype dtype, void *elements,
                         int64_t at);

/* Element `at` as text, with `decimals` decimals. If that is negative, it has as many digits as
 * give the same number again. Returns its length. */
enum { HT_CSV_FIELD = 400 };
size_t ht__csv_write(char text[HT_CSV_FIELD], ht_dtype dtype, const void *elements, int64_t at,
                     int decimals);

#endif
