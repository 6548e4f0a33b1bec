/* SPDX-License-Identifier: MIT
 *
 * For full_disk.sh: FILE MODE NAME ROWS SPLIT: saves ROWS x 1000 zeros, split along an axis or not
 * (none), and prints the result. The format is HDF5, or with the mode "by-name" that of the file's
 * name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ht.h"

int main(int argc, char **argv)
{
    const char *message = "saved";
    ht_status status;

    if (argc != 6)
        return 2;
    ht_init(NULL, NULL);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = ht_zeros(HT_SHAPE(atoi(argv[4]), 1000), HT_FLOAT32,
                            strcmp(argv[5], "none") == 0 ? HT_NONE : atoi(argv[5]));

    status = strcmp(argv[2], "by-name") == 0 ? ht_save(x, argv[1], NULL)
                                             : ht_save_hdf5(x, argv[1], argv[3], argv[2]);
    if (status != HT_SUCCESS)
        ht_error_get(&message);
    printf("%s\n", message);
    ht_error_clear();
    ht_scope_close(scope);
    return ht_finalize() != HT_SUCCESS;
}
