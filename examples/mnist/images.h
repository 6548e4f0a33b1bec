/* SPDX-License-Identifier: MIT
 *
 * The images: loaders of the training and the test set. */
#ifndef MNIST_IMAGES_H
#define MNIST_IMAGES_H

#include "ht.h"
#include "options.h"

struct images {
    ht_dataset *train_set, *test_set;
    ht_dataloader *train, *test;
    ht_normalize normalize;
    ht_device *device;
};

/* Opens an HDF5 file, or a folder of IDX files by way of a temporary one. Collective; failures end
 * the job. Returns NULL, or why the options do not fit these images. */
const char *images_open(struct images *images, const struct options *options);
void images_close(struct images *images);

#endif
