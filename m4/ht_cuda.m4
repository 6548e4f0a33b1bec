# HT_CUDA
# --with-cuda=DIR|yes|no|guess: whether the module libht_cuda.so is built, with the toolkit of DIR,
# else of CUDA_HOME, nvcc in PATH or /usr/local/cuda. libht itself is linked to nothing of it.
# Sets NVCC, NVCC_HOST, CUDA_ARCH, CUDA_CPPFLAGS, CUDA_LIBS, the conditional HT_HAVE_CUDA, and ht_cuda and ht_nccl for the
# summary: the module calls NCCL if its header is there.
# A guess is no where sanitizers are asked for: they see the kernels that tests emulate instead.
AC_DEFUN([HT_CUDA], [
  AC_ARG_WITH([cuda],
    [AS_HELP_STRING([--with-cuda=DIR|yes|no|guess], [build the module for NVIDIA GPUs [guess]])],
    [], [with_cuda=guess])
  AC_ARG_VAR([NVCC], [CUDA compiler])
  AC_ARG_VAR([NVCC_HOST], [C++ compiler that nvcc calls for the host [g++]])
  AC_ARG_VAR([CUDA_ARCH], [flags of nvcc for the GPUs to compile for [sm_80, sm_90 and PTX]])

  ht_cuda=no
  ht_cuda_dir=$CUDA_HOME
  AS_CASE([$with_cuda],
    [guess], [AS_IF([test "$with_sanitizer" != no], [with_cuda=no])],
    [yes|no], [],
    [ht_cuda_dir=$with_cuda with_cuda=yes])
  : ${NVCC_HOST=g++}
  # One PTX for all: the front end runs once.
  : ${CUDA_ARCH="-gencode arch=compute_80,code=@<:@compute_80,sm_80,sm_90@:>@"}

  AS_IF([test "$with_cuda" != no], [
    AC_PATH_PROG([NVCC], [nvcc], [no],
      [${ht_cuda_dir:+$ht_cuda_dir/bin:}$PATH:/usr/local/cuda/bin])
    AS_IF([test "$NVCC" != no], [_HT_CUDA_TRY])
    AS_IF([test "$with_cuda $ht_cuda" = "yes no"],
      [AC_MSG_ERROR([--with-cuda was given, but no nvcc that works with $NVCC_HOST and has CUB, or no libcudart_static.a, was found])])
  ])
  AS_IF([test "$ht_cuda" != no], [_HT_CUDA_NCCL])
  AM_CONDITIONAL([HT_HAVE_CUDA], [test "$ht_cuda" != no])
  AC_SUBST([CUDA_CPPFLAGS])
  AC_SUBST([CUDA_LIBS])
])

# NVCC may be "ccache nvcc": the toolkit is that of its last word.
AC_DEFUN([_HT_CUDA_TRY], [
  AC_MSG_CHECKING([whether $NVCC works])
  ht_nvcc=`command -v ${NVCC##* }`
  AS_IF([test -z "$ht_cuda_dir" || test ! -d "$ht_cuda_dir/include"],
    [ht_cuda_dir=`dirname "$ht_nvcc"`; ht_cuda_dir=`dirname "$ht_cuda_dir"`])
  for ht_lib in lib64 lib targets/x86_64-linux/lib targets/sbsa-linux/lib; do
    AS_IF([test -z "$CUDA_LIBS" && test -f "$ht_cuda_dir/$ht_lib/libcudart_static.a"],
      [CUDA_LIBS="-L$ht_cuda_dir/$ht_lib -lcudart_static -lrt -ldl -lpthread -Wl,-rpath,$ht_cuda_dir/$ht_lib"])
  done
  cat >conftest.cu <<'_HT_EOF'
#include <cub/version.cuh>
__global__ void kernel(int *x) { *x = CUB_VERSION; }
_HT_EOF
  AS_IF([test -n "$CUDA_LIBS" &&
         $NVCC -ccbin $NVCC_HOST $CUDA_ARCH -c conftest.cu -o conftest.o >&AS_MESSAGE_LOG_FD 2>&1],
    [CUDA_CPPFLAGS="-isystem $ht_cuda_dir/include"
     ht_cuda=`$NVCC --version | sed -n 's/.*release \(@<:@0-9.@:>@*\).*/\1/p'`])
  rm -f conftest.cu conftest.o
  AC_MSG_RESULT([$ht_cuda])
])

AC_DEFUN([_HT_CUDA_NCCL], [
  ht_cppflags=$CPPFLAGS
  CPPFLAGS="$CPPFLAGS $CUDA_CPPFLAGS"
  AC_CHECK_HEADER([nccl.h], [ht_nccl=yes], [ht_nccl=no])
  CPPFLAGS=$ht_cppflags
  ht_cuda="$ht_cuda (NCCL: $ht_nccl)"
])
