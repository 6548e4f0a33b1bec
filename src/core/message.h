/* SPDX-License-Identifier: MIT
 *
 * What the communication*.c files share: errors of MPI, waiting, topology, counts, element types
 * and operations. Nobody else includes this header. */
#ifndef HT_MESSAGE_H
#define HT_MESSAGE_H

#include "core.h"

/* ---- communicators (communication.c) -----------------------------------------------------------
 */
ht_comm *ht__comm_new(const char *what, MPI_Comm parent, bool duplicate); /* takes it otherwise */
ht_comm *ht__comm_world_if_any(void);                                     /* NULL before ht_init */
void ht__comm_start(MPI_Comm world);
void ht__comm_end(void);      /* releases the world, HT_COMM_SELF and the one in use */
void ht__comm_free_all(void); /* frees every MPI communicator made; collective over the world */

/* The status of an MPI call; records what MPI said when it failed. */
ht_status ht__mpi_check(ht_comm *comm, int result, const char *what);

/* Whether the calling thread may call MPI at all. */
bool ht__mpi_usable(void);

/* ---- topology (communication_topology.c) -------------------------------------------------------
 */
void ht__topology_fill(ht_comm *comm);              /* collective */
int ht__topology_cores(MPI_Comm world, int *ranks); /* of this node; collective */

/* ---- waiting (communication_wait.c) ------------------------------------------------------------
 */
/* `oversubscribed`: more ranks than cores on this node, so that a waiting rank costs another one.
 */
void ht__wait_start(bool oversubscribed);

/* Polls until it answers true; politely. A deadline that passes ends the job, naming `what`. */
typedef bool ht_poll_fn(void *state);
ht_status ht__wait_until(ht_comm *comm, ht_poll_fn *poll, void *state, const char *what);
ht_status ht__wait_mpi(ht_comm *comm, int count, MPI_Request requests[], const char *what);

/* ---- abort (communication_abort.c) -------------------------------------------------------------
 */
void ht__abort_start(MPI_Comm world); /* duplicates it; collective */
void ht__abort_end(void);

/* Waits for the end that another rank is preparing. */
_Noreturn void ht__abort_wait(void);

#endif
