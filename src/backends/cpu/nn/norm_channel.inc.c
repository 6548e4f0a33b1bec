/* SPDX-License-Identifier: MIT
 *
 * Template inside others: statistics and affine map of a channel, as NORM_PREPARE has them. */

/* r += momentum (value - r), rounded once. */
HT_INLINE void NAME(norm_follow)(T *r, double value, double momentum)
{
    const double before = (double)LOAD(*r);

    *r = TO_TOTAL(before + momentum * (value - before));
}

HT_INLINE void NAME(norm_prepare)(const ht_norm_channels_call *n, int64_t c)
{
    const int64_t channels = n->channels;
    const double *moments = (const double *)n->moments.data;
    const T *weight = (const T *)n->weight.data, *bias = (const T *)n->bias.data;
    T *running_mean = (T *)n->running_mean.data, *running_var = (T *)n->running_var.data;
    double *channel = (double *)n->channel.data;
    const double m2 = moments != NULL ? moments[channels + c] : 0;
    const double variance = moments == NULL ? (double)LOAD(running_var[c])
                            : n->count > 0  ? m2 / n->count
                                            : 1;
    const double mean = moments == NULL ? (double)LOAD(running_mean[c]) : moments[c];
    const double invstd = 1 / sqrt(variance + n->eps);

    channel[c] = mean;
    channel[channels + c] = invstd;
    channel[2 * channels + c] = (weight != NULL ? (double)LOAD(weight[c]) : 1) * invstd;
    channel[3 * channels + c] = bias != NULL ? (double)LOAD(bias[c]) : 0;
    if (moments == NULL || !n->track || n->count == 0)
        return;
    if (running_mean != NULL)
        NAME(norm_follow)(&running_mean[c], mean, n->momentum);
    if (running_var != NULL)
        NAME(norm_follow)(&running_var[c], m2 / (n->count - 1), n->momentum);
}
