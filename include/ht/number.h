/* SPDX-License-Identifier: MIT
 *
 * ht_number: an int64, a double or a complex number of two doubles, for arguments and results that
 * may be any of them. Short calls take doubles, which have 53 bits; long ones, _ext, an ht_number,
 * of which nothing is rounded before it meets the dtype of a tensor:
 *
 *     ht_add_scalar(x, 0.5);
 *     ht_add_scalar_ext(x, HT_NUM(INT64_MAX));
 *     ht_mul_scalar_ext(x, HT_COMPLEX(0, 1));
 *
 * Beside a tensor it takes the tensor's dtype unless its kind is higher: an integer with bool gives
 * int64, a real with bool and integers float32, a complex with others complex64, with float64
 * complex128. A double in a short call counts as an integer there if it is a whole number.
 *
 * An integer that is out of the range of a dtype of integers is HT_ERR_ARGUMENT wherever it is to
 * become one, beside a tensor, to fill one, or in a sequence, and does not wrap around; beside
 * uint8, -1 is such a one. Quotients are no integers, so that any may divide, and bounds (ht_clip)
 * are brought into the range, as are reals that fill integers, NaN as 0. */
#ifndef HT_NUMBER_H
#define HT_NUMBER_H

#include <string.h>

#include "ht/types.h"

HT_BEGIN_DECLS

typedef enum ht_number_kind { HT_NUMBER_INTEGER, HT_NUMBER_REAL, HT_NUMBER_COMPLEX } ht_number_kind;

/* To be made by the calls below: what it holds is what its kind says. */
typedef struct ht_number {
    ht_number_kind kind;
    int64_t integer;        /* INTEGER; INT64_MIN of others */
    double real, imaginary; /* REAL and COMPLEX; an INTEGER, too, rounded */
} ht_number;

static inline ht_number ht_number_integer(int64_t value)
{
    ht_number number = {HT_NUMBER_INTEGER, value, (double)value, 0};
    return number;
}

static inline ht_number ht_number_real(double value)
{
    ht_number number = {HT_NUMBER_REAL, INT64_MIN, value, 0};
    return number;
}

static inline ht_number ht_number_complex(double real, double imaginary)
{
    ht_number number = {HT_NUMBER_COMPLEX, INT64_MIN, real, imaginary};
    return number;
}

/* Beyond INT64_MAX it is a REAL, rounded. */
static inline ht_number ht_number_unsigned(uint64_t value)
{
    return value <= INT64_MAX ? ht_number_integer((int64_t)value) : ht_number_real((double)value);
}

/* The whole text as a number in C's notation ("30.5"), whatever the locale of the program: for
 * options and files. false, with *number as it was, for anything else. Not collective. */
HT_API bool ht_number_from_text(const char *text, double *number);

HT_END_DECLS

#define HT_COMPLEX(real, imaginary) ht_number_complex(real, imaginary)

/* HT_NUM(x): x as an ht_number, by its type: any integer, floating or complex type, or one already.
 * Of more than double's bits, those of double; __int128 beyond int64 is a REAL, as uint64 is.
 * In C++ that is an overloaded function, and complex is what has real() and imag(). */
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

/* Of other types (_Float32, _Float64 _Complex), by what a long double times one is; of those that
 * are wider yet, by whether there is an imaginary part. What is no number does not compile. */
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
