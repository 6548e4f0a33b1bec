/* SPDX-License-Identifier: MIT
 *
 * The reducer's first failure, and the report of it that a rank sends to the others. */
#include "core/base/base.h"
#include "nn/parallel/data/reducer/reducer.h"

#include <string.h>

ht_status ht__reducer_fail(ht_reducer *reducer, ht_status status)
{
    const char *message;

    if (reducer->failure != HT_SUCCESS || status == HT_SUCCESS)
        return status;
    ht_error_get(&message);
    reducer->failure = status;
    reducer->message = ht__strdup(message);
    return status;
}

/* The caller may have cleared the error since, or met another one. */
ht_status ht__reducer_status(const ht_reducer *reducer)
{
    if (reducer->failure != HT_SUCCESS)
        ht__error_set(reducer->failure, "%s", reducer->message);
    return reducer->failure;
}

bool ht__reducer_told(const ht_reducer *reducer)
{
    const char *message;

    return reducer->failure != HT_SUCCESS && ht_error_get(&message) == reducer->failure &&
           strcmp(message, reducer->message) == 0;
}

void ht__reducer_set_broken(ht_reducer *reducer, ht_breakage how, const ht_error_kept *cause)
{
    if (reducer->broken != HT_BROKEN_NOT)
        return;
    reducer->broken = how;
    reducer->cause = cause->code;
    reducer->why = ht__strdup(cause->code != HT_SUCCESS ? cause->message : "");
}

/* The current pass reports to the others, unless its verdict has left; otherwise the next one does.
 * Until then this rank takes part in all their calls, and refuses its steps. */
void ht__reducer_spoil(ht_reducer *reducer, const ht_error_kept *cause)
{
    ht__reducer_set_broken(reducer, HT_BROKEN_SPOILT, cause);
}
