/* SPDX-License-Identifier: MIT
 *
 * Checks of functions of embeddings and distances, and of the constructors of their layers. In a
 * constructor, x is NULL. */
#ifndef HT_NN_FUNCTIONAL_EMBEDDING_CHECKS_H
#define HT_NN_FUNCTIONAL_EMBEDDING_CHECKS_H

#include "nn/functional/functional.h"

/* Whether rows can be scaled to max_norm, of the order norm_type. */
bool ht__lookup_check_norm(const char *what, const ht_tensor *x, double max_norm, double norm_type);

/* Whether p is an order of ht_vector_norm. */
bool ht__distance_check_order(const char *what, const ht_tensor *x, double p);

#endif
