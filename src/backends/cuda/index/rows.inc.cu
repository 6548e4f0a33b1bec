/* SPDX-License-Identifier: MIT
 *
 * Template: adds elements to those in place, as backends/cpu/index/add.inc.c. */

struct NAME(add_set) {
    typedef T element;
    static const bool adds = true;
    static __forceinline__ __device__ void at(T &x, T y)
    {
        x = STORE((WRAP)LOAD(x) + (WRAP)LOAD(y));
    }
};
