/* SPDX-License-Identifier: MIT
 *
 * oneDNN 2.6 and 3.x under one set of names: 3.0 made descriptions of memory opaque and dropped the
 * descriptions of operations. */
#ifndef HT_BACKENDS_CPU_NN_CONV_ONEDNN_VERSION_H
#define HT_BACKENDS_CPU_NN_CONV_ONEDNN_VERSION_H

#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_version.h>

/* How a convolution walks: strides, dilations less one, padding before and after. */
typedef struct conv_walk {
    dnnl_dims_t stride, dilation, before, after;
} conv_walk;

#if DNNL_VERSION_MAJOR >= 3

typedef const_dnnl_memory_desc_t layout;
typedef dnnl_memory_desc_t owned_layout;

static inline layout borrow(const owned_layout *l)
{
    return *l;
}

static inline void layout_free(owned_layout *l)
{
    if (*l != NULL)
        dnnl_memory_desc_destroy(*l);
}

static inline bool layout_strided(owned_layout *l, int ndim, const dnnl_dims_t dims,
                                  const dnnl_dims_t strides)
{
    return dnnl_memory_desc_create_with_strides(l, ndim, dims, dnnl_f32, strides) == dnnl_success;
}

static inline bool layout_any(owned_layout *l, int ndim, const dnnl_dims_t dims)
{
    return dnnl_memory_desc_create_with_tag(l, ndim, dims, dnnl_f32, dnnl_format_tag_any) ==
           dnnl_success;
}

static inline dnnl_status_t conv_forward_desc(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                              dnnl_alg_kind_t alg, layout x, layout w, layout b,
                                              layout y, const conv_walk *walk,
                                              const_dnnl_primitive_attr_t attr)
{
    return dnnl_convolution_forward_primitive_desc_create(pd, engine, dnnl_forward_training, alg, x,
                                                          w, b, y, walk->stride, walk->dilation,
                                                          walk->before, walk->after, attr);
}

static inline dnnl_status_t conv_data_desc(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                           dnnl_alg_kind_t alg, layout x, layout w, layout y,
                                           const conv_walk *walk, const_dnnl_primitive_attr_t attr,
                                           const_dnnl_primitive_desc_t hint)
{
    return dnnl_convolution_backward_data_primitive_desc_create(
        pd, engine, alg, x, w, y, walk->stride, walk->dilation, walk->before, walk->after, hint,
        attr);
}

static inline dnnl_status_t conv_weight_desc(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                             dnnl_alg_kind_t alg, layout x, layout w, layout b,
                                             layout y, const conv_walk *walk,
                                             const_dnnl_primitive_attr_t attr,
                                             const_dnnl_primitive_desc_t hint)
{
    return dnnl_convolution_backward_weights_primitive_desc_create(
        pd, engine, alg, x, w, b, y, walk->stride, walk->dilation, walk->before, walk->after, hint,
        attr);
}

#else

typedef const dnnl_memory_desc_t *layout;
typedef dnnl_memory_desc_t owned_layout;

static inline layout borrow(const owned_layout *l)
{
    return l->ndims > 0 ? l : NULL;
}

static inline void layout_free(owned_layout *l)
{
    (void)l;
}

static inline bool layout_strided(owned_layout *l, int ndim, const dnnl_dims_t dims,
                                  const dnnl_dims_t strides)
{
    return dnnl_memory_desc_init_by_strides(l, ndim, dims, dnnl_f32, strides) == dnnl_success;
}

static inline bool layout_any(owned_layout *l, int ndim, const dnnl_dims_t dims)
{
    return dnnl_memory_desc_init_by_tag(l, ndim, dims, dnnl_f32, dnnl_format_tag_any) ==
           dnnl_success;
}

static inline dnnl_status_t conv_forward_desc(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                              dnnl_alg_kind_t alg, layout x, layout w, layout b,
                                              layout y, const conv_walk *walk,
                                              const_dnnl_primitive_attr_t attr)
{
    dnnl_convolution_desc_t op;
    dnnl_status_t status = dnnl_dilated_convolution_forward_desc_init(
        &op, dnnl_forward_training, alg, x, w, b, y, walk->stride, walk->dilation, walk->before,
        walk->after);

    return status != dnnl_success ? status
                                  : dnnl_primitive_desc_create(pd, &op, attr, engine, NULL);
}

static inline dnnl_status_t conv_data_desc(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                           dnnl_alg_kind_t alg, layout x, layout w, layout y,
                                           const conv_walk *walk, const_dnnl_primitive_attr_t attr,
                                           const_dnnl_primitive_desc_t hint)
{
    dnnl_convolution_desc_t op;
    dnnl_status_t status = dnnl_dilated_convolution_backward_data_desc_init(
        &op, alg, x, w, y, walk->stride, walk->dilation, walk->before, walk->after);

    return status != dnnl_success ? status
                                  : dnnl_primitive_desc_create(pd, &op, attr, engine, hint);
}

static inline dnnl_status_t conv_weight_desc(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                             dnnl_alg_kind_t alg, layout x, layout w, layout b,
                                             layout y, const conv_walk *walk,
                                             const_dnnl_primitive_attr_t attr,
                                             const_dnnl_primitive_desc_t hint)
{
    dnnl_convolution_desc_t op;
    dnnl_status_t status = dnnl_dilated_convolution_backward_weights_desc_init(
        &op, alg, x, w, b, y, walk->stride, walk->dilation, walk->before, walk->after);

    return status != dnnl_success ? status
                                  : dnnl_primitive_desc_create(pd, &op, attr, engine, hint);
}

#endif
#endif
