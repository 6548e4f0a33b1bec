/* SPDX-License-Identifier: MIT
 *
 * Initialisation by the number of a unit's inputs and outputs: Xavier's and Kaiming's. */
#include "nn/module/init.h"

#include <math.h>
#include <string.h>

/* The inputs and outputs of a unit. */
typedef struct fans {
    double in, out;
} fans;

static ht_status read_fans(const char *what, ht_tensor *x, fans *result)
{
    const ht_body *body;
    double window = 1;

    if (ht__nn_init_check(what, x) != HT_SUCCESS)
        return ht_error_get(NULL);
    body = x->body;
    if (body->ndim < 2)
        return HT_FAIL(body->comm, HT_ERR_SHAPE, "%s: x is %s, expected at least 2 axes", what,
                       ht__shape_str(body->ndim, body->shape));
    for (int i = 2; i < body->ndim; i++)
        window *= (double)body->shape[i];
    *result = (fans){(double)body->shape[1] * window, (double)body->shape[0] * window};
    return HT_SUCCESS;
}

static ht_status check_number(const char *what, const ht_tensor *x, const char *name, double value)
{
    if (isfinite(value))
        return HT_SUCCESS;
    return HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: %s is %g, expected a finite number", what,
                   name, value);
}

/* The gain, with the slope `param` where it is one; NaN: there is no such nonlinearity. */
static double gain_of(const char *nonlinearity, double param)
{
    static const struct {
        const char *name;
        double gain;
    } gains[] = {{"linear", 1},           {"conv1d", 1},           {"conv2d", 1},
                 {"conv3d", 1},           {"conv_transpose1d", 1}, {"conv_transpose2d", 1},
                 {"conv_transpose3d", 1}, {"sigmoid", 1},          {"tanh", 5.0 / 3},
                 {"selu", 3.0 / 4}};

    if (strcmp(nonlinearity, "relu") == 0)
        return sqrt(2);
    if (strcmp(nonlinearity, "leaky_relu") == 0)
        return sqrt(2 / (1 + param * param));
    for (size_t i = 0; i < sizeof gains / sizeof *gains; i++) {
        if (strcmp(nonlinearity, gains[i].name) == 0)
            return gains[i].gain;
    }
    return NAN;
}

static ht_status refuse_name(const char *what, const char *name)
{
    return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                   "%s: nonlinearity is \"%s\", expected \"relu\" or another "
                   "name of ht_nn_init_calculate_gain",
                   what, name);
}

double ht_nn_init_calculate_gain(const char *nonlinearity, double param)
{
    static const char what[] = "ht_nn_init_calculate_gain";
    double gain;

    if (HT_IS_NULL(nonlinearity, what, "nonlinearity"))
        return NAN;
    gain = gain_of(nonlinearity, isnan(param) ? 0.01 : param);
    if (isnan(gain))
        refuse_name(what, nonlinearity);
    return gain;
}

static ht_status xavier(const char *what, ht_tensor *x, double gain, bool normal)
{
    fans fan;
    double std;

    if (read_fans(what, x, &fan) != HT_SUCCESS || check_number(what, x, "gain", gain) != HT_SUCCESS)
        return ht_error_get(NULL);
    if (fan.in + fan.out == 0)
        return HT_SUCCESS;
    std = fabs(gain) * sqrt(2 / (fan.in + fan.out));
    return normal ? ht__nn_init_normal(what, x, 0, std)
                  : ht__nn_init_uniform(what, x, -sqrt(3) * std, sqrt(3) * std);
}

ht_status ht_nn_init_xavier_uniform(ht_tensor *x, double gain)
{
    return xavier("ht_nn_init_xavier_uniform", x, gain, false);
}

ht_status ht_nn_init_xavier_normal(ht_tensor *x, double gain)
{
    return xavier("ht_nn_init_xavier_normal", x, gain, true);
}

/* How Kaiming's is drawn. */
typedef struct kaiming {
    double a;
    ht_fan_mode mode;
    const char *nonlinearity;
    bool normal;
} kaiming;

static ht_status draw_kaiming(const char *what, ht_tensor *x, kaiming how)
{
    fans fan;
    double gain, count, std;

    if (HT_IS_NULL(how.nonlinearity, what, "nonlinearity") ||
        read_fans(what, x, &fan) != HT_SUCCESS || check_number(what, x, "a", how.a) != HT_SUCCESS)
        return ht_error_get(NULL);
    gain = gain_of(how.nonlinearity, how.a);
    if (isnan(gain))
        return refuse_name(what, how.nonlinearity);
    if (how.mode != HT_FAN_IN && how.mode != HT_FAN_OUT)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: mode is %d, expected HT_FAN_IN or HT_FAN_OUT",
                       what, (int)how.mode);
    count = how.mode == HT_FAN_IN ? fan.in : fan.out;
    if (ht_tensor_size(x) == 0)
        return HT_SUCCESS;
    std = gain / sqrt(count);
    return how.normal ? ht__nn_init_normal(what, x, 0, std)
                      : ht__nn_init_uniform(what, x, -sqrt(3) * std, sqrt(3) * std);
}

ht_status ht_nn_init_kaiming_uniform(ht_tensor *x, double a)
{
    return draw_kaiming("ht_nn_init_kaiming_uniform", x,
                        (kaiming){a, HT_FAN_IN, "leaky_relu", false});
}

ht_status ht_nn_init_kaiming_uniform_ext(ht_tensor *x, double a, ht_fan_mode mode,
                                         const char *nonlinearity)
{
    return draw_kaiming("ht_nn_init_kaiming_uniform_ext", x,
                        (kaiming){a, mode, nonlinearity, false});
}

ht_status ht_nn_init_kaiming_normal(ht_tensor *x, double a)
{
    return draw_kaiming("ht_nn_init_kaiming_normal", x,
                        (kaiming){a, HT_FAN_IN, "leaky_relu", true});
}

ht_status ht_nn_init_kaiming_normal_ext(ht_tensor *x, double a, ht_fan_mode mode,
                                        const char *nonlinearity)
{
    return draw_kaiming("ht_nn_init_kaiming_normal_ext", x, (kaiming){a, mode, nonlinearity, true});
}
