/* SPDX-License-Identifier: MIT
 *
 * Whether operations of the calling thread are recorded. */
#include "ht/autograd.h"

static _Thread_local bool disabled;

bool ht_set_grad_enabled(bool enabled)
{
    bool was = !disabled;

    disabled = !enabled;
    return was;
}

bool ht_is_grad_enabled(void)
{
    return !disabled;
}
