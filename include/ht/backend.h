/* SPDX-License-Identifier: MIT
 *
 * For people who write a backend. Programs that use tensors do not need this header.
 *
 * A backend is a table of functions for devices and their memory, and kernels. A module exports
 *     int ht_backend_open(uint32_t abi, const ht_backend_services *services, ht_backend *backend);
 * fills the table, adds its kernels with services->add, and returns 0; not 0, after services->fail
 * told why, where it cannot be used. It links nothing of libht; what it needs of the core comes
 * through `services`.
 *
 * Kernels. ht/kernels/ lists them by name, with the struct that each is given. A module adds those
 * it has, each for the dtypes it has it for; what is missing runs on the host instead (copied
 * there and back unless host_memory is set; counted: HT_FALLBACK). A kernel returns 0;
 * HT_KERNEL_REFUSED where it is not for these arguments, and nothing was done: it runs on the host,
 * too; anything else after services->fail told why. Strides and offsets are in elements.
 *
 * Operands. A call lists the memory that its kernel reaches (ht_kernel_operand); kernels take their
 * pointers from there. A backend that has to move or translate memory walks the list
 * (services->operands), whichever kernel it is.
 *
 * Asynchrony. A kernel or copy may return before its work is done: work of one stream is done in
 * the order in which it was given. All that a kernel needs is in its arguments, which are the
 * caller's again when it returns (call.bytes is their whole length), or in device memory. An error
 * in the data, such as a target outside of the classes, that is found only then is kept: the next
 * `synchronize`, `event_wait`, `event_done` or `poll` returns not 0 (-1) after services->fail named
 * the operation (call.what) and the cause; with that it is told. Updates of optimizers that come
 * behind it in the stream do nothing if they were given before it was told: who gave them did not
 * know (so what ends that is work of the stream, too, given when it is told).
 *
 * The table comes zeroed. Several threads may call functions of different devices at once.
 *
 * What is new is added at the end of ht_backend and ht_backend_services, as kernels of new names,
 * or as new structs of arguments: modules of this HT_BACKEND_ABI stay loadable. What the arguments
 * of several kernels begin with (ht_kernel_call, ht_loop) cannot grow. */
#ifndef HT_BACKEND_H
#define HT_BACKEND_H

#include "ht/error.h"
#include "ht/types.h"

HT_BEGIN_DECLS

#define HT_BACKEND_ABI    6u
#define HT_LOOP_OPERANDS  4
#define HT_LOOP_PARAMS    4
#define HT_KERNEL_REFUSED (-1)

/* The index of a kernel: HT_KERNEL_ADD and so on in the core, services->kernel("ADD") in a module.
 */
typedef int ht_kernel;

/* An operand of a kernel: memory of the device. The kernel reaches the bytes begin ... end - 1,
 * counted from `data`; begin is negative where a stride leads before `data`. Both are 0 where it
 * reaches nothing, and may be 0 for backends with host_memory. written: it may write the bytes, and
 * read them, too. data is NULL: the operand is absent. */
typedef struct ht_kernel_operand {
    void *data;
    int64_t begin, end;
    bool written;
} ht_kernel_operand;

/* The arguments of every kernel begin with this call, which `operands` operands follow directly.
 * Kernels whose number of operands varies have a table of further ones: it begins `table` bytes
 * behind the beginning of the call, its `rows` rows are row_bytes apart, and each begins with
 * row_operands operands. All other arguments are values: they point nowhere. */
typedef struct ht_kernel_call {
    uint32_t bytes;    /* of the arguments, with this */
    ht_kernel kernel;  /* for functions that serve several */
    ht_dtype dtype;    /* for which it was added */
    uint32_t operands; /* at least 1 */
    const char *what;  /* the public function, for messages; stays for ever */
    uint32_t table, rows, row_bytes, row_operands; /* rows is 0: there is no table */
} ht_kernel_call;

/* stream: what device_open made. call: the beginning of the struct that the kernel's row names. */
typedef int ht_kernel_fn(void *stream, const ht_kernel_call *call);

/* One element of any dtype. */
typedef union ht_element {
    unsigned char bytes[16];
    double real[2];
    int64_t integer[2];
} ht_element;

/* An iteration over the local parts of up to four operands, merged to as few axes as strides allow;
 * the last axis is the innermost. ndim >= 1; a length may be 0. Operand 0 is the output. An operand
 * without data is `value`, an element of its dtype, everywhere; its strides are 0, as those of a
 * tensor that is broadcast are. */
typedef struct ht_loop {
    ht_kernel_call call;
    ht_kernel_operand operand[HT_LOOP_OPERANDS];
    int ndim;
    int64_t shape[HT_MAX_NDIM];
    int64_t stride[HT_LOOP_OPERANDS][HT_MAX_NDIM];
    ht_element value[HT_LOOP_OPERANDS];
    double param[HT_LOOP_PARAMS]; /* of kernels that say so */
} ht_loop;

/* Where each list of kernels begins among the indices. */
enum {
    HT_KERNELS_ELEMENTWISE = 0,
    HT_KERNELS_REDUCE = 512,
    HT_KERNELS_RANDOM = 640,
    HT_KERNELS_INDEX = 656,
    HT_KERNELS_NN = 672,
    HT_KERNELS_DECOMPOSITIONS = 880,
    HT_KERNELS_ORDER = 896,
    HT_KERNELS_SPATIAL = 912,
    HT_KERNELS_FFT = 928,
    HT_KERNELS_OPTIM = 960,
    HT_KERNEL_LIMIT = 1024
};

typedef enum ht_copy_kind {
    HT_COPY_HOST_TO_DEVICE, /* `from` is the caller's again when it returns */
    HT_COPY_DEVICE_TO_HOST, /* `to` is there after the next wait, for the stream or an event */
    HT_COPY_ON_DEVICE
} ht_copy_kind;

/* A function of which nothing is said about NULL must be there. An int that is returned is 0, or
 * not 0 after services->fail, but for device_count and event_done. */
typedef struct ht_backend {
    uint32_t abi;     /* HT_BACKEND_ABI it was compiled with */
    size_t size;      /* sizeof(ht_backend) it was compiled with: what lies beyond is NULL */
    const char *name; /* NAME of libht_NAME.so; stays for ever */
    /* The host reads and writes device memory, and waits for nothing before: work is done when its
     * call returns. */
    bool host_memory;
    bool prefer_channels_last; /* convolutions want (and give) channels-last images */
    int (*device_count)(void);
    int (*device_open)(int index, void **stream); /* what kernels receive as `stream` */
    void (*device_close)(void *stream);
    /* Memory is addresses, aligned as malloc's are: what kernels and copies are given may lie
     * inside of what was allocated. What is freed may be given out again at once, for later work of
     * the same stream. NULL when there is none left. */
    void *(*memory_alloc)(void *stream, size_t bytes);
    void (*memory_free)(void *stream, void *memory);
    int (*memory_copy)(void *stream, void *to, const void *from, size_t bytes, ht_copy_kind kind);
    int (*synchronize)(void *stream); /* NULL: nothing is ever left to wait for */
    /* bytes of memory and number of cores of a device; NULL: its devices are alike */
    void (*device_properties)(int index, size_t *memory, int *cores);
    /* Tells an error that is kept, without waiting; NULL: none is ever kept. */
    int (*poll)(void *stream);
    /* A point in the work of a stream. NULL, all of them: work is done when its call returns.
     * event_done: 1, 0 or, after services->fail, -1; never waits. stream_wait: later work of a
     * stream begins after the event of another one. */
    int (*event_new)(void *stream, void **event);
    void (*event_free)(void *event);
    int (*event_record)(void *stream, void *event);
    int (*event_done)(void *event);
    int (*event_wait)(void *event);
    int (*stream_wait)(void *stream, void *event);
    /* Host memory that copies are fast from and to, and whose content may be copied after a copy
     * from it has returned: it is the caller's again after a wait. NULL: any memory is. */
    void *(*host_alloc)(size_t bytes);
    void (*host_free)(void *memory);
} ht_backend;

/* Called for each operand of a call that has data, which may be changed in a copy of the call. */
typedef void ht_operand_visit_fn(ht_kernel_operand *operand, void *user);

/* What a backend may ask of the core. */
typedef struct ht_backend_services {
    uint32_t abi;
    size_t size;
    void (*log)(int level, const char *format, ...) HT_PRINTF(2, 3);
    /* Records the cause of a non-zero return. */
    void (*fail)(const char *format, ...) HT_PRINTF(1, 2);
    /* The same as an error of another kind than HT_ERR_DEVICE. */
    void (*fail_as)(ht_status kind, const char *format, ...) HT_PRINTF(2, 3);
    /* What the last host kernel that returned not 0 has recorded, which is gone then. */
    ht_status (*take_error)(char *text, size_t room);
    /* The index of a kernel, -1: this library has none of that name. */
    ht_kernel (*kernel)(const char *name);
    /* Adds a kernel of the backend for a dtype, or takes the place of one. Until the first device
     * of the backend is open; not 0 after that, or for an index that is none. */
    int (*add)(ht_backend *backend, ht_kernel kernel, ht_dtype dtype, ht_kernel_fn *run);
    /* The host's own, for memory that the host can reach; NULL: it has none. `stream` NULL. */
    ht_kernel_fn *(*host_kernel)(ht_kernel kernel, ht_dtype dtype);
    /* Visits the operands of a call of any kernel: those behind the call, then the table's. */
    void (*operands)(ht_kernel_call *call, ht_operand_visit_fn *visit, void *user);
} ht_backend_services;

typedef int ht_backend_open_fn(uint32_t abi, const ht_backend_services *services,
                               ht_backend *backend);

/* What a module defines; libht itself has none. */
HT_API ht_backend_open_fn ht_backend_open;

HT_END_DECLS
#endif
