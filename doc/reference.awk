# Pages from the records of doc/functions.awk. -v format=html writes one page to standard output; -v format=man3 -v folder=DIR
# -v version=V writes DIR/NAME.3 for each function. A line `name: text` of a comment, Result, Errors and Source become terms,
# lines indented by four spaces code, and a line `- text` begins an item. The comment that opens the header follows each function's own comment, under NOTES.

BEGIN {
    RS = "\f"
    FS = "\037"
    if (format == "html") html_head()
}

{
    header = $1
    sub(/.*include\//, "", header)
    if (header != topic) {
        topic = header
        if (format == "html") html_topic($6)
    }
    parameters($4)
    if (format == "html") html_function($3, $4, $5)
    else man_function($3, $4, $5, $6)
}

END { if (format == "html") html_foot() }

# Sets term_of to the names of the prototype's parameters, and to the words that begin a paragraph of their own.
function parameters(prototype,    count, parts, i) {
    split("", term_of)
    term_of["Result"] = term_of["Errors"] = term_of["Source"] = 1
    sub(/^[^(]*\(/, "", prototype)
    count = split(prototype, parts, /[^A-Za-z_0-9]+/)
    for (i = 1; i <= count; i++) if (parts[i] != "") term_of[parts[i]] = 1
}

# A line `a, b: text` whose words are all terms: its length up to the colon; else 0.
function term_length(line,    head, count, words, i) {
    if (!match(line, /^[A-Za-z_][A-Za-z_0-9, ]*: /)) return 0
    head = substr(line, 1, RLENGTH - 2)
    count = split(head, words, /, */)
    for (i = 1; i <= count; i++) if (!(words[i] in term_of)) return 0
    return RLENGTH - 2
}

# Walks a comment and calls put() for its parts: "text", "term" with what follows it, "item", "code".
function walk(comment,    lines, count, i, line, at, kind, label, text) {
    count = split(comment, lines, "\n")
    kind = ""
    for (i = 1; i <= count; i++) {
        line = lines[i]
        at = term_length(line)
        if (line ~ /^    / && kind != "term") {
            if (kind != "code") { put(kind, label, text); kind = "code"; text = "" }
            text = text substr(line, 5) "\n"
        } else if (line ~ /^ *$/ || at) {
            if (kind == "code" && line ~ /^ *$/ && lines[i + 1] ~ /^    /) { text = text "\n"; continue }
            put(kind, label, text)
            kind = at ? "term" : ""
            label = substr(line, 1, at)
            text = substr(line, at + 3)
        } else if (line ~ /^- /) {
            put(kind, label, text)
            kind = "item"
            text = substr(line, 3)
        } else {
            if (kind == "code" || (kind == "term" && line ~ /^(Collective|Logically collective|Not collective)/)) {
                put(kind, label, text)
                kind = ""
            }
            if (kind == "item" && line !~ /^ /) { put(kind, label, text); kind = "" }
            if (kind == "") { kind = "text"; text = "" }
            sub(/^ +/, "", line)
            text = text (text == "" ? "" : " ") line
        }
    }
    put(kind, label, text)
    if (format == "html") html_list(0)
}
function put(kind, label, text) {
    if (kind == "" || text ~ /^[ \n]*$/) return
    if (format == "html") html_put(kind, label, text)
    else man_put(kind, label, text)
}

function first_sentence(comment) {
    gsub(/\n/, " ", comment)
    sub(/^ +/, "", comment)
    if (match(comment, /[.:;] /)) comment = substr(comment, 1, RSTART - 1)
    sub(/[. ]+$/, "", comment)
    return comment
}

# --- Manual pages ---

function roff(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    gsub(/\n\./, "\n\\\\\\&.", text)
    gsub(/\n'/, "\n\\\\\\&'", text)
    if (text ~ /^[.']/) text = "\\&" text
    return text
}
function man_put(kind, label, text) {
    if (kind != "code") gsub(/(see|at) the top/, "see NOTES", text)
    if (kind == "term") print ".TP\n.B " roff(label) "\n" roff(text) >page
    else if (kind == "item") print ".IP \\(bu 2\n" roff(text) >page
    else if (kind == "code") printf ".PP\n.EX\n%s.EE\n", roff(text) >page
    else print ".PP\n" roff(text) >page
}
function man_function(name, prototype, comment, opening) {
    page = folder "/" name ".3"
    print ".TH " roff(toupper(name)) " 3 \"\" \"libht " version "\" \"Library Functions\"" >page
    print ".SH NAME\n" roff(name) " \\- " roff(first_sentence(comment == "" ? opening : comment)) >page
    print ".SH SYNOPSIS\n.nf\n.B #include <ht.h>\n.PP\n.B " roff(prototype) "\n.fi\n.SH DESCRIPTION" >page
    walk(comment)
    print ".SH NOTES\nAll functions of\n.IR " roff(topic) ":" >page
    walk(opening)
    close(page)
}

# --- One page for a browser ---

function html(text) {
    gsub(/&/, "\\&amp;", text)
    gsub(/</, "\\&lt;", text)
    gsub(/>/, "\\&gt;", text)
    return text
}
# "the top" is what all functions of the header have in common.
function linked(text) {
    gsub(/(see|at) the top/, "see <a href=\"#" topic "\">the top</a>", text)
    return text
}
# Opens or closes the list of items.
function html_list(wanted) {
    if (wanted != in_list) print wanted ? "<ul>" : "</ul>"
    in_list = wanted
}
function html_put(kind, label, text) {
    html_list(kind == "item")
    if (kind == "term") print "<p class=term><b>" html(label) "</b> " linked(html(text)) "</p>"
    else if (kind == "item") print "<li>" linked(html(text)) "</li>"
    else if (kind == "code") print "<pre>" html(text) "</pre>"
    else print "<p>" linked(html(text)) "</p>"
}
function html_head() {
    print "<!DOCTYPE html>\n<html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">"
    print "<title>libht: functions by topic</title>\n<style>"
    print "body{margin:0 auto;max-width:60rem;padding:1rem;font:16px/1.5 sans-serif;overflow-wrap:anywhere;color:#222;background:#fff}"
    print "input{position:sticky;top:.5rem;width:100%;box-sizing:border-box;padding:.5rem;font-size:1rem;border:1px solid #888;border-radius:4px}"
    print "h2{margin-top:2.5rem;border-bottom:1px solid #ccc}h2 small{font-weight:normal;color:#666}"
    print "main,section{display:flex;flex-direction:column}h2,details{order:-2}article,section{scroll-margin-top:3.5rem}"
    print "article{margin-top:1.5rem}ul{margin:.3rem 0}p,pre{margin:.3rem 0}pre{padding:.5rem;background:#f4f4f4;overflow-x:auto;white-space:pre-wrap}"
    print ".term{margin-left:1.5rem}nav{columns:14rem;margin:1rem 0}nav a{display:block;margin-bottom:.4rem;break-inside:avoid}a{color:#0645ad;text-decoration:none}"
    print "h3{margin:0;font:600 1rem monospace}[hidden]{display:none}\n</style>"
    print "<h1>libht: functions by topic</h1>"
    print "<input id=find type=search placeholder=\"Find a function or a word\" autofocus>\n<nav id=topics></nav>\n<p id=nothing hidden>Nothing found</p>\n<main>"
}
function html_topic(opening) {
    if (open) print "</section>"
    open = 1
    split("", term_of)
    print "<section id=\"" topic "\"><h2>" html(topic) " <small>" html(first_sentence(opening)) "</small></h2>"
    print "<details><summary>Common to all functions of this header</summary>"
    walk(opening)
    print "</details>"
}
function html_function(name, prototype, comment) {
    print "<article id=" name "><h3>" name "</h3><pre>" html(prototype) "</pre>"
    walk(comment)
    print "</article>"
}
function html_foot() {
    print "</section></main>\n<script>"
    print "const articles=[...document.querySelectorAll('article')],sections=[...document.querySelectorAll('section')];"
    print "const topics=document.getElementById('topics'),nothing=document.getElementById('nothing');"
    print "for(const s of sections){const a=topics.appendChild(document.createElement('a'));a.href='#'+s.id;"
    print "a.textContent=s.querySelector('small').textContent;a.title=s.id;}"
    print "const texts=articles.map(a=>a.textContent.toLowerCase());"
    print "const tops=sections.map(s=>(s.querySelector('h2').textContent+s.querySelector('details').textContent).toLowerCase());"
    print "document.getElementById('find').oninput=e=>{const words=e.target.value.toLowerCase().split(/\\s+/).filter(w=>w);"
    print "const named=a=>words.some(w=>a.id.toLowerCase()===w||a.id.toLowerCase()==='ht_'+w);"
    print "articles.forEach((a,i)=>{a.hidden=!words.every(w=>texts[i].includes(w));a.style.order=named(a)?-1:0;});"
    print "topics.hidden=words.length>0;"
    print "sections.forEach((s,i)=>{const top=words.length>0&&words.every(w=>tops[i].includes(w)),shown=[...s.querySelectorAll('article:not([hidden])')];"
    print "s.querySelector('details').open=top;s.hidden=words.length>0&&!top&&!shown.length;s.style.order=shown.some(named)?-1:0;});"
    print "nothing.hidden=sections.some(s=>!s.hidden);};\n</script></html>"
}
