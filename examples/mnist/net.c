/* SPDX-License-Identifier: MIT
 *
 * The networks: the CNN of Heat's and PyTorch's MNIST examples, and a perceptron of three layers.
 */
#include "net.h"

struct cnn {
    ht_module *conv1, *conv2, *dropout1, *dropout2, *fc1, *fc2;
};

static ht_tensor *cnn_forward(ht_module *self, ht_tensor *x)
{
    struct cnn *net = ht_module_data(self);

    x = ht_relu(ht_forward(net->conv1, x));
    x = ht_max_pool2d(ht_relu(ht_forward(net->conv2, x)), 2);
    x = ht_flatten(ht_forward(net->dropout1, x), 1);
    x = ht_forward(net->dropout2, ht_relu(ht_forward(net->fc1, x)));
    return ht_log_softmax(ht_forward(net->fc2, x), 1);
}

static const ht_module_type cnn_type = {.name = "CNN", .forward = cnn_forward};

ht_module *net_cnn(bool dropout)
{
    ht_module *self = ht_module_new(sizeof(struct cnn), &cnn_type);
    struct cnn *net = ht_module_data(self);

    ht_module_add(self, "conv1", &net->conv1, ht_nn_conv2d(1, 32, 3));
    ht_module_add(self, "conv2", &net->conv2, ht_nn_conv2d(32, 64, 3));
    ht_module_add(self, "dropout1", &net->dropout1, ht_nn_dropout2d(dropout ? 0.25 : 0));
    ht_module_add(self, "dropout2", &net->dropout2, ht_nn_dropout(dropout ? 0.5 : 0));
    ht_module_add(self, "fc1", &net->fc1, ht_nn_linear(9216, 128));
    ht_module_add(self, "fc2", &net->fc2, ht_nn_linear(128, 10));
    return self;
}

ht_module *net_mlp(void)
{
    ht_module *layers[] = {
        ht_nn_flatten(1), ht_nn_linear(784, 512), ht_nn_relu(),         ht_nn_linear(512, 512),
        ht_nn_relu(),     ht_nn_linear(512, 10),  ht_nn_log_softmax(1),
    };

    return ht_nn_sequential((int)(sizeof layers / sizeof *layers), layers);
}
