/* SPDX-License-Identifier: MIT
 *
 * ht_number: an int64, a double or a complex number of two doubles, for arguments and results that
 * may be any of them. Short calls take doubles, which have 53 bits. Long calls, _ext, take an
 * ht_number, which is not rounded before it meets the dtype of a tensor:
 *
 *     ht_add_scalar(x, 0.5);
 *     ht_add_scalar_ext(x, HT_NUM(INT64_MAX));
 *     ht_mul_scalar_ext(x, HT_COMPLEX(0, 1));
 *
 * Combined with a tensor, a number takes the dtype of the tensor unless its kind is higher. Then:
 * - An integer with bool gives int64.
 * - A real with bool or integers gives float32.
 * - A complex gives complex128 with float64, and complex64 with other dtypes.
 * With integers and bool, a double in a short call counts as an integer if int64 holds its value:
 * 2.0 does, 0.5 and 1e30 do not.
 *
 * An integer outside the range of an integer dtype does not wrap around. It is HT_ERR_ARGUMENT
 * where it would become an element: combined with a tensor, filling one, or in a sequence of
 * integers (ht_arange). -1 with uint8 is an example. Quotients are not integers, so any integer may
 * divide. Bounds (ht_clip) and reals that fill integers are brought into the range, and NaN becomes
 * 0. The double of ht_full, ht_full_like, ht_fill_, ht_fill_diagonal_ and the layers of constant
 * padding is such a real: 300 fills uint8 with 255. A number that fills a tensor never raises its
 * dtype: a real loses its fraction in integers, a complex its imaginary part in real dtypes, and
 * bool is true unless it is 0. */
#ifndef HT_NUMBER_H
#define HT_NUMBER_H

#include <string.h>

#include "ht/types.h"

HT_BEGIN_DECLS

typedef enum ht_number_kind { HT_NUMBER_INTEGER, HT_NUMBER_REAL, HT_NUMBER_COMPLEX } ht_number_kind;

/* A number of one kind; made by HT_NUM, HT_COMPLEX or the calls below. */
typedef struct ht_number {
    ht_number_kind kind;
    int64_t integer;        /* the value of an INTEGER; INT64_MIN for other kinds */
    double real, imaginary; /* the value of a REAL or COMPLEX; an INTEGER rounded */
} ht_number;

/* Returns value as an ht_number of kind INTEGER. Not collective. */
static inline ht_number ht_number_integer(int64_t value)
{
    ht_number number = {HT_NUMBER_INTEGER, value, (double)value, 0};
    return number;
}

/* Returns value as an ht_number of kind REAL. Not collective. */
static inline ht_number ht_number_real(double value)
{
    ht_number number = {HT_NUMBER_REAL, INT64_MIN, value, 0};
    return number;
}

/* Returns real + i imaginary as an ht_number of kind COMPLEX. Not collective. */
static inline ht_number ht_number_complex(double real, double imaginary)
{
    ht_number number = {HT_NUMBER_COMPLEX, INT64_MIN, real, imaginary};
    return number;
}

/* Returns value as an ht_number of kind INTEGER; above INT64_MAX as a REAL, rounded. Not
 * collective. */
static inline ht_number ht_number_unsigned(uint64_t value)
{
    return value <= INT64_MAX ? ht_number_integer((int64_t)value) : ht_number_real((double)value);
}

/* Reads text as one number in the notation of C ("30.5"), for options and files.
 *
 * The locale of the program does not matter.
 *
 * text: the number, after white space at most, and nothing after it; also hexadecimal, inf and nan.
 *   Beyond the range of a double it is infinite.
 * number: receives the value; unchanged after a failure.
 * Not collective.
 * Result: false if text is not a number, or a pointer is NULL. */
HT_API bool ht_number_from_text(const char *text, double *number);

HT_END_DECLS

/* HT_COMPLEX(real, imaginary): real + i imaginary as an ht_number. Not collective. */
#define HT_COMPLEX(real, imaginary) ht_number_complex(real, imaginary)

/* HT_NUM(x): x as an ht_number of the kind that its type tells.
 *
 * x: of an integer, floating or complex type, or an ht_number already. Types wider than double are
 *   rounded to double. An __int128 outside int64 becomes a REAL, and so does an unsigned integer
 *   above INT64_MAX.
 * In C++ this is an overloaded function; a type with real() and imag() is complex.
 * Not collective. */
#ifdef __SIZEOF_INT128__
__extension__ typedef __int128 ht_number_int128;
__extension__ typedef unsigned __int128 ht_number_uint128;

static inline ht_number ht_number_of_int128(ht_number_int128 x)
{
    return x >= INT64_MIN && x <= INT64_MAX ? ht_number_integer((int64_t)x)
                                            : ht_number_real((double)x);
}

static inline ht_number ht_number_of_uint128(ht_number_uint128 x)
{
    return x <= INT64_MAX ? ht_number_integer((int64_t)x) : ht_number_real((double)x);
}
#endif

#ifdef __cplusplus

inline ht_number ht_number_of(double x)
{
    return ht_number_real(x);
}

inline ht_number ht_number_of(long double x)
{
    return ht_number_real(static_cast<double>(x));
}

inline ht_number ht_number_of(int x)
{
    return ht_number_integer(x);
}

inline ht_number ht_number_of(long x)
{
    return ht_number_integer(x);
}

inline ht_number ht_number_of(long long x)
{
    return ht_number_integer(x);
}

inline ht_number ht_number_of(unsigned x)
{
    return ht_number_integer(x);
}

inline ht_number ht_number_of(unsigned long x)
{
    return ht_number_unsigned(x);
}

inline ht_number ht_number_of(unsigned long long x)
{
    return ht_number_unsigned(x);
}

#ifdef __SIZEOF_INT128__
inline ht_number ht_number_of(ht_number_int128 x)
{
    return ht_number_of_int128(x);
}

inline ht_number ht_number_of(ht_number_uint128 x)
{
    return ht_number_of_uint128(x);
}
#endif

inline ht_number ht_number_of(ht_number x)
{
    return x;
}

template <typename T> auto ht_number_of(const T &x) -> decltype(x.real(), x.imag(), ht_number())
{
    return ht_number_complex(static_cast<double>(x.real()), static_cast<double>(x.imag()));
}

#define HT_NUM(x) ht_number_of(x)

#else

static inline ht_number ht_number_same(ht_number x)
{
    return x;
}

/* clang-format off */
#ifdef __STDC_NO_COMPLEX__
#define HT_NUM_OF_COMPLEX
#define HT_NUM_OF_ANY ht_number_real
#else
static inline ht_number ht_number_of_complex(double _Complex x)
{
    double parts[2]; /* without complex.h, whose I is a name that programs use */

    memcpy(parts, &x, sizeof parts);
    return ht_number_complex(parts[0], parts[1]);
}

static inline ht_number ht_number_of_any(double _Complex x)
{
    ht_number number = ht_number_of_complex(x);

    return number.imaginary == 0 ? ht_number_real(number.real) : number;
}

#define HT_NUM_OF_COMPLEX                  \
    float _Complex: ht_number_of_complex,  \
    double _Complex: ht_number_of_complex, \
    long double _Complex: ht_number_of_complex,
#define HT_NUM_OF_ANY ht_number_of_any
#endif

#ifdef __SIZEOF_INT128__
#define HT_NUM_OF_INT128                       \
    ht_number_int128: ht_number_of_int128,     \
    ht_number_uint128: ht_number_of_uint128,
#else
#define HT_NUM_OF_INT128
#endif

/* The kind for other types (_Float32, _Float64 _Complex): the type of long double times x tells it.
 * For types wider than long double, a nonzero imaginary part makes a COMPLEX. An x that is not a
 * number does not compile. */
#define HT_NUM_OTHER(x)                                                   \
    _Generic(_Generic((x), ht_number: 0, default: (x)) * 1.0L, HT_NUM_OF_COMPLEX \
        long double: ht_number_real,                                      \
        default: HT_NUM_OF_ANY)

#define HT_NUM(x)                                \
    _Generic((x), HT_NUM_OF_COMPLEX HT_NUM_OF_INT128 \
        ht_number: ht_number_same,               \
        float: ht_number_real,                   \
        double: ht_number_real,                  \
        long double: ht_number_real,             \
        _Bool: ht_number_integer,                \
        char: ht_number_integer,                 \
        signed char: ht_number_integer,          \
        unsigned char: ht_number_integer,        \
        short: ht_number_integer,                \
        unsigned short: ht_number_integer,       \
        int: ht_number_integer,                  \
        unsigned: ht_number_integer,             \
        long: ht_number_integer,                 \
        long long: ht_number_integer,            \
        unsigned long: ht_number_unsigned,       \
        unsigned long long: ht_number_unsigned,  \
        default: HT_NUM_OTHER(x))(x)
/* clang-format on */

#endif

#endif
