/* SPDX-License-Identifier: MIT
 *
 * A fingerprint of a network's parameters. */
#ifndef MNIST_DIGEST_H
#define MNIST_DIGEST_H

#include "ht.h"

/* SHA-256 of all parameters, little-endian, in order of registration, row-major, as hexadecimal
 * digits. False if a rank has others than rank 0. Collective. */
bool digest_parameters(ht_module *net, char text[65]);

#endif
