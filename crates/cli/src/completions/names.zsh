
# Runs, studies and data sets are looked up when completion is asked for.
_cosmark_archive() {
    local at
    REPLY=archive
    for (( at = 1; at < CURRENT; at++ )); do
        [[ $words[at] == --archive ]] && REPLY=${(Q)words[at+1]}
        [[ $words[at] == --archive=* ]] && REPLY=${(Q)words[at]#--archive=}
    done
    # Where several runs may stand the words are only those: the options are elsewhere, with backslashes doubled.
    (( ${+opt_args[--archive]} )) && REPLY=${(Q)${(Q)opt_args[--archive]}}
    REPLY=${REPLY/#\~\//$HOME/}
}

_cosmark_runs() {
    local REPLY
    local -a found
    _cosmark_archive
    found=( $REPLY/w<->-*(N/:t) )
    compset -P '*,'
    _wanted runs expl run compadd - last ${(u)found%%-*}
    _files
}

_cosmark_studies() {
    _wanted studies expl study compadd - list status new schema @STUDIES@
    _files
}

_cosmark_begun() {
    local file
    local -a found
    for file in */journal.jsonl(N-.); do
        found+=( $(sed -n '1s/.*"study":"\([A-Za-z0-9_-]*\)".*/\1/p;1q' $file) )
    done
    _wanted studies expl study compadd - $found
    _files -/
}

_cosmark_datasets() {
    local REPLY
    local -a found
    _cosmark_archive
    found=( $REPLY/.datasets/*(N/:t) )
    _wanted datasets expl 'data set' compadd - $found
}
