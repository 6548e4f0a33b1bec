/* SPDX-License-Identifier: MIT
 *
 * Template inside those of extremes: integer keys of floating numbers, which grow as these do. -0 is
 * below 0, and NaN is beyond every number. The includer undefines KEY_LARGEST, KEY_SMALLEST and
 * INFINITE. */

#define KEY_LARGEST  ((KEY)(((uint64_t)1 << (8 * sizeof(KEY) - 1)) - 1))
#define KEY_SMALLEST ((KEY)(-KEY_LARGEST - 1))
#define INFINITE     HT_JOIN(INFINITE_, DTYPE)

/* Negative numbers have their magnitude's bits turned over. */
HT_INLINE KEY NAME(turn)(KEY bits)
{
    return (KEY)(bits ^ (bits >> (8 * sizeof(KEY) - 1) & KEY_LARGEST));
}

HT_INLINE KEY NAME(key_of)(T x, KEY nan)
{
    KEY bits;

    memcpy(&bits, &x, sizeof bits);
    return (bits & KEY_LARGEST) > INFINITE ? nan : NAME(turn)(bits);
}

HT_INLINE T NAME(of_key)(KEY key)
{
    const KEY nan = (KEY)(INFINITE | INFINITE >> 1);
    const KEY bits = key == KEY_LARGEST || key == KEY_SMALLEST ? nan : NAME(turn)(key);
    T x;

    memcpy(&x, &bits, sizeof x);
    return x;
}
