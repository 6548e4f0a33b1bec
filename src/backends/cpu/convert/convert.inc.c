/* SPDX-License-Identifier: MIT
 *
 * Template: conversion to DTYPE from every dtype; the same dtype copies. */

#define HT_SOURCE_TEMPLATE "backends/cpu/convert/convert_from.inc.c"
#include "backends/cpu/foreach_source.h"

static void NAME(fill_convert)(ht_kernel_table *k)
{
#define CONVERT_ROW(source, name, bytes) \
    k->at[HT_KERNEL_CONVERT(ID)][source] = HT_JOIN(NAME(convert), _##source);
    HT_DTYPE_LIST(CONVERT_ROW)
#undef CONVERT_ROW
}
