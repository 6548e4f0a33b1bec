#!/bin/sh
# configure --with-simd: which SIMD levels of the kernels a build has.
set -u
sources=$(cd "${srcdir:-.}" && pwd)
# shellcheck source=tests/tap.sh
. "$sources/tests/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CONFIG_SITE MAKEFLAGS MFLAGS

# The results of this build's configure are reused, except those about SIMD levels.
sed -n '/^## Cache variables/,/^## Output variables/{/_cv_/p;}' config.log | grep -v -e '^ht_cv_simd' -e '^ac_cv_env' >"$work/cache"

# configured LIST: what configure says, which makes no file.
configured() {
    (cd "$work" && "$sources/configure" --no-create --cache-file=cache --with-cuda=no CC="$CC" --with-simd="$1") 2>&1
}
# has LIST LEVELS: the kernels of the summary.
has() {
    configured "$1" >"$work/said" && grep -q "^    kernels      $2 (--with-simd=$1)" "$work/said" && return
    tail -n 20 "$work/said" | sed 's/^/# /'
    return 1
}
cpu_has() {
    grep -qE "^flags.* $1( |\$)" /proc/cpuinfo
}
yes_or_no() {
    if cpu_has "$1"; then echo yes; else echo no; fi
}
no_if_wider() {
    if cpu_has avx512vl; then echo no; else yes_or_no avx2; fi
}

# The library has the kernels of the levels that config.h names, and no others.
built() {
    nm .libs/libht.so | sed -n 's/.* ht__kernels_fill_//p' | sort >"$work/built"
    {
        echo baseline
        sed -n 's/^#define HT_HAVE_\(AVX[0-9]*\) 1/\1/p' config.h | tr '[:upper:]' '[:lower:]'
    } | sort | diff - "$work/built"
}

check 'kernels are compiled for the levels that configure found' built
case $(uname -m) in
x86_64)
    check 'all: every level' has all 'baseline, AVX2: yes, AVX-512: yes'
    check 'best: the best of these' has best "baseline, AVX2: $(no_if_wider), AVX-512: $(yes_or_no avx512vl)"
    check 'native: those that this machine can run' has native "baseline, AVX2: $(yes_or_no avx2), AVX-512: $(yes_or_no avx512vl)"
    ;;
*) check 'all: the baseline of a processor without levels' has all 'baseline, AVX2: no, AVX-512: no' ;;
esac
refused() {
    configured avx513 | grep -q 'with-simd takes all, native, best, no'
}
check 'a level that does not exist is refused' refused
plan
