/* SPDX-License-Identifier: MIT
 *
 * A fingerprint of a network's parameters, the same on every rank or else an error. */
#include "digest.h"

#include <stdio.h>
#include <string.h>

#include "sha256.h"

/* Elements of a big-endian machine, turned round one by one. */
static void add_elements(struct sha256 *sha, const unsigned char *data, size_t count, size_t bytes)
{
    const uint16_t probe = 1;

    if (*(const unsigned char *)&probe == 1) {
        sha256_add(sha, data, count * bytes);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t b = bytes; b-- > 0;)
            sha256_add(sha, data + i * bytes + b, 1);
    }
}

static void add_parameter(const char *name, ht_tensor *x, void *sha)
{
    ht_scope *scope = ht_scope_open();
    bool grad = ht_set_grad_enabled(false);

    (void)name;
    x = ht_contiguous(ht_to_device(x, ht_device_get("cpu")));
    add_elements(sha, ht_tensor_data(x), (size_t)ht_tensor_size(x),
                 ht_dtype_size(ht_tensor_dtype(x)));
    ht_set_grad_enabled(grad);
    ht_scope_close(scope);
}

static bool is_everywhere(const uint8_t digest[32])
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *mine = ht_array(digest, HT_SHAPE(32), HT_UINT8, HT_LOCAL);
    ht_tensor *low = ht_copy(mine), *high = ht_copy(mine);
    bool same = false;

    ht_allreduce(HT_COMM_WORLD, mine, low, HT_OP_MIN);
    ht_allreduce(HT_COMM_WORLD, mine, high, HT_OP_MAX);
    ht_equal(low, high, &same);
    ht_scope_close(scope);
    return same;
}

bool digest_parameters(ht_module *net, char text[65])
{
    struct sha256 sha;
    uint8_t digest[32];

    sha256_start(&sha);
    ht_module_named_parameters(net, add_parameter, &sha);
    sha256_end(&sha, digest);
    for (int i = 0; i < 32; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    return is_everywhere(digest);
}
