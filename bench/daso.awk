# SPDX-License-Identifier: MIT
# The table of bench/daso.sh from lines "run way epoch phase seconds MB loss accuracy".
# awk -v ways="WAY..." -v epochs=NUMBER -f daso.awk LINES
#
# A run's value is the mean of its epochs: of all for "all", of those of one phase of DASO. Ratios and differences
# are of runs of the same turn, which share a seed and the mood of the machine. A cell of several runs holds their
# median (least ... most), and the mean of accuracies and bytes.

function note(way, phase) {
    seconds[way, phase, $1] += $5
    count[way, phase, $1]++
    megabytes[way, phase] += $6
    lines[way, phase]++
}

{
    note($2, "all")
    if ($4 != "-")
        note($2, $4)
    if ($3 == epochs)
        accuracy[$2, $1] = $8
    runs = $1 > runs ? $1 : runs
}

function sort(v, n, i, j, swap) {
    for (i = 2; i <= n; i++)
        for (j = i; j > 1 && v[j] < v[j - 1]; j--) {
            swap = v[j]
            v[j] = v[j - 1]
            v[j - 1] = swap
        }
}

function spread(v, n, format, median) {
    if (n == 0)
        return "-"
    sort(v, n)
    median = (v[int((n + 1) / 2)] + v[int((n + 2) / 2)]) / 2
    return n == 1 ? sprintf(format, median) : sprintf(format " (" format " ... " format ")", median, v[1], v[n])
}

function time(way, phase, run) {
    return seconds[way, phase, run] / count[way, phase, run]
}

function times(way, phase, run, n, v) {
    for (run = 1; run <= runs; run++)
        if ((way, phase, run) in count)
            v[++n] = time(way, phase, run)
    return spread(v, n, "%.2f")
}

function ratios(way, phase, peer, run, n, v) {
    if (way == peer)
        return "1"
    for (run = 1; run <= runs; run++)
        if ((way, phase, run) in count && (peer, "all", run) in count)
            v[++n] = time(way, phase, run) / time(peer, "all", run)
    return spread(v, n, "%.2f")
}

function mean_accuracy(way, run, n, sum) {
    for (run = 1; run <= runs; run++)
        if ((way, run) in accuracy) {
            sum += accuracy[way, run]
            n++
        }
    return n > 0 ? sprintf("%.4f", sum / n) : "-"
}

# In points of a percent.
function difference(way, peer, run, n, sum, least, most, d) {
    if (way == peer)
        return "0"
    for (run = 1; run <= runs; run++)
        if ((way, run) in accuracy && (peer, run) in accuracy) {
            d = 100 * (accuracy[way, run] - accuracy[peer, run])
            least = n == 0 || d < least ? d : least
            most = n == 0 || d > most ? d : most
            sum += d
            n++
        }
    if (n < 2)
        return n == 1 ? sprintf("%+.2f", sum) : "-"
    return sprintf("%+.2f (%+.2f ... %+.2f)", sum / n, least, most)
}

function row(way, phase, line) {
    if (!((way, phase) in lines))
        return
    line = sprintf("%-13s %-9s %-26s %9.1f  %-21s  %-21s", way, phase, times(way, phase),
        megabytes[way, phase] / lines[way, phase], ratios(way, phase, "non-blocking"), ratios(way, phase, "ddp"))
    if (phase == "all")
        line = line sprintf(" %8s  %s", mean_accuracy(way), difference(way, "non-blocking"))
    sub(/ +$/, "", line)
    print line
}

END {
    printf "%-13s %-9s %-26s %9s  %-21s  %-21s %8s  %s\n", "way", "epochs", "s an epoch", "MB a rank",
        "/ non-blocking", "/ DDP", "accuracy", "points from non-blocking"
    number = split(ways, names, " ")
    for (i = 1; i <= number; i++) {
        row(names[i], "all")
        row(names[i], "warm-up")
        row(names[i], "cycling")
        row(names[i], "cool-down")
    }
}
