# Reads the declared functions, the uses of names in the tests, and coverage.names; see coverage.sh.
# SPDX-License-Identifier: MIT

# MultiStepLR: multi_step_lr
function snake(name,    i, c, before, after, text) {
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

function begin_module(name) {
    if (name == module)
        return
    end_module()
    module = name
    all = ours = 0
    rows = ""
}

function end_module() {
    if (module == "")
        return
    text = text "\n## " module ": " ours " of " all "\n\n"
    text = text "| name | ours | tested by | ranks |\n| --- | --- | --- | --- |\n" rows
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
function add_row(name, c_name, remark,    file) {
    file = used_in["header", c_name]
    if (file == "" && (named[module, name], c_name) in uses)
        file = named[module, name]
    if (file == "")
        file = used_in[folder(), c_name]
    if (file == "")
        file = used_in["any", c_name]
    sub(/^/, remark == "" ? "" : "; ", remark)
    rows = rows "| " name " | `" c_name "`" remark " | " (file == "" ? "**no test**" : file) " | " ranks[file] " |\n"
    all++
    ours++
    known++
}

function add_missing(name) {
    rows = rows "| " name " | missing | | |\n"
    all++
    missing++
}

function add_left_out(name, why) {
    rows = rows "| " name " | left out: " why " | | |\n"
    left_out++
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

input == "before" && sub(/^## /, "") {
    sub(/:.*/, "")
    before = $0
}

input == "before" && split($0, cells, / *[|] */) > 4 { named[before, cells[2]] = cells[4] }

input == "before" || /^#/ || NF == 0 { next }

{
    at = index($0, ": ")
    heading = substr($0, 1, at - 1)
    rest = substr($0, at + 2)
    prefix = "ht_"
    if (match(heading, / \(ht_[a-z_]*\)$/)) {
        prefix = substr(heading, RSTART + 2, RLENGTH - 3)
        heading = substr(heading, 1, RSTART - 1)
    }
    begin_module(heading)
    remark = ""
    if (at = index(rest, " -- ")) {
        remark = substr(rest, at + 4)
        rest = substr(rest, 1, at - 1)
    }
    count = split(rest, names, " ")
    for (i = 1; i <= count; i++) {
        name = names[i]
        c_name = prefix snake(name)
        if (at = index(name, "=")) {
            c_name = substr(name, at + 1)
            name = substr(name, 1, at - 1)
        } else if (remark != "") {
            add_left_out(name, remark)
            continue
        }
        if (c_name in declared)
            add_row(name, c_name, remark)
        else
            add_missing(name)
    }
}

END {
    end_module()
    print "# What of Heat and torch is there"
    print ""
    print "Of the " known + missing " names, " known " are there and " missing " are missing; " left_out " more are left out on purpose."
    print ""
    print "Made by `make coverage` from doc/coverage.names, the public headers and the tests; do not edit. The test is one"
    print "that uses the function, and runs on these numbers of ranks. Which splits it tries is not told here."
    printf "%s", text
}
