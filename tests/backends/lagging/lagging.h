/* SPDX-License-Identifier: MIT
 *
 * The lagging device: the host's own kernels (and one of its own), queued until a thread waits, in
 * memory that the host cannot touch. A host access ends the process and names the memory's last
 * operation. Copies in parallel with the work have a separate queue. So errors in waiting, and uses
 * of memory that is not the host's, show without a GPU.
 *
 * - LAG_RUN=eager: does the work at once
 * - LAG_COPIES=late: copies to the host when a thread waits, not before; garbage until then, as
 *   always for copies in parallel with the work
 * - LAG_COUNT=1: prints at the end how much work there was
 * - LAG_FAULT=N: the N-th call from now on fails, and LAG_FAULT_MADE names it
 * - LAG_REFUSE=NAME: refuses any arguments of that kernel; all: of every kernel
 * - LAG_FLAW=wait|stuck: events answer wrongly: "done" before their work is, or never "done"; a
 * test
 *   must find that (tests/backends/flaws.sh, device.sh)
 * - LAG_LESS=1: does the work at once, has no events, no poll and no memory of the host */
#ifndef HT_TESTS_BACKENDS_LAGGING_LAGGING_H
#define HT_TESTS_BACKENDS_LAGGING_LAGGING_H

#include <stdbool.h>
#include <stddef.h>

#include "ht/backend.h"

extern const ht_backend_services *lag_core;

/* ---- fault.c: whether this call is to fail, or to have nothing left -----------------------------
 */
bool lag_fault(const char *what); /* records the cause */
bool lag_lacks(const char *what);

/* ---- memory.c: each byte has two addresses, the device's, which faults, and a real one ---------
 */
typedef struct lag_memory lag_memory;
lag_memory *lag_memory_new(int device); /* NULL: there is none */
void lag_memory_end(lag_memory *memory);
void *lag_memory_alloc(lag_memory *memory, size_t bytes);
void lag_memory_free(lag_memory *memory, void *at);
bool lag_memory_has(const lag_memory *memory, const void *at);
void *lag_memory_real(const lag_memory *memory, const void *at);

/* The device's last operation, for the message of a host access to its memory. what: stays for
 * ever. */
void lag_memory_note(lag_memory *memory, const char *what);

/* ---- pinned.c: the functions of ht_backend, and what they gave out ------------------------------
 */
void *lag_host_alloc(size_t bytes);
void lag_host_free(void *memory);
bool lag_is_pinned(const void *at);

/* ---- kernels.c: the one that does a kernel's work; NULL: none ----------------------------------
 */
void lag_kernels_begin(void); /* once, before it */
ht_kernel_fn *lag_kernel(ht_kernel kernel, ht_dtype dtype);

/* ---- queue.c: the work of one device, in order
 * --------------------------------------------------- */
typedef struct lag_queue lag_queue;
lag_queue *lag_queue_new(void);
void lag_queue_end(lag_queue *queue);

/* call: a copy with real addresses, which the queue frees. */
int lag_queue_kernel(lag_queue *queue, ht_kernel_fn *run, ht_kernel_call *call);
/* owned: `from` is freed afterwards. */
int lag_queue_copy(lag_queue *queue, void *to, void *from, size_t bytes, bool owned);
int lag_queue_fill(lag_queue *queue, void *to, size_t bytes);
int lag_queue_await(lag_queue *queue, lag_queue *other, long number);

long lag_queue_given(const lag_queue *queue); /* so far */
long lag_queue_done(const lag_queue *queue);
int lag_queue_drain(lag_queue *queue, long number); /* up to that one; what tell says */
int lag_queue_tell(lag_queue *queue);               /* not 0 after the stored error was reported */

#endif
