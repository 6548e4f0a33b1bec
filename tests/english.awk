# Lints the English of documents (Markdown) and of the comments in headers: a line for each sentence that breaks a rule,
# FILE:LINE: what is wrong. Code, tables and headings are left out.
FNR == 1 { flush(); code = 0; inside = 0; is_header = FILENAME ~ /\.h$/ }

is_header && /^ *\/\*/ { flush(); inside = 1 }
is_header && inside {
    text = $0
    sub(/^ *\/?\*+ ?/, "", text)
    ends = sub(/ *\*\/ *$/, "", text)
    if (text ~ /^    / || text ~ /SPDX/) flush()
    else if (text ~ /^ *$/) flush()
    else add(text)
    if (ends) { flush(); inside = 0 }
    next
}
is_header { next }

/^```/ { code = !code; flush(); next }
code || /^    / || /^\|/ || /^#/ || /^ *$/ { flush(); next }
/^ *([-*]|[0-9]+\.) / { flush() }
{ add($0) }
END { flush() }

function add(text) {
    if (paragraph == "") at = FNR
    paragraph = paragraph " " text
    file = FILENAME
}
function fault(what, sentence) { print file ":" at ": " what ": " substr(sentence, 1, 70) }
function flush(    count, sentences, i, words, s) {
    gsub(/`[^`]*`/, "CODE", paragraph)
    gsub(/\[[^]]*\]\([^)]*\)/, "LINK", paragraph)
    count = split(paragraph, sentences, /[.:;?] +/)
    for (i = 1; i <= count; i++) {
        s = sentences[i]
        sub(/^[ *(-]+/, "", s)
        if (s ~ /^(What|Who|Whoever|Of|Into) /) fault("opens badly", s)
        if (s ~ /, as (it|they|there|nobody|nothing) /) fault("\", as\"", s)
        if (s ~ / is no [a-z]/) fault("\"is no\"", s)
        if (split(s, words, / +/) > 30) fault("over 30 words", s)
    }
    paragraph = ""
}
