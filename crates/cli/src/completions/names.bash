
# Runs, studies and data sets are looked up when completion is asked for. Names that are more than a word are left out: `compgen`
# would expand what stands in them.
_cosmark_archive() {
    local at archive=archive
    for ((at = 1; at < COMP_CWORD; at++)); do
        if [[ ${COMP_WORDS[at]} == --archive ]]; then
            archive=${COMP_WORDS[at + 1]}
            [[ $archive == = ]] && archive=${COMP_WORDS[at + 2]}
        fi
    done
    # As it was typed: without its quotes.
    archive=${archive//[\\\"\']/}
    printf '%s\n' "${archive/#\~\//$HOME/}"
}

_cosmark_known() {
    local archive entry name
    archive=$(_cosmark_archive)
    case $1 in
        run)
            for entry in "$archive"/w[0-9]*-*/; do
                name=${entry%/}
                name=${name##*/}
                name=${name%%-*}
                [[ $name =~ ^w[0-9]+$ ]] && printf '%s\n' "$name"
            done
            printf 'last\n'
            ;;
        study)
            printf '%s\n' list status new schema @STUDIES@
            ;;
        begun)
            for entry in ./*/journal.jsonl; do
                [[ -f $entry ]] && sed -n '1s/.*"study":"\([A-Za-z0-9_-]*\)".*/\1/p;1q' "$entry"
            done
            ;;
        dataset)
            for entry in "$archive"/.datasets/*/dataset.json; do
                name=${entry%/dataset.json}
                name=${name##*/}
                [[ $name =~ ^[A-Za-z0-9._-]+$ ]] && printf '%s\n' "$name"
            done
            ;;
    esac
}

_cosmark_with_names() {
    _cosmark "$@"
    local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} at command='' second='' kind='' head=''
    [[ $cur == -* || $cur == = || $before == = ]] && return 0
    case $before in
        @VALUES@) return 0 ;;
    esac
    for ((at = 1; at < COMP_CWORD; at++)); do
        case ${COMP_WORDS[at - 1]} in
            @VALUES@) continue ;;
        esac
        case ${COMP_WORDS[at]} in
            -* | =) ;;
            *) if [[ -z $command ]]; then command=${COMP_WORDS[at]}; elif [[ -z $second ]]; then second=${COMP_WORDS[at]}; fi ;;
        esac
    done
    case "$command $second" in
        'study ') kind=study ;;
        'study status') kind=begun ;;
        'datasets show' | 'datasets check' | 'datasets clean') kind=dataset ;;
        'faults heal') kind=run ;;
    esac
    case $command in
        @RUNS@) kind=run ;;
    esac
    [[ -z $kind ]] && return 0
    # Repetitions are joined by commas.
    [[ $kind == run && $cur == *,* ]] && head=${cur%,*},
    mapfile -t COMPREPLY < <(compgen -P "$head" -W "$(_cosmark_known "$kind")" -- "${cur#"$head"}")
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _cosmark_with_names -o nosort -o bashdefault -o default cosmark
fi
