# Checks the records of doc/functions.awk, and prints a line for each fault: HEADER:LINE: FUNCTION: FAULT. The grammar
# is in CONTRIBUTING.md, "A doc comment".
BEGIN {
    RS = "\f"
    FS = "\037"
    split("parameters Collective Result Errors Source", part_name, " ")
}

function fault(what) { print $1 ":" $2 ": " $3 ": " what }

# The names of the parameters of a prototype, in names[] and is_name[]; returns how many.
function parameters(prototype, names,    count, list, i, n, word) {
    split("", is_name)
    if (prototype !~ /^HT_/) gsub(/HT_[A-Z_]+\([^)]*\)/, "", prototype) # HT_PRINTF(2, 3)
    sub(/^[^(]*\(/, "", prototype)
    sub(/\)[^)]*$/, "", prototype)
    count = split(prototype, list, ",")
    for (i = 1; i <= count; i++) {
        word = list[i]
        gsub(/\[[^\]]*\]|\)\(.*/, "", word)
        sub(/ *$/, "", word)
        sub(/.*[ *]/, "", word)
        gsub(/[()]/, "", word)
        if (word == "void" || word == "..." || word == "") continue
        names[++n] = word
        is_name[word] = 1
    }
    return n
}

# The part of a block that a line begins, by its number in part_name; 0: none.
function part_of(line,    count, words, i) {
    if (line ~ /^(Collective|Logically collective|Not collective)/) return 2
    if (match(line, /^(Result|Errors|Source): /)) return line ~ /^R/ ? 3 : line ~ /^E/ ? 4 : 5
    if (!match(line, /^[A-Za-z_][A-Za-z_0-9, ]*: /)) return 0
    count = split(substr(line, 1, RLENGTH - 2), words, /, */)
    for (i = 1; i <= count; i++) if (!(words[i] in is_name)) return 0
    return 1
}
function check_order(block,    count, lines, i, part, last) {
    count = split(block, lines, "\n")
    for (i = 2; i <= count; i++) {
        part = part_of(lines[i])
        if (part && part < last) fault(part_name[part] " come after " part_name[last])
        if (part) last = part
    }
}

# Whether the block has a line that says this, or names a function whose block has.
function says(block, line) {
    sub(/\nSource: .*/, "", block)
    return block ~ ("(^|\n)" line ": ") || block ~ /(^|[^a-z_0-9])ht_[a-z_0-9]+/
}

{
    if ($5 == "") { fault("has no comment of its own right before it"); next }
    n = parameters($4, names)
    for (i = 1; i <= n; i++) {
        if ($5 !~ ("(^|[^a-z_0-9])" names[i] "($|[^a-z_0-9])")) fault("the comment does not name " names[i])
    }
    check_order($5)
    if ($5 !~ /[Cc]ollective/ && $6 !~ /[Cc]ollective/) fault("neither its comment nor the top of the header says if it is collective")
    if ($4 ~ /^ht_(tensor|value) \*/ && !says($5, "Result") && $5 !~ /scoped|owned|borrowed/ && $6 !~ /(^|\n)Result: /) fault("neither its comment nor the top of the header has a Result line")
    if ($4 ~ /^ht_status / && !says($5, "Errors") && $6 !~ /(^|\n)Errors: /) fault("neither its comment nor the top of the header has an Errors line")
    if ($5 !~ /\./) fault("the comment has no sentence")
}
