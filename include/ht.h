/* SPDX-License-Identifier: MIT */
/* libht: distributed tensors and data-parallel neural networks over MPI. Includes every topic;
 * ht/backend.h, for people who write a backend, is apart. */
#ifndef HT_H
#define HT_H

#include "ht/arithmetics.h"
#include "ht/auto.h"
#include "ht/autograd.h"
#include "ht/callbacks.h"
#include "ht/checkpoint.h"
#include "ht/comm_hooks.h"
#include "ht/communication.h"
#include "ht/data.h"
#include "ht/data_parallel.h"
#include "ht/devices.h"
#include "ht/error.h"
#include "ht/exponential.h"
#include "ht/export.h"
#include "ht/factories.h"
#include "ht/functional.h"
#include "ht/io.h"
#include "ht/linalg.h"
#include "ht/log.h"
#include "ht/manipulations.h"
#include "ht/metrics.h"
#include "ht/module.h"
#include "ht/nn.h"
#include "ht/object.h"
#include "ht/optim.h"
#include "ht/optim_wrapper.h"
#include "ht/printing.h"
#include "ht/random.h"
#include "ht/relational.h"
#include "ht/signals.h"
#include "ht/statistics.h"
#include "ht/tensor.h"
#include "ht/timeline.h"
#include "ht/train_step.h"
#include "ht/types.h"
#include "ht/value.h"
#include "ht/version.h"

#endif
