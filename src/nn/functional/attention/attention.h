/* SPDX-License-Identifier: MIT
 *
 * Attention: its operands as the kernel takes them. */
#ifndef HT_NN_FUNCTIONAL_ATTENTION_ATTENTION_H
#define HT_NN_FUNCTIONAL_ATTENTION_ATTENTION_H

#include "ht/attention.h"
#include "ht/kernels/nn.h"
#include "nn/functional/functional.h"

enum { HT_ATTENTION_QUERY, HT_ATTENTION_KEY, HT_ATTENTION_VALUE, HT_ATTENTION_MASK };
enum { HT_ATTENTION_OPERANDS = 4 };

/* Checks the four operands (the mask may be NULL) and the options. Then in[] become operands of one
 * floating dtype of at least 32 bits: row-major, with the same leading axes (key and value may have
 * a shorter last one) and slabs. A mask keeps axes of length 1, except for the last axis. False
 * after an error, which is the same on all ranks. */
bool ht__attention_prepare(const char *what, const ht_attention_options *options,
                           ht_tensor *in[HT_ATTENTION_OPERANDS]);

/* The mask part of a call, for rows of the local part of query: shapes and strides. */
void ht__attention_set_mask(ht_attention_call *job, const ht_tensor *query, const ht_tensor *mask);

#endif
