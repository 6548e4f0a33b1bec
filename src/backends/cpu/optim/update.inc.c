/* SPDX-License-Identifier: MIT
 *
 * Template: one step of an optimizer in one pass over parameter, gradient and state tensors (n
 * each), in the order of operations of torch.optim's single-tensor code. */

#if HT_KIND == HT_KIND_FLOAT

/* The gradient that a step works with: scaled, its sign turned when maximizing, decayed. */
HT_INLINE T NAME(update_gradient)(T gradient, T scale, T parameter, T decay)
{
    T scaled = gradient * scale;

    return decay != 0 ? scaled + decay * parameter : scaled;
}

HT_INLINE T NAME(update_scale)(const ht_update_call *u)
{
    const double *factor = u->factor.data;
    const double scale = factor != NULL ? u->grad_scale * *factor : u->grad_scale;

    return (T)(u->maximize ? -scale : scale);
}

static void NAME(update_sgd_plain)(const ht_update_call *u, const ht_update_part *part)
{
    const T scale = NAME(update_scale)(u), lr = (T)u->lr, decay = (T)u->weight_decay;
    const T *gradient = part->grad.data;
    T *parameter = part->param.data;

    HT_VECTORIZE
    for (int64_t i = 0; i < part->n; i++)
        parameter[i] -= lr * NAME(update_gradient)(gradient[i], scale, parameter[i], decay);
}

/* The first step starts the buffer with the gradient: the earlier content is not read. */
static void NAME(update_sgd_momentum)(const ht_update_call *u, const ht_update_part *part)
{
    const T scale = NAME(update_scale)(u), lr = (T)u->lr, decay = (T)u->weight_decay;
    const T momentum = (T)u->momentum, weight = (T)(1 - u->dampening);
    const bool first = part->step == 1, nesterov = u->nesterov;
    const T *gradient = part->grad.data;
    T *parameter = part->param.data, *buffer = part->state[0].data;

    HT_VECTORIZE
    for (int64_t i = 0; i < part->n; i++) {
        T g = NAME(update_gradient)(gradient[i], scale, parameter[i], decay);
        T next = first ? g : buffer[i] * momentum + weight * g;

        buffer[i] = next;
        parameter[i] -= lr * (nesterov ? g + momentum * next : next);
    }
}

static void NAME(update_sgd)(const ht_update_call *u, const ht_update_part *part)
{
    if (part->state[0].data == NULL)
        NAME(update_sgd_plain)(u, part);
    else
        NAME(update_sgd_momentum)(u, part);
}

/* Called with a constant for the flag. A NaN stays the greatest. */
HT_INLINE void NAME(update_adam_walk)(const ht_update_call *u, const ht_update_part *part,
                                      bool amsgrad)
{
    const T scale = NAME(update_scale)(u), decay = u->decoupled ? 0 : (T)u->weight_decay;
    const T shrink = u->decoupled ? (T)(1 - u->lr * u->weight_decay) : 1;
    const T beta1 = (T)u->beta1, beta2 = (T)u->beta2, eps = (T)u->eps;
    const T weight1 = (T)(1 - u->beta1), weight2 = (T)(1 - u->beta2);
    const T correction2 = (T)sqrt(1 - pow(u->beta2, (double)part->step));
    const T step_size = (T)(u->lr / (1 - pow(u->beta1, (double)part->step)));
    const T *gradient = part->grad.data;
    T *parameter = part->param.data, *first = part->state[0].data, *second = part->state[1].data;
    T *greatest = part->state[2].data;

    HT_VECTORIZE
    for (int64_t i = 0; i < part->n; i++) {
        T p = parameter[i] * shrink;
        T g = NAME(update_gradient)(gradient[i], scale, p, decay);
        T m = first[i] * beta1 + weight1 * g;
        T v = second[i] * beta2 + weight2 * g * g;

        first[i] = m;
        second[i] = v;
        if (amsgrad) {
            T before = greatest[i];

            v = before > v || before != before ? before : v;
            greatest[i] = v;
        }
        parameter[i] = p - step_size * m / (HT_MATH(sqrt, v) / correction2 + eps);
    }
}

static void NAME(update_adam)(const ht_update_call *u, const ht_update_part *part)
{
    if (u->amsgrad)
        NAME(update_adam_walk)(u, part, true);
    else
        NAME(update_adam_walk)(u, part, false);
}

static void NAME(update_adadelta)(const ht_update_call *u, const ht_update_part *part)
{
    const T scale = NAME(update_scale)(u), lr = (T)u->lr, decay = (T)u->weight_decay;
    const T rho = (T)u->beta1, weight = (T)(1 - u->beta1), eps = (T)u->eps;
    const T *gradient = part->grad.data;
    T *parameter = part->param.data, *square = part->state[0].data,
      *accumulated = part->state[1].data;

    HT_VECTORIZE
    for (int64_t i = 0; i < part->n; i++) {
        T g = NAME(update_gradient)(gradient[i], scale, parameter[i], decay);
        T s = square[i] * rho + weight * g * g;
        T delta = HT_MATH(sqrt, accumulated[i] + eps) / HT_MATH(sqrt, s + eps) * g;

        square[i] = s;
        accumulated[i] = accumulated[i] * rho + weight * delta * delta;
        parameter[i] -= lr * delta;
    }
}

/* Called with constants for the flags. Rounding can make a variance slightly negative, and its root
 * would be no number: it counts as 0. */
HT_INLINE void NAME(update_rmsprop_walk)(const ht_update_call *u, const ht_update_part *part,
                                         bool centered, bool with_momentum)
{
    const T scale = NAME(update_scale)(u), lr = (T)u->lr, decay = (T)u->weight_decay;
    const T alpha = (T)u->beta1, weight = (T)(1 - u->beta1), eps = (T)u->eps;
    const T momentum = (T)u->momentum;
    const T *gradient = part->grad.data;
    T *parameter = part->param.data, *square = part->state[0].data;
    T *mean = part->state[1].data, *buffer = part->state[centered ? 2 : 1].data;

    HT_VECTORIZE
    for (int64_t i = 0; i < part->n; i++) {
        T g = NAME(update_gradient)(gradient[i], scale, parameter[i], decay);
        T s = square[i] * alpha + weight * g * g, spread = s, step;

        square[i] = s;
        if (centered) {
            T m = mean[i] * alpha + weight * g;

            mean[i] = m;
            spread = s - m * m;
            spread = spread < 0 ? 0 : spread;
        }
        step = g / (HT_MATH(sqrt, spread) + eps);
        if (with_momentum)
            buffer[i] = step = buffer[i] * momentum + step;
        parameter[i] -= lr * step;
    }
}

static void NAME(update_rmsprop)(const ht_update_call *u, const ht_update_part *part)
{
    if (u->centered && u->momentum != 0)
        NAME(update_rmsprop_walk)(u, part, true, true);
    else if (u->centered)
        NAME(update_rmsprop_walk)(u, part, true, false);
    else if (u->momentum != 0)
        NAME(update_rmsprop_walk)(u, part, false, true);
    else
        NAME(update_rmsprop_walk)(u, part, false, false);
}

static void NAME(update_adagrad)(const ht_update_call *u, const ht_update_part *part)
{
    const T scale = NAME(update_scale)(u), decay = (T)u->weight_decay, eps = (T)u->eps;
    const T lr = (T)(u->lr / (1 + (double)(part->step - 1) * u->beta1));
    const T *gradient = part->grad.data;
    T *parameter = part->param.data, *sum = part->state[0].data;

    HT_VECTORIZE
    for (int64_t i = 0; i < part->n; i++) {
        T g = NAME(update_gradient)(gradient[i], scale, parameter[i], decay);
        T s = sum[i] + g * g;

        sum[i] = s;
        parameter[i] -= lr * g / (HT_MATH(sqrt, s) + eps);
    }
}

static void NAME(update_adamax)(const ht_update_call *u, const ht_update_part *part)
{
    const T scale = NAME(update_scale)(u), decay = (T)u->weight_decay, eps = (T)u->eps;
    const T beta1 = (T)u->beta1, beta2 = (T)u->beta2, weight = (T)(1 - u->beta1);
    const T step_size = (T)(u->lr / (1 - pow(u->beta1, (double)part->step)));
    const T *gradient = part->grad.data;
    T *parameter = part->param.data, *mean = part->state[0].data, *norm = part->state[1].data;

    HT_VECTORIZE
    for (int64_t i = 0; i < part->n; i++) {
        T g = NAME(update_gradient)(gradient[i], scale, parameter[i], decay);
        T m = mean[i] * beta1 + weight * g;
        T before = norm[i] * beta2, now = (g < 0 ? -g : g) + eps;
        T most = before > now || before != before ? before : now; /* NaN stays NaN */

        mean[i] = m;
        norm[i] = most;
        parameter[i] -= step_size * m / most;
    }
}

/* Nesterov's momentum: the step is a sum of the gradient's part and that of its mean. */
static void NAME(update_nadam)(const ht_update_call *u, const ht_update_part *part)
{
    const T scale = NAME(update_scale)(u), decay = u->decoupled ? 0 : (T)u->weight_decay;
    const T shrink = u->decoupled ? (T)(1 - u->lr * u->weight_decay) : 1, eps = (T)u->eps;
    const T beta1 = (T)u->beta1, weight1 = (T)(1 - u->beta1);
    const T beta2 = (T)u->beta2, weight2 = (T)(1 - u->beta2);
    const double step = (double)part->step, mu = ht_nadam_mu(u, step);
    const double next = ht_nadam_mu(u, step + 1), product = part->number * mu;
    const T correction2 = (T)(1 - pow(u->beta2, step));
    const T of_gradient = (T)(u->lr * (1 - mu) / (1 - product));
    const T of_mean = (T)(u->lr * next / (1 - product * next));
    const T *gradient = part->grad.data;
    T *parameter = part->param.data, *first = part->state[0].data, *second = part->state[1].data;

    HT_VECTORIZE
    for (int64_t i = 0; i < part->n; i++) {
        T p = parameter[i] * shrink;
        T g = NAME(update_gradient)(gradient[i], scale, p, decay);
        T m = first[i] * beta1 + weight1 * g;
        T v = second[i] * beta2 + weight2 * g * g;
        T root = HT_MATH(sqrt, v / correction2) + eps;

        first[i] = m;
        second[i] = v;
        p -= of_gradient * g / root;
        parameter[i] = p - of_mean * m / root;
    }
}

/* The first steps, whose variance is not known yet, are those of momentum alone. */
static void NAME(update_radam)(const ht_update_call *u, const ht_update_part *part)
{
    const T scale = NAME(update_scale)(u), decay = u->decoupled ? 0 : (T)u->weight_decay;
    const T shrink = u->decoupled ? (T)(1 - u->lr * u->weight_decay) : 1, eps = (T)u->eps;
    const T beta1 = (T)u->beta1, weight1 = (T)(1 - u->beta1);
    const T beta2 = (T)u->beta2, weight2 = (T)(1 - u->beta2);
    const T step_size = (T)(u->lr / (1 - pow(u->beta1, (double)part->step)));
    const T factor = (T)ht_radam_rectified(u, (double)part->step);
    const bool adapts = factor > 0;
    const T *gradient = part->grad.data;
    T *parameter = part->param.data, *first = part->state[0].data, *second = part->state[1].data;

    HT_VECTORIZE
    for (int64_t i = 0; i < part->n; i++) {
        T p = parameter[i] * shrink;
        T g = NAME(update_gradient)(gradient[i], scale, p, decay);
        T m = first[i] * beta1 + weight1 * g;
        T v = second[i] * beta2 + weight2 * g * g;

        first[i] = m;
        second[i] = v;
        parameter[i] = p - step_size * m * (adapts ? factor / (HT_MATH(sqrt, v) + eps) : 1);
    }
}

/* A step size grows while the gradient keeps its sign; where the sign turns, it shrinks and the
 * gradient counts as 0. A NaN gradient moves nothing. */
static void NAME(update_rprop)(const ht_update_call *u, const ht_update_part *part)
{
    const T scale = NAME(update_scale)(u), less = (T)u->beta1, more = (T)u->beta2;
    const T least = (T)u->eps, most = (T)u->momentum;
    const T *gradient = part->grad.data;
    T *parameter = part->param.data, *last = part->state[0].data, *size = part->state[1].data;

    HT_VECTORIZE
    for (int64_t i = 0; i < part->n; i++) {
        T g = gradient[i] * scale, turn = g * last[i];
        T s = size[i] * (turn > 0 ? more : turn < 0 ? less : 1);

        s = s < least ? least : s;
        s = s > most ? most : s;
        g = turn < 0 ? 0 : g;
        size[i] = s;
        last[i] = g;
        parameter[i] -= g > 0 ? s : g < 0 ? -s : 0;
    }
}

static void NAME(update_asgd)(const ht_update_call *u, const ht_update_part *part)
{
    const T scale = NAME(update_scale)(u), decay = (T)u->weight_decay, rate = (T)part->number;
    const T shrink = (T)(1 - u->beta1 * part->number);
    const T weight = (T)ht_asgd_mu(u, (double)part->step);
    const bool copies = weight == 1;
    const T *gradient = part->grad.data;
    T *parameter = part->param.data, *mean = part->state[0].data;

    HT_VECTORIZE
    for (int64_t i = 0; i < part->n; i++) {
        T g = NAME(update_gradient)(gradient[i], scale, parameter[i], decay);
        T p = parameter[i] * shrink - rate * g;

        parameter[i] = p;
        mean[i] = copies ? p : mean[i] + (p - mean[i]) * weight;
    }
}

HT_INLINE int NAME(for_each_part)(const ht_kernel_call *call,
                                  void (*step)(const ht_update_call *, const ht_update_part *))
{
    const ht_update_call *update = (const ht_update_call *)call;
    const ht_update_part *part = ht_update_parts(update);
    const double *unless = update->unless.data;

    if (unless != NULL && *unless != 0)
        return 0;
    for (uint32_t i = 0; i < call->rows; i++)
        step(update, &part[i]);
    return 0;
}

HT_KERNEL(UPDATE_SGD)
{
    (void)stream;
    return NAME(for_each_part)(call, NAME(update_sgd));
}

HT_KERNEL(UPDATE_ADAM)
{
    (void)stream;
    return NAME(for_each_part)(call, NAME(update_adam));
}

HT_KERNEL(UPDATE_ADADELTA)
{
    (void)stream;
    return NAME(for_each_part)(call, NAME(update_adadelta));
}

HT_KERNEL(UPDATE_RMSPROP)
{
    (void)stream;
    return NAME(for_each_part)(call, NAME(update_rmsprop));
}

HT_KERNEL(UPDATE_ADAGRAD)
{
    (void)stream;
    return NAME(for_each_part)(call, NAME(update_adagrad));
}

HT_KERNEL(UPDATE_ADAMAX)
{
    (void)stream;
    return NAME(for_each_part)(call, NAME(update_adamax));
}

HT_KERNEL(UPDATE_NADAM)
{
    (void)stream;
    return NAME(for_each_part)(call, NAME(update_nadam));
}

HT_KERNEL(UPDATE_RADAM)
{
    (void)stream;
    return NAME(for_each_part)(call, NAME(update_radam));
}

HT_KERNEL(UPDATE_RPROP)
{
    (void)stream;
    return NAME(for_each_part)(call, NAME(update_rprop));
}

HT_KERNEL(UPDATE_ASGD)
{
    (void)stream;
    return NAME(for_each_part)(call, NAME(update_asgd));
}

#endif
