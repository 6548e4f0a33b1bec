#!/bin/sh
# The exchange, data-parallel training and DASO over several hosts: simulated ones where this process may
# make them, and in any case the ranks of this host taken for several.
set -u

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

here=${srcdir:-.}/tests/multinode
limit=${HT_TEST_TIMEOUT:-300}
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

# DASO in all its phases by the example, which fails unless all ranks end with the same parameters.
daso="examples/mnist/mnist --data $work --net mlp --batch-size 16 --no-progress --parallel daso --epochs 6"
# shellcheck source=tests/examples/images.sh
. "${srcdir:-.}/tests/examples/images.sh"
images 200 >"$work/train-images-idx3-ubyte"
labels 200 >"$work/train-labels-idx1-ubyte"
images 50 >"$work/t10k-images-idx3-ubyte"
labels 50 >"$work/t10k-labels-idx1-ubyte"

# same "name" FILE FILE: the parameters that two jobs ended with; nothing where one could not run.
same() {
    [ -e "$2" ] && [ -e "$3" ] || return
    count=$((count + 1))
    if [ "$(grep sha256 "$2")" = "$(grep sha256 "$3")" ]; then
        echo "ok $count - $1"
    else
        echo "not ok $count - $1"
    fi
}

exchange='tests/core/run-core --only test_exchange_nodes'
training='tests/nn/parallel/run-parallel --only test_data_parallel:'

export CMOCKA_TEST_ABORT=1
for ranks in 1 2; do
    # shellcheck disable=SC2086 # the words of a command
    hosts 2 $ranks exchange $exchange
    # shellcheck disable=SC2086
    hosts 2 $ranks training $training
done
# shellcheck disable=SC2086
parts 4 3 training $training
# shellcheck disable=SC2086
hosts 2 2 DASO $daso --json "$work/hosts"
# shellcheck disable=SC2086
parts 4 2 DASO $daso --json "$work/parts"
same 'DASO over hosts ends as over ranks taken for nodes' "$work/hosts" "$work/parts"
hosts 2 2 'the map of ranks' sh -c 'tools/ht-info | grep "node 1    node1: ranks 2-3" || [ "$OMPI_COMM_WORLD_RANK" -gt 0 ]'
echo "1..$count"
rm -f hosts.out
