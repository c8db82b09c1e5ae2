# Completion for bash: options, their words, and files, of what a program's --help lists.
_waco() {
  local program=$1 word=$2 before=$3 commands help
  help=$("$program" --help 2>/dev/null) || return
  commands=$(sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p' <<<"$help")
  if [[ $COMP_CWORD -gt 1 && " ${commands//$'\n'/ } " == *" ${COMP_WORDS[1]} "* ]]; then
    help=$("$program" "${COMP_WORDS[1]}" --help 2>/dev/null) || return
  elif [[ $word != -* && $COMP_CWORD -eq 1 ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$word"; compgen -f -- "$word")
    return
  fi
  if [[ $before == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(sed -n "s/^ *\(-[a-zA-Z],\)\?$before TEXT:{\([^}]*\)}.*/\2/p" <<<"$help" | tr , ' ')" -- "$word")
    return
  fi
  [[ $word == -* ]] || return
  mapfile -t COMPREPLY < <(compgen -W "$(sed -n 's/^ *\(-[a-zA-Z],\)\?\(--[a-z-]*\).*/\2/p' <<<"$help")" -- "$word")
}
complete -o default -F _waco waco-tune waco-codegen waco-collect waco-train waco-index waco-bench
