#!/bin/sh
# ht-info and the log show which ranks are on which node.
set -u

# shellcheck source=tests/core/launch.sh
. "${srcdir:-.}/tests/core/launch.sh"

# shows "name" "lines": what ht-info prints of ranks and nodes.
shows() {
    if [ $status -eq 0 ] && [ "$(sed -n '/^rank/p; /^  node/p' "$job_out")" = "$2" ]; then
        result ok "$1"
    else
        result 'not ok' "$1: status $status"
        sed 's/^/# /' "$job_out" "$job_err"
    fi
}

host=$(uname -n)
launch 6 env HT_RANKS_PER_NODE=4 tools/ht-info
shows 'unequal nodes' "ranks      6 on 2 nodes (by HT_RANKS_PER_NODE)
  node 0    $host: ranks 0-3
  node 1    $host: ranks 4-5"
launch 2 env -u HT_RANKS_PER_NODE tools/ht-info
shows 'one host' "ranks      2 on 1 node (by shared memory)
  node 0    $host: ranks 0-1"

launch 3 env HT_RANKS_PER_NODE=2 HT_LOG=info tools/ht-info
line='ht[0] info: nodes by HT_RANKS_PER_NODE: node 0: ranks 0-1, node 1: rank 2'
if [ "$(grep -c -x -F "$line" "$job_err")" -eq 1 ] && [ "$(grep -c 'nodes by' "$job_err")" -eq 1 ]; then
    result ok 'the log shows the map once'
else
    result 'not ok' 'the log shows the map once'
    sed 's/^/# /' "$job_err"
fi
# Making the map takes all ranks, at any log level.
launch 1 env HT_LOG=info tools/ht-info : -n 2 tools/ht-info
shows 'levels of the log that differ' "ranks      3 on 1 node (by shared memory)
  node 0    $host: ranks 0-2"
launch 1 tools/ht-info --what
if [ $status -eq 2 ] && grep -q 'unknown argument --what' "$job_err"; then
    result ok 'a wrong command line is told'
else
    result 'not ok' "a wrong command line is told: status $status"
fi
finish
