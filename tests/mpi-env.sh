# shellcheck shell=sh
# Sourced: lets Open MPI run as root and run more ranks than there are cores.
export OMPI_ALLOW_RUN_AS_ROOT=1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1

# A rank that waits gives its core to one that works, and threads may leave the core of their rank.
export OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_hwloc_base_binding_policy=none
