/* SPDX-License-Identifier: MIT
 *
 * Requirements of a functional on its operands: a row for each, and one call that checks them all
 * and returns them cast and laid out. */
#ifndef HT_NN_FUNCTIONAL_OPERANDS_H
#define HT_NN_FUNCTIONAL_OPERANDS_H

#include "core/tensor/tensor.h"

typedef enum ht_operand_dtype {
    HT_DTYPE_ANY,
    HT_DTYPE_FLOATING,
    HT_DTYPE_INTEGER,
    HT_DTYPE_REAL, /* not complex; bool and integers become what they and the first operand promote
                      to, so that 1 - x of an unsigned x does not wrap */
    HT_DTYPE_SAME  /* the first operand's */
} ht_operand_dtype;

typedef enum ht_operand_split {
    HT_SPLIT_ANY,
    HT_SPLIT_BATCH, /* along axis 0, where that is not the only one, or not at all */
    HT_SPLIT_NONE
} ht_operand_split;

/* A copy is made only of what lies in another way. */
typedef enum ht_operand_layout {
    HT_LAYOUT_ANY,
    HT_LAYOUT_ROWS,
    HT_LAYOUT_DENSE, /* row-major or channels-last, without a change; copies are row-major */
    HT_LAYOUT_IMAGE  /* likewise; copies are what the device prefers */
} ht_operand_layout;

/* The dtype in which an operand is computed with. */
typedef enum ht_operand_cast {
    HT_CAST_NONE, /* what comes: written to, or of an operation that is as exact in any dtype */
    HT_CAST_LOW,  /* products: 16 bits serve under autocast */
    HT_CAST_HIGH, /* sums, exponentials: not below float32 under autocast */
    HT_CAST_INDEX /* int64, as kernels take class numbers */
} ht_operand_cast;

typedef enum ht_operand_presence { HT_REQUIRED, HT_OPTIONAL /* may be NULL */ } ht_operand_presence;

typedef struct ht_operand_rule {
    const char *name; /* as the public header calls it */
    const char *axes; /* a letter each (operands.c has their words), '*' any number of them; the
                         same letter, the same length as in an operand before. NULL: any shape */
    ht_operand_dtype dtype;
    ht_operand_split split;
    ht_operand_layout layout;
    ht_operand_cast cast;
    ht_operand_presence presence;
} ht_operand_rule;

/* Operands as their rules want them: checked in order, each against those before it, and only then
 * cast and laid out, in place. False after an error, which is of metadata and so the same on all
 * ranks, or one of memory; what `in` holds is unspecified then. An operand that is not copied is
 * not awaited: a kernel that begins with its first elements may. */
bool ht__prepare(const char *what, const ht_operand_rule rules[], int count, ht_tensor *in[]);
#define HT_PREPARE(what, rules, in) \
    ht__prepare(what, rules, (int)(sizeof(rules) / sizeof *(rules)), in)

/* x, or float32 for 16 bits: its result is rounded once, by ht_astype. Scoped; NULL after an error. */
ht_tensor *ht__wide(ht_tensor *x);

/* An error unless the operands `first` and `name`, x and it, are on the same ranks and one device.
 * Checked before splits: another split of x would not make it process-local. */
bool ht__check_place(const char *what, const char *first, const ht_tensor *x, const char *name,
                     const ht_tensor *it);

/* One sample x as a batch of one. NULL after an error: HT_ERR_COMM if weight, which may be NULL, is
 * on other ranks, HT_ERR_ARGUMENT if x has a split, because no axis of it is that of a batch. */
ht_tensor *ht__sample_batch(const char *what, const char *name, ht_tensor *x,
                            const ht_tensor *weight);

/* x in a layout, itself where it has that. Scoped; NULL after an error. */
ht_tensor *ht__laid_out(ht_tensor *x, ht_operand_layout layout);

#endif
