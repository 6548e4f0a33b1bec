/* SPDX-License-Identifier: MIT
 *
 * The code that rules of optimizers share. A rule is a struct with its step for element i of a
 * part, of which x has been read before; rates() fills in what depends on the step:
 *
 *     template <class type> struct rule {
 *         typedef type real;
 *         enum { may_decouple = false };
 *         static void rates(const ht_update_call *u, const ht_update_part *from, part<real> *p);
 *         static void step(const step_call<real> &u, const part<real> &p, real scale, int64_t i,
 *                          const element<real> &x);
 *     }; */
#ifndef HT_BACKENDS_CUDA_OPTIM_STEP_H
#define HT_BACKENDS_CUDA_OPTIM_STEP_H

#include <math.h>

#include "backends/cuda/fault/fault.h"
#include "backends/cuda/launch.h"
#include "ht/kernels/update.h"

enum { PARTS = 40 }; /* of a launch */

/* The first state tensors, if there are that many. */
template <class real> struct element {
    real param, grad, state[2];
};

template <class real> struct part {
    real *param;
    const real *grad;
    real *state[HT_UPDATE_STATES];
    int64_t n;
    real rate, correction, weight; /* that depend on the step */
    bool first;                    /* step */
    uint32_t end;                  /* behind its last block */
};

template <class real> struct step_call {
    const ht_cuda_fault *fault;
    const double *factor, *unless;
    double grad_scale;
    real lr, decay, beta1, beta2, eps, momentum, weight1, weight2, undamped, shrink;
    bool maximize, nesterov, centered, amsgrad, with_momentum;
    int parts;
    part<real> part_of[PARTS];
};

template <class real>
static __forceinline__ __device__ element<real> read_element(const part<real> &p, int64_t i)
{
    return {p.param[i],
            p.grad[i],
            {p.state[0] != NULL ? p.state[0][i] : 0, p.state[1] != NULL ? p.state[1][i] : 0}};
}

static __forceinline__ __device__ float root(float x)
{
    return sqrtf(x);
}

static __forceinline__ __device__ double root(double x)
{
    return sqrt(x);
}

template <class real>
static __forceinline__ __device__ real gradient(const step_call<real> &u, real scale, real grad,
                                                real param)
{
    const real scaled = grad * scale;

    return u.decay != 0 ? scaled + u.decay * param : scaled;
}

#endif
