/* SPDX-License-Identifier: MIT
 *
 * A low-pass filter by Fourier transforms of a signal that is split over the ranks:
 *     mpirun -n 4 lowpass */
#include <stdio.h>

#include "ht.h"

#define SAMPLES 4096 /* in one second */
#define PI      3.14159265358979323846

static ht_tensor *wave(ht_tensor *time, double hertz)
{
    return ht_sin(ht_mul_scalar(time, 2 * PI * hertz));
}

int main(int argc, char **argv)
{
    ht_tensor *time, *wanted, *signal, *spectrum, *frequency, *filtered;
    double before, after;

    ht_init(&argc, &argv);
    time = ht_div_scalar(ht_arange(0, SAMPLES, 1, HT_FLOAT64, 0), SAMPLES);
    wanted = wave(time, 5);
    signal = ht_add(wanted, ht_mul_scalar(wave(time, 440), 0.5));

    spectrum = ht_rfft(signal, HT_NONE, 0, HT_FFT_BACKWARD);
    frequency = ht_rfftfreq(SAMPLES, 1.0 / SAMPLES, 0); /* in hertz, in the slabs of spectrum */
    spectrum = ht_where(ht_lt(frequency, ht_scalar(50)), spectrum, ht_scalar(0));
    filtered = ht_irfft(spectrum, SAMPLES, 0, HT_FFT_BACKWARD);

    before = ht_item(ht_max(ht_abs(ht_sub(signal, wanted)), 0));
    after = ht_item(ht_max(ht_abs(ht_sub(filtered, wanted)), 0));
    if (ht_comm_rank(HT_COMM_WORLD) == 0)
        printf("largest error %.3f before, %.3f after\n", before, after);
    return ht_finalize();
}
