/* SPDX-License-Identifier: MIT
 *
 * Template: the scan of a dtype. */

struct NAME(line) {
    typedef T in;
    typedef SUM acc;
    typedef TOTAL out;
    static __forceinline__ __device__ acc get(in x)
    {
        return (acc)LOAD(x);
    }
    static __forceinline__ __device__ out put(acc a)
    {
        return TO_TOTAL(a);
    }
};

static void NAME(add_cumulative)(ht_backend *backend)
{
    ht_cuda_add(backend, "CUMSUM", ID, ht_cuda_scan_lines<NAME(line), false>);
    ht_cuda_add(backend, "CUMPROD", ID, ht_cuda_scan_lines<NAME(line), true>);
}
