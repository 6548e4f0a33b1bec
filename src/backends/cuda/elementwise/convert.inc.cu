/* SPDX-License-Identifier: MIT
 *
 * Template: conversion to DTYPE from every other dtype. */

#define HT_SOURCE_TEMPLATE "backends/cuda/elementwise/convert_from.inc.cu"
#include "backends/cpu/foreach_source.h"

static void NAME(add_conversions)(ht_backend *backend)
{
#define ADD_FROM(source) \
    add_conversion<HT_JOIN(NAME(convert), _##source), ID == source>(backend, ID, source);
    HT_CUDA_LIST(ADD_FROM)
#undef ADD_FROM
}
