/* SPDX-License-Identifier: MIT
 *
 * Numbers in text: the library reads and writes them in C's notation, independent of the program's
 * locale. */
#ifndef HT_CORE_BASE_NUMBER_H
#define HT_CORE_BASE_NUMBER_H

#include <locale.h>

/* Between the two, printf and strtod of this thread use C's notation. end takes what begin gave. */
locale_t ht__plain_begin(void);
void ht__plain_end(locale_t before);

#endif
