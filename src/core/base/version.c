/* SPDX-License-Identifier: MIT */
#include "ht/version.h"

const char *ht_version(void)
{
    return HT_VERSION;
}
