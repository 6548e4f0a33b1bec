/* SPDX-License-Identifier: MIT
 *
 * Collective calls in which one rank passes another argument than the others: calls marked *agrees*
 * fail on all ranks in the same way. tests/agrees.sh lists those that no row tests. */
#ifndef HT_TEST_AGREES_H
#define HT_TEST_AGREES_H

#include "ht.h"

/* One way in which a call can go wrong on one rank: there `odd` is true, and the row makes the
 * fault or passes the bad argument. Returns the status of the call (ht_error_get(NULL) for one that
 * returned NULL). The scope in which it runs releases its results, or the row does. */
typedef struct ht_test_agreed {
    const char *what;
    ht_status (*call)(bool odd);
} ht_test_agreed;

/* A row is named as the function, with more words after it where it has several. */
#define HT_AGREES(function, more, call) \
    {                                   \
#function more, call            \
    }

/* Makes the call, with errors returned, once with each of the first and the last rank the odd one.
 * Fails unless all ranks get one status, an error, and one message, and the next collective call is
 * right; `text` is part of the message, NULL: any. Collective. */
void ht_test_agrees(const ht_test_agreed *row, const char *text);

/* With this odd rank only. */
void ht_test_agrees_from(const ht_test_agreed *row, const char *text, int odd);

/* The same for a table. */
void ht_test_agree_all(int count, const ht_test_agreed rows[]);

#endif
