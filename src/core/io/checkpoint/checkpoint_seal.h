/* SPDX-License-Identifier: MIT
 *
 * The first bytes of a checkpoint, before those of HDF5 (its "user block"): the kind of file, its
 * length, and a checksum of all other bytes. The checksum is compared before HDF5 reads a byte of
 * the file. Plain C, because ht-run reads it, too. */
#ifndef HT_CORE_IO_CHECKPOINT_CHECKPOINT_SEAL_H
#define HT_CORE_IO_CHECKPOINT_CHECKPOINT_SEAL_H

#include <stdint.h>

enum { HT_SEAL_BYTES = 512, HT_SEAL_JOB = 64 };

#define HT_SEAL_MAGIC "\211HTCP\r\n\032" /* 8 bytes; no text file begins so */
#define HT_SEAL_ORDER 0x01020304         /* as the machine that wrote it stores it */

typedef struct ht_seal {
    char magic[8];
    uint32_t order;
    uint32_t format;       /* that of the checkpoint, from 2 on */
    int64_t length;        /* of the file; 0: it is being written */
    uint32_t crc;          /* CRC-32 of all that follows the seal */
    uint32_t reserved;     /* 0 */
    char job[HT_SEAL_JOB]; /* HT_JOB of the writing job; "" without */
    /* The writer; zero in a complete file, because equal states must give equal files. */
    int64_t process, started, number;
    char host[64];
    char unused[HT_SEAL_BYTES - 8 - 3 * 4 - 8 - 4 - HT_SEAL_JOB - 3 * 8 - 64 - 4];
    uint32_t own; /* CRC-32 of the seal up to here */
} ht_seal;

_Static_assert(sizeof(ht_seal) == HT_SEAL_BYTES, "the seal is a user block");

#endif
