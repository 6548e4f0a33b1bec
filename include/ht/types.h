/* SPDX-License-Identifier: MIT
 *
 * Element types, the handles of the library, and constants that several topics share. No call here
 * is collective. */
#ifndef HT_TYPES_H
#define HT_TYPES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ht/export.h"

HT_BEGIN_DECLS

/* Opaque handles. Each is a counted object: ht_retain, ht_release (ht/object.h). */
typedef struct ht_comm ht_comm;
typedef struct ht_dataloader ht_dataloader;
typedef struct ht_dataset ht_dataset;
typedef struct ht_device ht_device;
typedef struct ht_module ht_module;
typedef struct ht_node ht_node;
typedef struct ht_optimizer ht_optimizer;
typedef struct ht_request ht_request;
typedef struct ht_scheduler ht_scheduler;
typedef struct ht_scope ht_scope;
typedef struct ht_tensor ht_tensor;
typedef struct ht_value ht_value;

#define HT_NONE     INT_MIN       /* no split; all axes */
#define HT_LOCAL    (INT_MIN + 1) /* the split of a factory: this rank's own (ht/factories.h) */
#define HT_MAX_NDIM 8             /* the most axes of a tensor */

/* The element types, one row each: enumerator, name, bytes of one element.
 *
 * Inside a kind they are in the order of promotion (ht_promote_types). */
#define HT_DTYPE_LIST(X)            \
    X(HT_BOOL, "bool", 1)           \
    X(HT_UINT8, "uint8", 1)         \
    X(HT_INT8, "int8", 1)           \
    X(HT_INT16, "int16", 2)         \
    X(HT_INT32, "int32", 4)         \
    X(HT_INT64, "int64", 8)         \
    X(HT_FLOAT16, "float16", 2)     \
    X(HT_BFLOAT16, "bfloat16", 2)   \
    X(HT_FLOAT32, "float32", 4)     \
    X(HT_FLOAT64, "float64", 8)     \
    X(HT_COMPLEX64, "complex64", 8) \
    X(HT_COMPLEX128, "complex128", 16)

typedef enum ht_dtype {
#define HT_DTYPE_ROW(id, name, bytes) id,
    HT_DTYPE_LIST(HT_DTYPE_ROW)
#undef HT_DTYPE_ROW
        HT_DTYPE_COUNT
} ht_dtype;

/* Returns the name of dtype in NumPy's spelling, "float32"; "invalid" outside the list. */
HT_API const char *ht_dtype_name(ht_dtype dtype);

/* Returns the bytes of one element of dtype; 0 outside the list. */
HT_API size_t ht_dtype_size(ht_dtype dtype);

/* Returns the dtype of this name, or HT_DTYPE_COUNT if there is none or name is NULL. */
HT_API ht_dtype ht_dtype_from_name(const char *name);

/* Returns whether dtype is an integer type; bool is not. */
HT_API bool ht_dtype_is_integer(ht_dtype dtype);

/* Returns whether dtype is float16, bfloat16, float32 or float64. */
HT_API bool ht_dtype_is_floating(ht_dtype dtype);

/* Returns whether dtype is complex64 or complex128. */
HT_API bool ht_dtype_is_complex(ht_dtype dtype);

/* Returns the smallest dtype that a and b both convert to by PyTorch's rules.
 *
 * The kinds are ordered: bool < integer < floating < complex. The dtype of the
 * higher kind stays: int64 and float16 give float16. But a complex dtype and float64 give
 * complex128. uint8 and int8 give int16. float16 and bfloat16 give float32. ht_result_type does the
 * same for tensors.
 *
 * Result: HT_DTYPE_COUNT if a or b is outside the list.
 * Source: torch.promote_types. */
HT_API ht_dtype ht_promote_types(ht_dtype a, ht_dtype b);

/* The losses that a conversion between dtypes may have. */
typedef enum ht_casting {
    HT_CAST_NO,        /* the dtype does not change */
    HT_CAST_SAFE,      /* no value changes */
    HT_CAST_SAME_KIND, /* digits and range may be lost; the kind stays or rises, a sign is kept */
    HT_CAST_UNSAFE,    /* any loss */
    HT_CAST_INTUITIVE  /* no value changes; also int32 to float32 or complex64 */
} ht_casting;

/* Returns whether dtype from converts to dtype to with at most the losses of casting.
 *
 * The kinds are ordered: bool < integer < floating < complex. int64 to float64 counts as SAFE, as
 * NumPy counts it.
 *
 * Result: false if from or to is outside the list, or casting is not an ht_casting.
 * Source: numpy.can_cast, heat.can_cast. */
HT_API bool ht_can_cast(ht_dtype from, ht_dtype to, ht_casting casting);

/* Kinds of dtypes with the names of the array API standard. */
typedef enum ht_dtype_kind {
    HT_DTYPE_KIND_BOOL,
    HT_DTYPE_KIND_SIGNED_INTEGER,
    HT_DTYPE_KIND_UNSIGNED_INTEGER,
    HT_DTYPE_KIND_INTEGRAL, /* signed and unsigned integers */
    HT_DTYPE_KIND_REAL_FLOATING,
    HT_DTYPE_KIND_COMPLEX_FLOATING,
    HT_DTYPE_KIND_NUMERIC /* all but bool */
} ht_dtype_kind;

/* Returns whether dtype is of kind; false if one of them is outside its list. */
HT_API bool ht_isdtype(ht_dtype dtype, ht_dtype_kind kind);

/* The limits of an integer dtype. */
typedef struct ht_iinfo {
    int bits;         /* of one element; 0: not an integer dtype */
    int64_t min, max; /* the ends of the range */
} ht_iinfo;

/* The limits of a floating dtype, or of the parts of a complex one.
 *
 * eps: the difference between 1 and the next larger number.
 * min, max: the ends of the finite range.
 * tiny: the least positive number with all its digits. */
typedef struct ht_finfo {
    int bits; /* of one number; 0: not a floating or complex dtype */
    double eps, min, max, tiny;
} ht_finfo;

/* Returns the limits of an integer dtype; all fields are 0 for any other. */
HT_API ht_iinfo ht_dtype_iinfo(ht_dtype dtype);

/* Returns the limits of a floating dtype, or of the parts of a complex one; all fields are 0 for
 * any other. */
HT_API ht_finfo ht_dtype_finfo(ht_dtype dtype);

HT_END_DECLS
#endif
