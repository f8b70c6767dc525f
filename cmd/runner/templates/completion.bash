# bash completion for runner                               -*- shell-script -*-
#
# It needs bash and nothing else; it does not use the package bash-completion.

# __runner_unquote sets REPLY to a word without its quotes and backslashes. It expands
# nothing but a ~ at the beginning.
__runner_unquote()
{
    local word=$1 quote="" c i
    REPLY=""
    if [[ $word == "~/"* ]]; then
        REPLY=$HOME
        word=${word:1}
    fi
    for ((i = 0; i < ${#word}; i++)); do
        c=${word:i:1}
        case $quote$c in
        "'" | '"') quote=$c ;;
        "''" | '""') quote="" ;;
        '\' | '"\') i=$((i + 1)) && REPLY+=${word:i:1} ;;
        *) REPLY+=$c ;;
        esac
    done
}

# __runner_words sets words to the words before the cursor. Readline splits words at = and :,
# too; what no blank separates belongs together.
__runner_words()
{
    local line=${COMP_LINE:0:COMP_POINT} last="" rest word i
    words=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        rest=${line#"${line%%[![:blank:]]*}"}
        word=${COMP_WORDS[i]}
        if ((i == COMP_CWORD)); then
            word=$rest
        fi
        if ((i > 0)) && [[ $rest == "$line" && ($word == [=:]* || $last == *[=:]) ]]; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word")
        fi
        last=$word
        line=${rest#"$word"}
    done
}

# __runner_quote sets REPLY to a value as it is inserted after what is typed so far.
__runner_quote()
{
    case $typed in
    \'*) REPLY=${1//\'/\'\\\'\'} ;;
    \"*) REPLY=$1 && REPLY=${REPLY//\\/\\\\} && REPLY=${REPLY//\"/\\\"} && REPLY=${REPLY//\$/\\\$} && REPLY=${REPLY//\`/\\\`} ;;
    *) printf -v REPLY %q "$1" ;;
    esac
}

__start_runner()
{
    local words args=() word typed plain
    __runner_words
    for word in "${words[@]}"; do
        __runner_unquote "$word"
        args+=("$REPLY")
    done
    typed=${words[${#words[@]} - 1]}
    if [[ $typed == -*=* ]]; then # the value of a flag
        typed=${typed#*=}
    fi
    __runner_unquote "$typed"
    plain=$REPLY

    local tab=$'\t' directive=0 width=0 line value i values=() notes=() replies=()
    while IFS= read -r line; do
        if [[ $line =~ ^:[0-9]+$ ]]; then
            directive=${line:1}
            continue
        fi
        value=${line%%"$tab"*}
        if [[ -n $line && $value == "$plain"* ]]; then
            __runner_quote "$value"
            replies+=("$REPLY")
            values+=("$value")
            line=${line#"$value"}
            notes+=("${line#"$tab"}")
            if ((${#REPLY} > width)); then
                width=${#REPLY}
            fi
        fi
    done < <(command "${args[0]}" __complete "${args[@]:1}" 2>/dev/null)

    if [[ $(type -t compopt) == builtin ]]; then
        ((directive & 2)) && compopt -o nospace
        ((directive & 4)) && compopt +o default
        ((directive & 32 && (BASH_VERSINFO[0] > 4 || BASH_VERSINFO[0] == 4 && BASH_VERSINFO[1] >= 4))) && compopt -o nosort
    fi
    # Readline replaces only what follows the last of its word breaks.
    local drop=""
    for word in = :; do
        if [[ $COMP_WORDBREAKS == *$word* && $typed == *$word* && $typed != [\'\"]* ]]; then
            value=${typed%"${typed##*"$word"}"}
            if ((${#value} > ${#drop})); then
                drop=$value
            fi
        fi
    done
    COMPREPLY=()
    for ((i = 0; i < ${#replies[@]}; i++)); do
        word=${replies[i]#"$drop"}
        # COMP_TYPE is 63 or 33 where bash lists the words, and 9 where it inserts one.
        if [[ -n ${notes[i]} && ${#replies[@]} -gt 1 && ${COMP_TYPE-9} != 37 && ${COMP_TYPE-9} != 42 ]]; then
            printf -v word '%-*s  (%s)' "$((width - ${#drop}))" "$word" "${notes[i]}"
            word=${word:0:${COLUMNS:-80}}
        fi
        COMPREPLY+=("$word")
    done
}

complete -o default -F __start_runner runner
