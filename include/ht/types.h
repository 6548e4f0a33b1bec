/* SPDX-License-Identifier: MIT
 *
 * Element types, the handles of the library, and constants that several topics share. */
#ifndef HT_TYPES_H
#define HT_TYPES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ht/export.h"

HT_BEGIN_DECLS

/* Opaque handles. Every one is a counted object: ht_retain, ht_release (ht/object.h). */
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
#define HT_LOCAL    (INT_MIN + 1) /* as the split of a factory: this rank's own (ht/factories.h) */
#define HT_MAX_NDIM 8

/* One row per element type: enumerator, name, bytes of one element.
 * The order is the order of promotion inside a kind (ht_promote_types). */
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

/* Name of a dtype as NumPy spells it, "float32"; "invalid" outside the list. Not collective. */
HT_API const char *ht_dtype_name(ht_dtype dtype);

/* Bytes of one element; 0 outside the list. Not collective. */
HT_API size_t ht_dtype_size(ht_dtype dtype);

/* The dtype with this name, or HT_DTYPE_COUNT. Not collective. */
HT_API ht_dtype ht_dtype_from_name(const char *name);

HT_API bool ht_dtype_is_integer(ht_dtype dtype);  /* bool is none */
HT_API bool ht_dtype_is_floating(ht_dtype dtype); /* float16 ... float64 */
HT_API bool ht_dtype_is_complex(ht_dtype dtype);

/* The smallest dtype that both convert to by PyTorch's rules: bool < integer < floating < complex;
 * uint8 with a signed integer gives the next wider signed one, float16 with bfloat16 float32, a
 * complex with float64 complex128. Not collective. Source: torch.promote_types. (Of tensors:
 * ht_result_type.) */
HT_API ht_dtype ht_promote_types(ht_dtype a, ht_dtype b);

/* What conversions may lose: NO: nothing changes; SAFE: no value changes; SAME_KIND: digits and
 * range, inside of bool < integer < floating < complex or to a higher one, and no sign; UNSAFE:
 * anything.
 * INTUITIVE: as SAFE, and int32 to float32. */
typedef enum ht_casting {
    HT_CAST_NO,
    HT_CAST_SAFE,
    HT_CAST_SAME_KIND,
    HT_CAST_UNSAFE,
    HT_CAST_INTUITIVE
} ht_casting;

/* Whether a dtype converts to another one so; int64 to float64 counts as SAFE, as in NumPy. False
 * outside the list. Not collective. Source: numpy.can_cast, heat.can_cast. */
HT_API bool ht_can_cast(ht_dtype from, ht_dtype to, ht_casting casting);

/* Kinds of dtypes, as the array API standard names them. */
typedef enum ht_dtype_kind {
    HT_DTYPE_KIND_BOOL,
    HT_DTYPE_KIND_SIGNED_INTEGER,
    HT_DTYPE_KIND_UNSIGNED_INTEGER,
    HT_DTYPE_KIND_INTEGRAL, /* both */
    HT_DTYPE_KIND_REAL_FLOATING,
    HT_DTYPE_KIND_COMPLEX_FLOATING,
    HT_DTYPE_KIND_NUMERIC /* all but bool */
} ht_dtype_kind;
HT_API bool ht_isdtype(ht_dtype dtype, ht_dtype_kind kind);

/* Limits of integers, and of floating numbers (of complex ones those of their parts): eps is what
 * lies between 1 and the next number, tiny the least that has all its digits. bits is 0 where the
 * dtype is of another kind. Not collective. */
typedef struct ht_iinfo {
    int bits;
    int64_t min, max;
} ht_iinfo;
typedef struct ht_finfo {
    int bits;
    double eps, min, max, tiny;
} ht_finfo;
HT_API ht_iinfo ht_dtype_iinfo(ht_dtype dtype);
HT_API ht_finfo ht_dtype_finfo(ht_dtype dtype);

HT_END_DECLS
#endif
