# shellcheck shell=sh
# Sourced by every test: the environment of tests/mpi-env.sh, one thread per rank, leaks are errors.
# shellcheck source=tests/mpi-env.sh
. "${srcdir:-.}/tests/mpi-env.sh"
export OMP_NUM_THREADS=1
export OPENBLAS_NUM_THREADS=1
export HT_LEAK_CHECK=1
export HT_BACKEND_PATH="$PWD/tests/core/.libs:$PWD/tests/backends/lagging/.libs:$PWD/tests/backends/cuda/.libs"

# For builds with a sanitizer.
sources=$(cd "${srcdir:-.}" && pwd) # some scripts change the folder
export LSAN_OPTIONS="suppressions=$sources/tests/lsan.supp:print_suppressions=0"
export TSAN_OPTIONS="suppressions=$sources/tests/tsan.supp ignore_noninstrumented_modules=1"
export UBSAN_OPTIONS=print_stacktrace=1
