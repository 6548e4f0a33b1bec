#!/bin/sh
# Samples of PyTorch's databases, with what PyTorch computes, are replayed on 1, 2 and 3 ranks. The counts are in the log.
set -u
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"

replay() {
    timeout --kill-after=5 600 "${MPIRUN:-mpirun}" -n "$2" tests/nn/replay/replay "${srcdir:-.}/tests/golden/$1.gz" </dev/null
}

# Sanitizers see the same accesses on each count of ranks that splits the batch.
[ -z "${SANITIZE:-}" ] || HT_TEST_RANKS=3
for ranks in ${HT_TEST_RANKS:-1 2 3}; do
    check "PyTorch's functions on $ranks ranks" replay torch_db "$ranks"
    check "PyTorch's layers on $ranks ranks" replay torch_modules "$ranks"
    check "PyTorch's optimizers on $ranks ranks" replay torch_optimizers "$ranks"
done
plan
