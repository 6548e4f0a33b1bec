/* SPDX-License-Identifier: MIT
 *
 * Averages by the devices themselves. A link joins one device of each rank of an engine's
 * communicator (ht/backend.h), and its sums have the bits of the exchange. It lives as long as the
 * engine. */
#ifndef HT_CORE_EXCHANGE_LINK_H
#define HT_CORE_EXCHANGE_LINK_H

#include "core/exchange/exchange.h"

typedef struct ht_link ht_link;

/* An average on its way. Zeroed at first. */
typedef struct ht_link_average {
    const ht_link *link; /* not owned; NULL: none was started so far */
    void *event;         /* owned; kept for the next one; NULL: there is none yet */
    bool under_way;      /* and no work of the device follows it */
} ht_link_average;

/* Whether links can exist for this rank's device at all: no messages. */
bool ht__link_is_possible(const ht_exchange *exchange, const ht_device *device);

/* *link: the one of the ranks' devices; NULL on all ranks if they cannot be joined. The log has the
 * reason at level info. A link that could not be made is not tried again. Collective. */
ht_status ht__link_get(ht_exchange *exchange, ht_device *device, ht_link **link);

/* Each returns 0, or -1 after the error was recorded. reserve: averages of up to `bytes` bytes
 * allocate nothing. begin: data <- scale * sum of data over the ranks, in parallel with the later
 * work of the device. All ranks begin them in the same order. follow: later work of the device
 * follows the average; nothing waits for that. end: waits, if need be. */
int ht__link_reserve(const ht_link *link, size_t bytes);
int ht__link_begin(ht_link_average *average, const ht_link *link, void *data, int64_t n,
                   ht_dtype dtype, double scale);
int ht__link_follow(ht_link_average *average);
int ht__link_end(ht_link_average *average);

/* Ends the links of all engines, before the devices are closed. Collective. */
void ht__links_end_all(void);

#endif
