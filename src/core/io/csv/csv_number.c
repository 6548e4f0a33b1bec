/* SPDX-License-Identifier: MIT
 *
 * Numbers of a CSV file. Plain decimals of up to 19 digits are one integer and a power of ten, both
 * exact: one multiplication or division rounds once. strtod converts all others, and those few that
 * would be rounded twice. */
#include "core/io/csv/csv.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/half.h"

ht_plain_locale ht__plain_locale_begin(void)
{
    ht_plain_locale locale = {.plain = newlocale(LC_ALL_MASK, "C", (locale_t)0)};

    if (locale.plain != (locale_t)0)
        locale.before = uselocale(locale.plain);
    return locale;
}

void ht__plain_locale_end(ht_plain_locale locale)
{
    if (locale.plain == (locale_t)0)
        return;
    uselocale(locale.before);
    freelocale(locale.plain);
}

bool ht__csv_separates(char c)
{
    return c != '\0' && strchr("+-.\"'\r\n", c) == NULL && !(c >= '0' && c <= '9') &&
           !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z');
}

ht_status ht__csv_bad_separator(const char *what, char separator)
{
    return ht__error_set(
        HT_ERR_ARGUMENT,
        "%s: separator is '%c' (%d), expected a character outside of numbers and lines", what,
        separator >= ' ' ? separator : '?', separator);
}

/* sign * digits * 10^exponent; `digits` do not end with 0 */
typedef struct decimal {
    uint64_t digits;
    int exponent;
    bool negative;
    bool whole_read; /* all of them are in `digits` */
} decimal;

enum { MOST_DIGITS = 19, FAR = 100000 };

/* The text after 'e'; NULL: no exponent. */
static const char *take_exponent(const char *text, const char *end, int *exponent)
{
    bool negative = text < end && *text == '-';
    int value = 0;

    text += text < end && (*text == '-' || *text == '+');
    if (text == end || *text < '0' || *text > '9')
        return NULL;
    for (; text < end && *text >= '0' && *text <= '9'; text++)
        value = value < FAR ? 10 * value + (*text - '0') : value;
    *exponent += negative ? -value : value;
    return text;
}

static void add_digit(decimal *number, int64_t before, unsigned digit)
{
    if (before < MOST_DIGITS)
        number->digits = 10 * number->digits + digit;
}

/* Whether the field is a decimal number. */
static bool take_decimal(const char *text, const char *end, decimal *number)
{
    const char *point = NULL, *begin;
    int64_t count = 0, seen = 0, zeros = 0; /* zeros: the last ones, which may end the number */

    *number = (decimal){.negative = text < end && *text == '-'};
    text += text < end && (*text == '-' || *text == '+');
    for (begin = text; text < end; text++) {
        unsigned digit = (unsigned)(*text - '0');

        if (digit > 9) {
            if (*text != '.' || point != NULL)
                break;
            point = text + 1;
            continue;
        }
        seen++;
        if (digit == 0) {
            zeros += count > 0; /* not in front */
            continue;
        }
        for (; zeros > 0; zeros--)
            add_digit(number, count++, 0);
        add_digit(number, count++, digit);
    }
    if (seen == 0)
        return false;
    number->whole_read = count <= MOST_DIGITS && text - begin < FAR;
    if (text - begin < FAR)
        number->exponent = (int)((point != NULL ? point - text : 0) + zeros);
    if (text < end && (*text == 'e' || *text == 'E')) {
        text = take_exponent(text + 1, end, &number->exponent);
        number->whole_read = number->whole_read && text != NULL;
    }
    return text == end;
}

static double apply_sign(double value, bool negative)
{
    return negative ? -value : value;
}

/* The exact way, where there is one. */
static bool is_plain(const decimal *number, double *value)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    int exponent = number->exponent;
    double digits = (double)number->digits;

    if (!number->whole_read || exponent < -22 || exponent > 22)
        return false;
    if (number->digits <= (UINT64_C(1) << 53)) {
        *value = exponent < 0 ? digits / powers[-exponent] : digits * powers[exponent];
        return true;
    }
#if LDBL_MANT_DIG == 64
    /* 64 bits hold all digits and the powers; the result is rounded to 64 bits and then to 53,
     * which may differ from rounding once only from the middle between two doubles. */
    union {
        long double value;
        uint64_t fraction;
    } wide = {.value = exponent < 0 ? (long double)number->digits / (long double)powers[-exponent]
                                    : (long double)number->digits * (long double)powers[exponent]};

    *value = (double)wide.value;
    return (wide.fraction & 0x7ff) != 0x400;
#else
    return false;
#endif
}

/* "nan", "inf" and "infinity", with a sign. */
static bool is_word(const char *text, const char *end, double *value)
{
    static const struct {
        const char *word;
        double value;
    } words[] = {{"nan", NAN}, {"inf", INFINITY}, {"infinity", INFINITY}};
    bool negative = text < end && *text == '-';

    text += text < end && (*text == '-' || *text == '+');
    for (int i = 0; i < 3; i++) {
        size_t length = strlen(words[i].word);

        if ((size_t)(end - text) == length && strncasecmp(text, words[i].word, length) == 0) {
            *value = apply_sign(words[i].value, negative);
            return true;
        }
    }
    return false;
}

static bool read_double(const char *text, const char *end, double *value)
{
    decimal number;

    if (!take_decimal(text, end, &number))
        return is_word(text, end, value);
    if (is_plain(&number, value))
        *value = apply_sign(*value, number.negative);
    else
        *value = strtod(text, NULL);
    return true;
}

/* A double in the middle between two floats has been rounded once already, and small floats have
 * fewer bits. */
static bool read_float(const char *text, const char *end, float *value)
{
    double wide = 0;
    uint64_t bits;

    if (!read_double(text, end, &wide))
        return false;
    memcpy(&bits, &wide, sizeof bits);
    *value = (float)wide;
    if (((bits & 0x1fffffff) == 0x10000000 || fabs(wide) < FLT_MIN) && wide != 0 && isfinite(wide))
        *value = strtof(text, NULL);
    else if (isinf(*value) && isfinite(wide))
        *value = strtof(text, NULL);
    return true;
}

/* An integer, or a decimal number that is one. */
static const char *read_integer(const char *text, const char *end, ht_dtype dtype, int64_t *value)
{
    static const char not_integer[] = "not an integer";
    ht_iinfo range = dtype == HT_BOOL ? (ht_iinfo){.min = 0, .max = 1} : ht_dtype_iinfo(dtype);
    decimal number;
    uint64_t most;

    if (!take_decimal(text, end, &number))
        return text == end ? "empty" : "not a number";
    if (number.digits == 0)
        number.exponent = 0;
    if (number.exponent < 0)
        return not_integer;
    most = number.negative ? (uint64_t) - (range.min + 1) + 1 : (uint64_t)range.max;
    for (; number.exponent > 0 && number.digits <= most; number.exponent--) {
        if (number.digits > most / 10)
            return "out of range";
        number.digits *= 10;
    }
    if (!number.whole_read || number.digits > most)
        return "out of range";
    *value = number.negative ? (int64_t)(0 - number.digits) : (int64_t)number.digits;
    return NULL;
}

static bool is_truth(const char *text, const char *end, int64_t *value)
{
    bool yes = end - text == 4 && strncasecmp(text, "true", 4) == 0;

    *value = yes;
    return yes || (end - text == 5 && strncasecmp(text, "false", 5) == 0);
}

static const char *store_integer(const char *text, const char *end, ht_dtype dtype, void *elements,
                                 int64_t at)
{
    int64_t value = 0;
    const char *why = NULL;

    if (dtype != HT_BOOL || !is_truth(text, end, &value))
        why = read_integer(text, end, dtype, &value);
    if (why != NULL)
        return why;
    if (dtype == HT_INT64)
        ((int64_t *)elements)[at] = value;
    else if (dtype == HT_INT32)
        ((int32_t *)elements)[at] = (int32_t)value;
    else if (dtype == HT_INT16)
        ((int16_t *)elements)[at] = (int16_t)value;
    else
        ((uint8_t *)elements)[at] = (uint8_t)value; /* of int8 too: the same bits */
    return NULL;
}

const char *ht__csv_read(const char *text, const char *end, ht_dtype dtype, void *elements,
                         int64_t at)
{
    double value = NAN;
    float narrow = NAN;
    bool is_empty = text == end;

    if (ht__dtype_is_exact(dtype))
        return store_integer(text, end, dtype, elements, at);
    if (dtype == HT_FLOAT32) {
        if (!is_empty && !read_float(text, end, &narrow))
            return "not a number";
        ((float *)elements)[at] = narrow;
        return NULL;
    }
    if (!is_empty && !read_double(text, end, &value))
        return "not a number";
    if (dtype == HT_FLOAT64)
        ((double *)elements)[at] = value;
    else if (dtype == HT_FLOAT16)
        ((uint16_t *)elements)[at] = ht__float_to_float16(ht__double_to_odd_float(value));
    else
        ((uint16_t *)elements)[at] = ht__float_to_bfloat16(ht__double_to_odd_float(value));
    return NULL;
}

static int64_t integer_at(ht_dtype dtype, const void *elements, int64_t at)
{
    switch (dtype) {
    case HT_INT64:
        return ((const int64_t *)elements)[at];
    case HT_INT32:
        return ((const int32_t *)elements)[at];
    case HT_INT16:
        return ((const int16_t *)elements)[at];
    case HT_INT8:
        return ((const int8_t *)elements)[at];
    default:
        return ((const uint8_t *)elements)[at];
    }
}

static size_t write_integer(char *text, int64_t value)
{
    char digits[24];
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    size_t count = 0, length = 0;

    do {
        digits[count++] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (value < 0)
        text[length++] = '-';
    while (count > 0)
        text[length++] = digits[--count];
    return length;
}

/* Elements of 16 and 32 bits as double, which holds them. */
static double real_at(ht_dtype dtype, const void *elements, int64_t at)
{
    if (dtype == HT_FLOAT64)
        return ((const double *)elements)[at];
    if (dtype == HT_FLOAT32)
        return (double)((const float *)elements)[at];
    if (dtype == HT_FLOAT16)
        return (double)ht__float16_to_float(((const uint16_t *)elements)[at]);
    return (double)ht__bfloat16_to_float(((const uint16_t *)elements)[at]);
}

/* The fewest digits, of a few numbers of them, that give the number again. */
static size_t write_shortest(char *text, double value, bool is_double)
{
    static const int tries[2][3] = {{7, 8, 9}, {15, 16, 17}};
    size_t length = 0;

    for (int i = 0; i < 3; i++) {
        float narrow = 0;
        double wide = 0;

        length = (size_t)snprintf(text, HT_CSV_FIELD, "%.*g", tries[is_double][i], value);
        if (i == 2)
            break;
        if (is_double ? read_double(text, text + length, &wide) && wide == value
                      : read_float(text, text + length, &narrow) && (double)narrow == value)
            break;
    }
    return length;
}

size_t ht__csv_write(char text[HT_CSV_FIELD], ht_dtype dtype, const void *elements, int64_t at,
                     int decimals)
{
    double value;

    if (ht__dtype_is_exact(dtype))
        return write_integer(text, integer_at(dtype, elements, at));
    value = real_at(dtype, elements, at);
    if (isnan(value))
        return (size_t)snprintf(text, HT_CSV_FIELD, "nan");
    if (decimals < 0)
        return write_shortest(text, value, dtype == HT_FLOAT64);
    return (size_t)snprintf(text, HT_CSV_FIELD, "%.*f", decimals, value);
}
