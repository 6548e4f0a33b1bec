#!/bin/sh
# Handles may be released after the program has finalised MPI, with ht_finalize before that, after it or not at all. libht does not
# start then.
set -u

# shellcheck source=tests/core/launch.sh
. "${srcdir:-.}/tests/core/launch.sh"
program=tests/core/late
data=late.$$.h5

# released HOW RANKS NAME: the program ends by itself, and says that it was late, as NAME says it.
released() {
    launch "$2" "$program" "$1" "$data"
    if [ $status -eq 0 ] && grep -q "ht_release: called after $3, when no object is left" "$job_err"; then
        result ok "$1 on $2 ranks"
    else
        result 'not ok' "$1 on $2 ranks: status $status"
        sed 's/^/# /' "$job_err"
    fi
}

for ranks in 1 2 3; do
    released left $ranks MPI_Finalize
    released after $ranks MPI_Finalize
    released ended $ranks ht_finalize
done
says "a start after MPI_Finalize is refused" \
    'ht: ht_init_comm: MPI is finalised and cannot start again' 1 "$program" again
rm -f "$data"
finish
