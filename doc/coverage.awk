# Reads the declared names, the uses of names in the tests, the pages as they were, and coverage/*.names; writes the
# pages into the folder `out` and prints the counts. See coverage.sh.
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
    print "Made by `make coverage`; do not edit. [What the columns say](../coverage.md)." >page
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
    print "\n## " module "\n\n| name | ours | tested by | ranks |\n| --- | --- | --- | --- |" >page
}

function note_use(where, name) {
    if (uses[file, name] > most[where, name]) {
        most[where, name] = uses[file, name]
        used_in[where, name] = file
    }
}

# Where the tests of a module are.
function folder() {
    if (module ~ /optim/)
        return "tests/optim/"
    if (module ~ /^heat.utils/)
        return "tests/utils/"
    return module ~ /\.nn/ ? "tests/nn/" : "tests/core/"
}

# The test named as the header; or the one that the row had, while it uses the function; or the one of the
# module's folder that uses it most, or of all.
function test_of(name, c_name,    file) {
    file = used_in["header", c_name]
    if (file == "" && (named[module, name], c_name) in uses)
        file = named[module, name]
    if (file == "")
        file = used_in[folder(), c_name]
    if (file == "")
        file = used_in["any", c_name]
    return file
}

function add_row(name, c_name, remark,    file) {
    file = test_of(name, c_name)
    sub(/^/, remark == "" ? "" : "; ", remark)
    print "| " name " | `" c_name "`" remark " | " (file == "" ? "**no test**" : file) " | " ranks[file] " |" >page
    ours++
}

function add_missing(name) {
    print "| " name " | missing | | |" >page
    missing++
}

function add_left_out(name, why) {
    print "| " name " | left out: " why " | | |" >page
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

input == "declared" { declared[$1] = "/test_" $2 ".c"; next }

input == "uses" && $1 == "file" {
    file = top = $2
    sub(/tests\/[a-z]*\//, "&|", top)
    sub(/\|.*/, "", top)
    ranks[file] = substr($0, length($1 $2) + 3)
    next
}

input == "uses" {
    uses[file, $2]++
    note_use(top, $2)
    note_use("any", $2)
    if ($2 in declared && index(file, declared[$2]))
        used_in["header", $2] = file
    next
}

input == "before" && sub(/^## /, "") { before = $0 }

input == "before" && split($0, cells, / *[|] */) > 4 { named[before, cells[2]] = cells[4] }

input == "before" { next }

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
    print "# What of Heat and torch is there" >page
    print "" >page
    print "The public names of Heat 1.8 and 1.9, and of torch.nn and torch.optim, by topic. A name is there as the" >page
    print "function (or constant) in its row, is missing, or is left out for the reason in its row. The test is one that" >page
    print "uses the function, and runs on these numbers of ranks; which splits it tries is not told here." >page
    print "`grep -rw percentile doc/coverage` finds a name." >page
    print "" >page
    print "Made by `make coverage` from doc/coverage/*.names, the public headers and the tests; do not edit. It prints how" >page
    print "many names are there: the pages hold no counts, which would go wrong where branches meet." >page
    print "" >page
    print "| topic | |\n| --- | --- |" >page
    printf "%s", index_rows >page
}
