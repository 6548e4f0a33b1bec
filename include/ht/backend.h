/* SPDX-License-Identifier: MIT
 *
 * For people who write a backend. Programs that use tensors do not need this header.
 *
 * A backend is a table of functions for devices and their memory, and kernels. It is a module that
 * exports
 *     int ht_backend_open(uint32_t abi, const ht_backend_services *services, ht_backend *backend);
 * The function fills the table, which is zeroed, adds its kernels with services->add, and returns
 * 0. If the backend cannot be used, it records the cause with services->fail, and returns another
 * number. A module links nothing of libht: it reaches the core through `services`.
 *
 * abi is the HT_BACKEND_ABI of the library. The function returns a value other than 0 if the module
 * has another version. libht then checks backend->abi, size, name and required functions itself.
 * Modules stay loaded until exit. So services stays valid, and backend keeps its address once the
 * module was accepted. A field of services exists only if it lies within services->size bytes.
 *
 * Kernels. The headers in ht/kernels/ list them by name, with the struct of arguments of each. A
 * module adds each of its kernels for the dtypes that the kernel supports. A missing kernel runs on
 * the host: its operands are copied there and back unless host_memory is set, and
 * the call is counted (HT_FALLBACK). A kernel returns
 *     0                  if it worked,
 *     HT_KERNEL_REFUSED  if it does not support these arguments: it changed nothing, and the call
 *                        runs on the host,
 *     another number     after services->fail recorded the cause. If that is HT_ERR_MEMORY, libht
 *                        frees the memory of the device that it keeps, and calls the kernel again.
 * Strides and offsets are in elements.
 *
 * Operands. A call lists the memory that its kernel reaches (ht_kernel_operand); kernels take their
 * pointers from this list. A backend that moves or translates memory walks the list of any kernel
 * with services->operands.
 *
 * Asynchrony. A kernel or copy may return before its work is done. The work of a stream is done in
 * the order of its calls. A kernel reads nothing but its arguments and device memory. The arguments
 * (call.bytes bytes) are the caller's again when the kernel returns.
 * The work may find an error in the data later, such as a target outside of the classes. The
 * backend then keeps this error. The next `synchronize`, `event_wait`, `event_done` or `poll` calls
 * services->fail with the operation (call.what) and the cause, and returns -1 (any number but 0,
 * for functions other than event_done). This reports the error, once.
 * An optimizer's update does nothing if it was queued after the error but before the report,
 * because its caller did not know of the error. So the report also queues the work that lets later
 * updates run again.
 *
 * Threads. Several threads may call functions at once, also of one device: a loader's thread does.
 *
 * Compatibility. Modules of this HT_BACKEND_ABI stay loadable, because additions are fields at the
 * end of ht_backend and ht_backend_services, kernels of new names, or new structs of arguments. The
 * structs with which the arguments of several kernels begin (ht_kernel_call, ht_loop) cannot grow.
 */
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

/* An operand of a kernel: memory of the device.
 *
 * The kernel reaches the bytes begin ... end - 1, counted from `data`. begin is negative if a
 * stride leads before `data`. Both are 0 if the kernel reaches nothing, and may be 0 for backends
 * with host_memory. */
typedef struct ht_kernel_operand {
    void *data; /* NULL: the operand is absent */
    int64_t begin, end;
    bool written; /* the kernel may write the bytes, and read them, too */
} ht_kernel_operand;

/* The beginning of the arguments of every kernel; `operands` operands follow directly.
 *
 * A kernel with a varying number of operands has a table of further ones. The table begins `table`
 * bytes after the beginning of the call. Its `rows` rows are row_bytes apart, and each begins with
 * row_operands operands. All other arguments are values, not pointers. */
typedef struct ht_kernel_call {
    uint32_t bytes;    /* of all arguments, this struct included */
    ht_kernel kernel;  /* for functions that serve several kernels */
    ht_dtype dtype;    /* for which the kernel was added */
    uint32_t operands; /* at least 1 */
    const char *what;  /* the public function, for messages; stays valid */
    uint32_t table, rows, row_bytes, row_operands; /* rows is 0: no table */
} ht_kernel_call;

/* Runs a kernel on a stream that device_open made; call is the beginning of the struct that the
 * kernel's row names. */
typedef int ht_kernel_fn(void *stream, const ht_kernel_call *call);

/* One element of any dtype. */
typedef union ht_element {
    unsigned char bytes[16];
    double real[2];
    int64_t integer[2];
} ht_element;

/* An iteration over the local parts of up to four operands.
 *
 * Axes are merged to as few as the strides allow, and the last axis is the innermost. ndim >= 1; a
 * length may be 0. Operand 0 is the output. An operand without data equals `value`, an element of
 * its dtype, everywhere. Its strides are 0, like those of a broadcast tensor. */
typedef struct ht_loop {
    ht_kernel_call call;
    ht_kernel_operand operand[HT_LOOP_OPERANDS];
    int ndim;
    int64_t shape[HT_MAX_NDIM];
    int64_t stride[HT_LOOP_OPERANDS][HT_MAX_NDIM];
    ht_element value[HT_LOOP_OPERANDS];
    double param[HT_LOOP_PARAMS]; /* of kernels with parameters */
} ht_loop;

/* The first index of each list of kernels. */
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
    HT_COPY_HOST_TO_DEVICE, /* `from` is the caller's again at once; if pinned, after a wait */
    HT_COPY_DEVICE_TO_HOST, /* `to` is filled after the next wait for the stream or an event */
    HT_COPY_ON_DEVICE
} ht_copy_kind;

/* ---- links ------------------------------------------------------------------------------------
 *
 * A link joins one device of each rank of a communicator. Its devices then sum their data without
 * the host, by the transport of the backend (NCCL for example). The additions of an element form a
 * tree, which libht gives, so the sums have the bits that libht's own exchange gives. */
enum { HT_LINK_DEVICE = 112, HT_LINK_ID = 128 };

/* x of member `to` += x of member `from`. */
typedef struct ht_link_step {
    int32_t to, from;
} ht_link_step;

/* Ranks that sum a part of the data, and their additions: count - 1 of them. The last one gives the
 * sum. Adjacent ones that write and read different members may run at the same time. */
typedef struct ht_link_level {
    int count, mine;  /* members; which of them this rank is */
    const int *ranks; /* of the members */
    const ht_link_step *steps;
} ht_link_level;

/* The ranks of a link, and the order of its additions. In level 0 each member sums one part of the
 * data. In the next level the members with the same part of other sums go on with that part. */
typedef struct ht_link_order {
    int rank, size;              /* size: at least 2 */
    int count;                   /* of levels */
    const ht_link_level *levels; /* the caller's again when `open` returns */
} ht_link_order;

/* The functions of links. Functions that return an int return 0, or not 0 after services->fail. */
typedef struct ht_link_calls {
    size_t size; /* the sizeof(ht_link_calls) of the module's header: later fields are NULL */
    /* Writes a text that no other device has, of any host. Returns not 0 if the device cannot be
     * joined to others; it need not call services->fail. */
    int (*device_text)(void *stream, char text[HT_LINK_DEVICE]);
    /* A link of this rank, not joined so far. It finds all that may be missing on one rank. */
    int (*open)(void *stream, const ht_link_order *order, void **link);
    /* The id of a new link: rank 0 makes it, and libht gives it to all ranks. */
    int (*id)(unsigned char id[HT_LINK_ID]);
    /* Joins the devices. All ranks call it, and it waits for them. If it fails on one rank, libht
     * closes the link on all. */
    int (*join)(void *link, const unsigned char id[HT_LINK_ID]);
    /* Allocates all that averages of up to `bytes` bytes need. */
    int (*reserve)(void *link, size_t bytes);
    /* data <- scale * sum of data over the ranks, in place: n elements of float32 or float64. The
     * sum is multiplied once, unless scale is 1. It begins after the earlier work of the stream,
     * and later work does not wait for it. `event` is recorded after it. It never waits for another
     * rank. All ranks start the same averages of a link in the same order. */
    int (*average)(void *link, ht_dtype dtype, void *data, int64_t n, double scale, void *event);
    void (*close)(void *link); /* after a failure, too */
} ht_link_calls;

/* The table of a backend. A function is required unless its comment says what NULL means. Functions
 * that return an int, except device_count and event_done, return 0, or not 0 after services->fail.
 */
typedef struct ht_backend {
    uint32_t abi;     /* the HT_BACKEND_ABI of the module's header */
    size_t size;      /* the sizeof(ht_backend) of that header: later fields are NULL */
    const char *name; /* NAME of libht_NAME.so; stays valid */
    /* The host reads and writes device memory without waiting: work is done when its call returns.
     */
    bool host_memory;
    bool prefer_channels_last; /* convolutions take and give channels-last images */
    int (*device_count)(void);
    int (*device_open)(int index, void **stream); /* kernels receive *stream */
    void (*device_close)(void *stream);
    /* memory_alloc returns an address, aligned like malloc's, or NULL if no memory is left. Kernels
     * and copies may be given addresses inside of an allocation. Freed memory may be given out
     * again at once, for later work of the same stream. */
    void *(*memory_alloc)(void *stream, size_t bytes);
    void (*memory_free)(void *stream, void *memory);
    int (*memory_copy)(void *stream, void *to, const void *from, size_t bytes, ht_copy_kind kind);
    int (*synchronize)(void *stream); /* waits for all work; NULL: work is never pending */
    /* Bytes of memory and number of cores of a device; NULL: all devices are equal. */
    void (*device_properties)(int index, size_t *memory, int *cores);
    /* Reports a kept error, without waiting; NULL: errors are never kept. */
    int (*poll)(void *stream);
    /* An event is a point in the work of a stream. All six are NULL if work is done when its call
     * returns. event_done returns 1, 0 or, after services->fail, -1, and never waits. After
     * stream_wait, later work of the stream begins after the event of another stream. */
    int (*event_new)(void *stream, void **event);
    void (*event_free)(void *event);
    int (*event_record)(void *stream, void *event);
    int (*event_done)(void *event);
    int (*event_wait)(void *event);
    int (*stream_wait)(void *stream, void *event);
    /* Pinned memory of the host, for fast copies. A copy may still read any pinned memory after the
     * call returned: it is the caller's again after a wait. NULL: any memory serves. */
    void *(*host_alloc)(size_t bytes);
    void (*host_free)(void *memory);
    /* A copy between the host and a device, in parallel with the work of the stream. It begins
     * after the event `after`; NULL: after all work that the stream was given before. Later work
     * does not wait for it. `event` is recorded after it, and may be `after`. Until a wait for this
     * event, or stream_wait, nothing writes `from` on the device or touches `to`. `from` on the
     * host is as with memory_copy. NULL: memory_copy serves; a backend without events has none. */
    int (*side_copy)(void *stream, void *to, const void *from, size_t bytes, ht_copy_kind kind,
                     void *after, void *event);
    /* A copy from one device of the backend to another, after the earlier work of both; the later
     * work of both follows. NULL: the host stands between them. */
    int (*copy_between)(void *to_stream, void *to, void *from_stream, const void *from,
                        size_t bytes);
    const ht_link_calls *link; /* NULL: ranks sum on the host; a backend without events has none */
} ht_backend;

/* Called for each operand of a call that has data. In a copy of the call it may change operand. */
typedef void ht_operand_visit_fn(ht_kernel_operand *operand, void *user);

/* The functions of the core that a backend may call. */
typedef struct ht_backend_services {
    uint32_t abi;
    size_t size;
    void (*log)(int level, const char *format, ...) HT_PRINTF(2, 3);
    /* Records the cause of a non-zero return. */
    void (*fail)(const char *format, ...) HT_PRINTF(1, 2);
    /* The same for an error of another kind than HT_ERR_DEVICE. */
    void (*fail_as)(ht_status kind, const char *format, ...) HT_PRINTF(2, 3);
    /* Takes the error that the last failed host kernel recorded: returns its kind, and copies its
     * message. */
    ht_status (*take_error)(char *text, size_t room);
    /* Returns the index of the kernel called name; -1: this library has no such kernel. */
    ht_kernel (*kernel)(const char *name);
    /* Adds or replaces a kernel of the backend for a dtype. Returns not 0 for an invalid index, or
     * if a device of the backend was opened before. */
    int (*add)(ht_backend *backend, ht_kernel kernel, ht_dtype dtype, ht_kernel_fn *run);
    /* Returns the host's kernel, for memory that the host can reach; NULL: it has none. It takes
     * NULL for `stream`. */
    ht_kernel_fn *(*host_kernel)(ht_kernel kernel, ht_dtype dtype);
    /* Visits the operands of a call of any kernel: those after the call, then those of the table.
     */
    void (*operands)(ht_kernel_call *call, ht_operand_visit_fn *visit, void *user);
} ht_backend_services;

/* Fills the table of backend and adds its kernels, for a library with HT_BACKEND_ABI abi. Returns
 * 0, or not 0 after services->fail. services stays valid; the top says more. */
typedef int ht_backend_open_fn(uint32_t abi, const ht_backend_services *services,
                               ht_backend *backend);

/* The function that a module defines; libht itself has none. */
HT_API ht_backend_open_fn ht_backend_open;

HT_END_DECLS
#endif
