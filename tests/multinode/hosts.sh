#!/bin/sh
# The exchange and data-parallel training over several hosts: simulated ones where this process may
# make them, and in any case the ranks of this host taken for several.
set -u

here=${srcdir:-.}/tests/multinode
limit=${HT_TEST_TIMEOUT:-120}
count=0

# runs "name" COMMAND...
runs() {
    name=$1
    shift
    count=$((count + 1))
    timeout --kill-after=5 "$limit" "$@" </dev/null >hosts.out 2>&1
    status=$?
    case $status in
    0) echo "ok $count - $name" ;;
    77) echo "ok $count - $name # SKIP $(sed -n 's/^launch: //p' hosts.out | head -n 1)" ;;
    *)
        echo "not ok $count - $name: status $status"
        sed 's/^/# /' hosts.out
        ;;
    esac
}

hosts() { # hosts NODES RANKS_PER_NODE NAME PROGRAM...
    nodes=$1 ranks=$2 name=$3
    shift 3
    runs "$name on $nodes x $ranks simulated hosts" "$here/launch" "$nodes" "$ranks" --rate 1gbit -- "$@"
}

parts() { # parts RANKS RANKS_PER_NODE NAME PROGRAM...
    ranks=$1 per_node=$2 name=$3
    shift 3
    runs "$name on $ranks ranks taken for nodes of $per_node" \
        env HT_RANKS_PER_NODE="$per_node" "${MPIRUN:-mpirun}" -n "$ranks" "$@"
}

exchange='tests/core/run-core --only test_communication_exchange_nodes'
training='tests/nn/run-nn --only test_data_parallel:'

export CMOCKA_TEST_ABORT=1
for ranks in 1 2; do
    # shellcheck disable=SC2086 # the words of a command
    hosts 2 $ranks exchange $exchange
    # shellcheck disable=SC2086
    hosts 2 $ranks training $training
done
# shellcheck disable=SC2086
parts 4 3 training $training
echo "1..$count"
rm -f hosts.out
