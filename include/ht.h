/* SPDX-License-Identifier: MIT */
/* libht: distributed tensors and data-parallel neural networks over MPI. Includes every topic. */
#ifndef HT_H
#define HT_H

#include "ht/export.h"
#include "ht/version.h"

#endif
