/* SPDX-License-Identifier: MIT
 *
 * The fuzzer's own arithmetic: one element of any dtype, with a bound on its error and with its
 * derivatives. It shares nothing with the library but the dtypes' names. */
#ifndef HT_FUZZ_NUMBER_H
#define HT_FUZZ_NUMBER_H

#include <complex.h>
#include <math.h>

#include "ht.h"

/* Derivative of an element with respect to one real component of a leaf. `size` is the same sum
 * with the absolute values of its terms: what rounding errors are measured by; 0: not dependent. */
struct dual {
    double re, im, size;
};

enum { MAX_DUALS = 32 }; /* real components of all leaves of a program */
enum { SLACK = 4096 };   /* its gradient may differ by this number of roundings of its size */

struct number {
    int64_t i;      /* bool and integers */
    double re, im;  /* floating, complex */
    double err;     /* a right library may differ by this; INFINITY: by anything */
    struct dual *d; /* MAX_DUALS of them, from the arena; NULL: depends on no leaf */
};

enum kind { KIND_BOOL, KIND_INT, KIND_FLOAT, KIND_COMPLEX };

enum kind kind_of(ht_dtype dtype);
double eps_of(ht_dtype dtype); /* unit in the last place of 1 */
double max_of(ht_dtype dtype); /* of floating and complex components */
double round_to(ht_dtype dtype, double x);
double ulp(ht_dtype dtype, double x);
int64_t wrap_to(ht_dtype dtype, int64_t i); /* two's complement */
ht_dtype promote(ht_dtype a, ht_dtype b);

/* One arena for the duals of a program; once it is full, its content is invalid. */
void arena_reset(void);
extern bool arena_full;
extern bool arena_singular; /* some derivative was infinite: 0 times it is NaN in a pass */
extern bool arena_zero;     /* some derivative was 0: an infinite gradient times it is NaN */
struct dual *arena_duals(void);

struct number number_real(ht_dtype dtype, double x);
struct number number_int(ht_dtype dtype, int64_t i);
struct number number_unknown(void);
bool is_unknown(struct number a);
double number_abs(ht_dtype dtype, struct number a);
bool is_true(ht_dtype dtype, struct number a);
double complex number_z(struct number a);
/* A number that is passed with a tensor: as a number of the dtype, and the dtype in which the two
 * meet, the tensor's unless the number's kind is higher. A double counts as an integer if it is an
 * integer and the tensor has no others. */
struct number number_of(ht_dtype dtype, ht_number x);
bool number_fits(ht_dtype dtype, ht_number x); /* else an integer is refused */
ht_dtype number_meets(ht_dtype dtype, ht_number x);
ht_number number_of_double(ht_dtype dtype, double x);
struct number convert(struct number a, ht_dtype from, ht_dtype to);

/* r with derivatives fa a' + fb b' (b may be NULL). */
void chain(struct number *r, double complex fa, struct number a, double complex fb,
           const struct number *b);

/* to += factor from */
void add_duals(struct dual *to, double complex factor, const struct dual *from);

/* Rounds r.re, r.im to the dtype; `err` is what the operands' errors make of it, `ulps` what the
 * operation itself may be off by; 0: correctly rounded. */
struct number finish(ht_dtype dtype, struct number r, double err, double ulps);

typedef struct number binary_number(ht_dtype dtype, struct number a, struct number b);
typedef struct number unary_number(ht_dtype dtype, struct number a);
binary_number number_add, number_sub, number_mul, number_div, number_maximum, number_minimum;
binary_number number_eq, number_ne, number_lt, number_le, number_gt, number_ge;
unary_number number_neg, number_exp, number_log, number_sqrt, number_tanh, number_relu;
unary_number number_expm1, number_log1p;
unary_number number_leaky_relu; /* of slope 0.01 */

struct number number_clip(ht_dtype dtype, struct number a, ht_number low, ht_number high);

/* Sums, kept exactly as far as a long double does. */
struct total {
    long double re, im;
    double size, err; /* of absolute values; of the terms' errors */
    double finite;    /* of absolute values that are finite */
    int64_t i, count;
    bool exact, whole, unknown; /* whole: terms are multiples of one power of two */
    struct dual *d;
};
struct total total_new(void);
void total_add(struct total *total, ht_dtype dtype, struct number a);
void total_add_product(struct total *total, ht_dtype dtype, struct number a, struct number b);
/* In the dtype, where sums are accumulated in `accumulator`. */
struct number total_round(const struct total *total, ht_dtype dtype, ht_dtype accumulator);
ht_dtype accumulator_of(ht_dtype dtype);

/* Whether an element in memory is a right value of the number. */
bool matches(ht_dtype dtype, const void *element, struct number a);
struct number load(ht_dtype dtype, const void *element);
void store(ht_dtype dtype, void *element, struct number a);
void number_text(char *text, size_t size, ht_dtype dtype, struct number a);

#endif
