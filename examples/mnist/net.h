/* SPDX-License-Identifier: MIT
 *
 * The networks of the example. */
#ifndef MNIST_NET_H
#define MNIST_NET_H

#include "ht.h"

/* Images (N, 1, 28, 28) to log-probabilities (N, 10). Owned. */
ht_module *net_cnn(bool dropout);
ht_module *net_mlp(void);

#endif
