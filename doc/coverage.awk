# Reads the declared names and coverage/*.names; writes the pages into the folder `out` and prints the counts.
# See coverage.sh.
# SPDX-License-Identifier: MIT

# MultiStepLR.step: multi_step_lr_step
function snake(name,    i, c, before, after, text) {
    gsub(/[.]/, "_", name)
    for (i = 1; i <= length(name); i++) {
        c = substr(name, i, 1)
        before = substr(name, i - 1, 1)
        after = substr(name, i + 1, 1)
        if (i > 1 && c ~ /[A-Z]/ && (before ~ /[a-z0-9]/ || before ~ /[A-Z]/ && after ~ /[a-z]/))
            text = text "_"
        text = text tolower(c)
    }
    return text
}

function fail(why) {
    print FILENAME ":" FNR ": " why >"/dev/stderr"
    exit failed = 1
}

function begin_topic() {
    end_topic()
    topic = FILENAME
    gsub(/.*\/|\.names$/, "", topic)
    if (!sub(/^# /, ""))
        fail("the first line is to say what the topic is about, after \"# \"")
    page = out "/coverage/" topic ".md"
    print "# " topic "\n\n" $0 "\n" >page
    print "Made by `make coverage`; do not edit. [How to read it](../coverage.md)." >page
    index_rows = index_rows "| [" topic "](coverage/" topic ".md) | " $0 " |\n"
    module = ""
    ours = missing = left_out = 0
}

function end_topic() {
    if (topic == "")
        return
    close(page)
    print_count(topic, ours, missing, left_out)
    all_ours += ours
    all_missing += missing
    all_left_out += left_out
}

function print_count(what, ours, missing, left_out) {
    printf "%-24s %4d of %4d, %3d left out\n", what, ours, ours + missing, left_out
}

function begin_module() {
    module = $0
    prefix = "ht_"
    if (match(module, /\] ht_[a-z_]*$/)) {
        prefix = substr(module, RSTART + 2)
        module = substr(module, 1, RSTART)
    }
    module = substr(module, 2, length(module) - 2)
    print "\n## " module "\n\n| name | ours |\n| --- | --- |" >page
}

function add_row(name, c_name, remark) {
    print "| " name " | `" c_name "`" (remark == "" ? "" : "; ") remark " |" >page
    ours++
}

function add_missing(name) {
    print "| " name " | missing |" >page
    missing++
}

function add_left_out(name, why) {
    print "| " name " | left out: " why " |" >page
    left_out++
}

function add_name(name, remark,    at, c_name) {
    c_name = prefix snake(name)
    at = index(name, "=")
    if (at) {
        c_name = substr(name, at + 1)
        name = substr(name, 1, at - 1)
    }
    if (seen[module, name]++)
        fail(name " is there twice in " module)
    if (!at && remark != "" && c_name in declared)
        fail(name " is left out, and " c_name " is declared")
    if (!at && remark != "")
        add_left_out(name, remark)
    else if (c_name in declared)
        add_row(name, c_name, remark)
    else
        add_missing(name)
}

input == "declared" { declared[$1]; next }

FNR == 1 { begin_topic(); next }

/^#/ || NF == 0 { next }

/^\[/ { begin_module(); next }

module == "" { fail("names stand after a line [module]") }

{
    remark = ""
    if (at = index($0, " -- ")) {
        remark = substr($0, at + 4)
        $0 = substr($0, 1, at - 1)
    }
    count = split($0, names, " ")
    for (i = 1; i <= count; i++)
        add_name(names[i], remark)
}

END {
    if (failed)
        exit 1
    end_topic()
    print_count("all", all_ours, all_missing, all_left_out)
    page = out "/coverage.md"
    print "# Coverage of Heat and torch" >page
    print "" >page
    print "The public names of Heat 1.8 and 1.9, and of torch.nn and torch.optim, by topic. A name is there as the" >page
    print "function (or constant) in its row, is missing, or is left out for the reason in its row." >page
    print "`grep -rw percentile doc/coverage` finds a name." >page
    print "" >page
    print "Made by `make coverage` from doc/coverage/*.names and the public headers; do not edit. It prints how many" >page
    print "names are there: the pages hold no counts, which would go wrong on a merge." >page
    print "" >page
    print "| topic | |\n| --- | --- |" >page
    printf "%s", index_rows >page
}
