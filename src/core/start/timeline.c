/* SPDX-License-Identifier: MIT
 *
 * The timeline of a job: its start on all ranks, and the differences between their clocks. */
#include "core/base/environment.h"
#include "core/exchange/exchange.h"
#include "core/start/start.h"
#include "core/timeline/impl.h"

#include <stdio.h>

enum { PATH_ROOM = 1024 };

static uint64_t sent_before; /* the start */

ht_status ht_timeline_start(void)
{
    if (!ht_is_initialized())
        return HT_FAIL(NULL, HT_ERR_STATE, "ht_timeline_start: call ht_init first");
    ht__timeline_begin();
    sent_before = ht__exchange_all_bytes_sent();
    return HT_SUCCESS;
}

uint64_t ht__timeline_sent(void)
{
    return ht__exchange_all_bytes_sent() - sent_before;
}

void ht__timeline_open(const char *path)
{
    ht_comm *world = ht_comm_world();
    int64_t offset, error, origin = (int64_t)ht__timeline_now();

    if (ht__comm_bcast_bytes(world, &origin, sizeof origin, 0, "HT_TIMELINE") != HT_SUCCESS ||
        ht__comm_clock_offset(world, &offset, &error) != HT_SUCCESS)
        return;
    ht__timeline_record_to(path, world->rank, offset - origin, error);
    ht_timeline_start();
}

/* A variable that one rank has in its environment counts, because launchers do not pass on every
 * variable. */
void ht__timeline_init(void)
{
    const char *text = ht__env_text(HT_ENV_HT_TIMELINE);
    char path[PATH_ROOM] = "";
    ht_comm *world = ht_comm_world();

    if (text != NULL && world->rank == 0)
        snprintf(path, sizeof path, "%s", text);
    if (ht__comm_bcast_bytes(world, path, sizeof path, 0, "ht_init") == HT_SUCCESS &&
        path[0] != '\0')
        ht__timeline_open(path);
}
