
# Runs, studies and data sets are looked up when completion is asked for.
function __cosmark_archive
    set -l words (commandline -opc)
    set -l archive archive
    for at in (seq (count $words))
        string match -q -- '--archive=*' $words[$at]
        and set archive (string replace -- '--archive=' '' $words[$at])
        test "$words[$at]" = --archive; and test $at -lt (count $words)
        and set archive $words[(math $at + 1)]
    end
    # Of what stands in a variable the shell expands no home.
    string replace -r -- '^~/' "$HOME/" $archive
end

function __cosmark_runs
    set -l archive (__cosmark_archive)
    # Of several with commas between them the last one is looked for.
    set -l before (string match -r -- '^.*,' (commandline -ct))
    for run in $archive/w*-*/
        string replace -rf '^.*/(w[0-9]+)-([^/]*)/$' "$before"'$1\t$2' -- $run
    end
    echo "$before"last
end

function __cosmark_begun
    for file in */journal.jsonl
        test -f $file; and head -n 1 $file | string replace -rf '^.*"study":"([A-Za-z0-9_-]*)".*$' '$1'
    end
end

function __cosmark_datasets
    set -l archive (__cosmark_archive)
    for own in $archive/.datasets/*/
        string replace -rf '^.*/([^/]*)/$' '$1' -- $own
    end
end

complete -c cosmark -n "__fish_cosmark_using_subcommand @RUNS@" -a "(__cosmark_runs)"
complete -c cosmark -n "__fish_cosmark_using_subcommand study; and not __fish_seen_subcommand_from status" -a "list status new schema @STUDIES@"
complete -c cosmark -n "__fish_cosmark_using_subcommand study; and __fish_seen_subcommand_from status" -a "(__cosmark_begun)"
complete -c cosmark -n "__fish_cosmark_using_subcommand datasets; and __fish_seen_subcommand_from show check clean" -f -a "(__cosmark_datasets)"
complete -c cosmark -n "__fish_cosmark_using_subcommand faults; and __fish_seen_subcommand_from heal" -a "(__cosmark_runs)"
