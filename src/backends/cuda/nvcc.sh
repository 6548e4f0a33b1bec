#!/bin/sh
# nvcc.sh NVCC ARGUMENT...: runs nvcc with the flags that libtool adds for gcc given to the host compiler.
nvcc=$1
shift
for word; do
    shift
    case $word in
    -fPIC | -DPIC) set -- "$@" -Xcompiler "$word" ;;
    *) set -- "$@" "$word" ;;
    esac
done
# shellcheck disable=SC2086 # may be "ccache nvcc"
exec $nvcc "$@"
