/* SPDX-License-Identifier: MIT
 *
 * Rules without a mean of squares. */
#ifndef HT_BACKENDS_CUDA_OPTIM_SGD_H
#define HT_BACKENDS_CUDA_OPTIM_SGD_H

#include "backends/cuda/optim/step.h"

template <class type> struct sgd {
    typedef type real;
    enum { may_decouple = false };
    static void rates(const ht_update_call *, const ht_update_part *, part<real> *)
    {
    }
    static __forceinline__ __device__ void step(const step_call<real> &u, const part<real> &p,
                                                real scale, int64_t i, const element<real> &x)
    {
        const real g = gradient(u, scale, x.grad, x.param);
        real *buffer = p.state[0];

        if (buffer == NULL) {
            p.param[i] = x.param - u.lr * g;
            return;
        }
        const real next = p.first ? g : x.state[0] * u.momentum + u.undamped * g;

        buffer[i] = next;
        p.param[i] = x.param - (u.lr * (u.nesterov ? g + u.momentum * next : next));
    }
};

/* correction is the decay, weight that of the step in the mean. */
template <class type> struct asgd {
    typedef type real;
    enum { may_decouple = false };
    static void rates(const ht_update_call *u, const ht_update_part *from, part<real> *p)
    {
        p->rate = (real)from->number;
        p->correction = (real)(1 - u->beta1 * from->number);
        p->weight = (real)ht_asgd_mu(u, (double)from->step);
    }
    static __forceinline__ __device__ void step(const step_call<real> &u, const part<real> &p,
                                                real scale, int64_t i, const element<real> &x)
    {
        const real g = gradient(u, scale, x.grad, x.param), mean = x.state[0];
        const real param = x.param * p.correction - p.rate * g;

        p.param[i] = param;
        p.state[0][i] = p.weight == 1 ? param : mean + (param - mean) * p.weight;
    }
};

/* NaN in the product of both gradients leaves the size. */
template <class type> struct rprop {
    typedef type real;
    enum { may_decouple = false };
    static void rates(const ht_update_call *, const ht_update_part *, part<real> *)
    {
    }
    static __forceinline__ __device__ void step(const step_call<real> &u, const part<real> &p,
                                                real scale, int64_t i, const element<real> &x)
    {
        real g = x.grad * scale;
        const real turn = g * x.state[0];
        real s = x.state[1] * (turn > 0 ? u.beta2 : turn < 0 ? u.beta1 : 1);

        s = s < u.eps ? u.eps : s;
        s = s > u.momentum ? u.momentum : s;
        g = turn < 0 ? 0 : g;
        p.state[1][i] = s;
        p.state[0][i] = g;
        p.param[i] = x.param - (g > 0 ? s : g < 0 ? -s : 0);
    }
};

#endif
