/* SPDX-License-Identifier: MIT
 *
 * Element types and reductions as MPI has them. MPI does not have float16 and bfloat16: they travel
 * as two bytes, and the library has reductions for them that compute in float32.
 *
 * MPI_MIN and MPI_MAX lose or keep NaN depending on the order of ranks, and so the sign of zero.
 * Floating types have reductions of the library's own, for which -0 is below 0. In Open MPI, the
 * vector code of MPI_SUM saturates integers of 8 and 16 bits, and its other code wraps them; the
 * place in the message decides. The library's own sum wraps all of them. */

#include <math.h>

#include "core/comm/mpi.h"
#include "core/base/half.h"

static MPI_Datatype half_types[2]; /* float16, bfloat16 */
static MPI_Op half_ops[4];         /* SUM, PROD, MIN, MAX */
static MPI_Op nan_ops[2];          /* MIN, MAX of float32 and float64 */
static MPI_Op wrapping_sum;        /* of uint8, int8 and int16 */

typedef float to_float(uint16_t half);
typedef uint16_t from_float(float value);

/* The conversions are always inlined, which leaves nothing to point to without optimisation. */
static float widen_float16(uint16_t half)
{
    return ht__float16_to_float(half);
}

static uint16_t narrow_float16(float value)
{
    return ht__float_to_float16(value);
}

static float widen_bfloat16(uint16_t half)
{
    return ht__bfloat16_to_float(half);
}

static uint16_t narrow_bfloat16(float value)
{
    return ht__float_to_bfloat16(value);
}

/* Whether b takes the place of a in a maximum. */
static inline bool is_above(double b, double a)
{
    return b > a || isnan(b) || (b == 0 && a == 0 && signbit(a));
}

static inline float combine(ht_reduce_op op, float a, float b)
{
    switch (op) {
    case HT_OP_SUM:
        return a + b;
    case HT_OP_PROD:
        return a * b;
    case HT_OP_MIN:
        return is_above(-b, -a) ? b : a;
    default:
        return is_above(b, a) ? b : a;
    }
}

static inline void reduce(const uint16_t *in, uint16_t *inout, int count, ht_reduce_op op,
                          to_float *widen, from_float *narrow)
{
    for (int i = 0; i < count; i++)
        inout[i] = narrow(combine(op, widen(in[i]), widen(inout[i])));
}

static inline void reduce_half(const void *in, void *inout, int count, MPI_Datatype type,
                               ht_reduce_op op)
{
    if (type == half_types[0])
        reduce(in, inout, count, op, widen_float16, narrow_float16);
    else
        reduce(in, inout, count, op, widen_bfloat16, narrow_bfloat16);
}

static void half_sum(void *in, void *inout, int *count, MPI_Datatype *type)
{
    reduce_half(in, inout, *count, *type, HT_OP_SUM);
}

static void half_prod(void *in, void *inout, int *count, MPI_Datatype *type)
{
    reduce_half(in, inout, *count, *type, HT_OP_PROD);
}

static void half_min(void *in, void *inout, int *count, MPI_Datatype *type)
{
    reduce_half(in, inout, *count, *type, HT_OP_MIN);
}

static void half_max(void *in, void *inout, int *count, MPI_Datatype *type)
{
    reduce_half(in, inout, *count, *type, HT_OP_MAX);
}

static void extreme(const void *in, void *inout, int count, MPI_Datatype type, double sign)
{
    const float *f = in;
    const double *d = in;

    for (int i = 0; type == MPI_FLOAT && i < count; i++) {
        float *best = (float *)inout + i;

        *best = is_above(sign * f[i], sign * *best) ? f[i] : *best;
    }
    for (int i = 0; type == MPI_DOUBLE && i < count; i++) {
        double *best = (double *)inout + i;

        *best = is_above(sign * d[i], sign * *best) ? d[i] : *best;
    }
}

static void nan_min(void *in, void *inout, int *count, MPI_Datatype *type)
{
    extreme(in, inout, *count, *type, -1);
}

static void nan_max(void *in, void *inout, int *count, MPI_Datatype *type)
{
    extreme(in, inout, *count, *type, 1);
}

/* For signed ones, too: two's complement. */
static void wrap(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const uint8_t *bytes = in;
    const uint16_t *words = in;

    if (*type == MPI_INT16_T) {
        for (int i = 0; i < *count; i++)
            ((uint16_t *)inout)[i] = (uint16_t)(((uint16_t *)inout)[i] + words[i]);
        return;
    }
    for (int i = 0; i < *count; i++)
        ((uint8_t *)inout)[i] = (uint8_t)(((uint8_t *)inout)[i] + bytes[i]);
}

void ht__types_start(void)
{
    static MPI_User_function *const functions[4] = {half_sum, half_prod, half_min, half_max};

    for (int t = 0; t < 2; t++) {
        MPI_Type_contiguous(2, MPI_BYTE, &half_types[t]);
        MPI_Type_commit(&half_types[t]);
    }
    for (int op = 0; op < 4; op++)
        MPI_Op_create(functions[op], 1, &half_ops[op]);
    MPI_Op_create(nan_min, 1, &nan_ops[0]);
    MPI_Op_create(nan_max, 1, &nan_ops[1]);
    MPI_Op_create(wrap, 1, &wrapping_sum);
}

void ht__types_end(void)
{
    for (int t = 0; t < 2; t++)
        MPI_Type_free(&half_types[t]);
    for (int op = 0; op < 4; op++)
        MPI_Op_free(&half_ops[op]);
    for (int op = 0; op < 2; op++)
        MPI_Op_free(&nan_ops[op]);
    MPI_Op_free(&wrapping_sum);
}

MPI_Datatype ht__mpi_type(ht_dtype dtype)
{
    switch (dtype) {
    case HT_BOOL:
        return MPI_C_BOOL;
    case HT_UINT8:
        return MPI_UINT8_T;
    case HT_INT8:
        return MPI_INT8_T;
    case HT_INT16:
        return MPI_INT16_T;
    case HT_INT32:
        return MPI_INT32_T;
    case HT_INT64:
        return MPI_INT64_T;
    case HT_FLOAT16:
        return half_types[0];
    case HT_BFLOAT16:
        return half_types[1];
    case HT_FLOAT32:
        return MPI_FLOAT;
    case HT_FLOAT64:
        return MPI_DOUBLE;
    case HT_COMPLEX64:
        return MPI_C_FLOAT_COMPLEX;
    case HT_COMPLEX128:
        return MPI_C_DOUBLE_COMPLEX;
    case HT_DTYPE_COUNT:
        break;
    }
    return MPI_DATATYPE_NULL;
}

static MPI_Op logical_op(ht_reduce_op op)
{
    switch (op) {
    case HT_OP_AND:
    case HT_OP_MIN:
        return MPI_LAND;
    case HT_OP_OR:
    case HT_OP_MAX:
        return MPI_LOR;
    default:
        return MPI_OP_NULL;
    }
}

MPI_Op ht__mpi_op(ht_reduce_op op, ht_dtype dtype)
{
    const MPI_Op number_ops[4] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
    bool is_number_op = op >= HT_OP_SUM && op <= HT_OP_MAX;

    if (dtype == HT_BOOL)
        return logical_op(op);
    if (ht_dtype_is_integer(dtype) && !is_number_op)
        return logical_op(op);
    if (!is_number_op)
        return MPI_OP_NULL;
    if (dtype == HT_FLOAT16 || dtype == HT_BFLOAT16)
        return half_ops[op];
    if (ht_dtype_is_complex(dtype) && op > HT_OP_PROD)
        return MPI_OP_NULL;
    if ((dtype == HT_FLOAT32 || dtype == HT_FLOAT64) && op >= HT_OP_MIN)
        return nan_ops[op - HT_OP_MIN];
    if (op == HT_OP_SUM && ht_dtype_is_integer(dtype) && ht_dtype_size(dtype) < 4)
        return wrapping_sum;
    return number_ops[op];
}

const char *ht__op_name(ht_reduce_op op)
{
    static const char *const names[] = {"sum", "product", "minimum", "maximum", "and", "or"};

    return (unsigned)op < sizeof names / sizeof *names ? names[op] : "unknown operation";
}
