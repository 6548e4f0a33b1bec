#!/bin/sh
# nvcc.sh NVCC ARGUMENT...: runs nvcc with the flags that libtool adds for gcc given to the host compiler. NVCC_LAUNCHER,
# ccache for example, runs it if it is set.
nvcc=$1
shift
for word; do
    shift
    case $word in
    -fPIC | -DPIC) set -- "$@" "--compiler-options=$word" ;; # one word: ccache takes -Xcompiler and -DPIC apart
    *) set -- "$@" "$word" ;;
    esac
done
# shellcheck disable=SC2086 # each may have several words, or none
exec ${NVCC_LAUNCHER-} $nvcc "$@"
