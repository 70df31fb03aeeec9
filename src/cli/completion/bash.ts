/** The completion script for bash, from 3.2 on, which is what macOS brings along. */
import type { CommandModel } from './model.js';
import { SERVER_FLAGS } from './shells.js';
import { tables } from './tables.js';

export function bashScript(models: CommandModel[]): string {
  return `# Completion of perdure for bash: source <(perdure completion bash)

${tables(models)}
_perdure_complete() {
  local program=$1 typed='' word at='' place=1 flag='' quoting='' i
  local -a line=() server=()
  local quotes="'\\""
  # Bash takes words apart at = and :, and puts them together again from the last of these on.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ \${#line[@]} -gt 0 && ($word == [=:]* || \${line[\${#line[@]} - 1]} == *[=:]) ]]; then
      line[\${#line[@]} - 1]+=$word
    else
      line+=("$word")
    fi
  done
  typed=\${line[\${#line[@]} - 1]}
  local kept=''
  [[ $typed == *[=:]* ]] && kept=\${typed%"\${typed##*[=:]}"}

  for ((i = 0; i < \${#line[@]} - 1; i++)); do
    word=\${line[i]}
    if [[ -n $flag ]]; then
      # Names and ids are asked of the server that the line is about.
      case $flag in ${SERVER_FLAGS.join(' | ')}) server+=("$flag" "\${word//[$quotes]/}") ;; esac
      flag=''
    elif [[ $word == -* ]]; then
      case $word in ${SERVER_FLAGS.map((each) => `${each}=*`).join(' | ')}) server+=("\${word//[$quotes]/}") ;; esac
      [[ $word != *=* && -n $(_perdure_value "$at" "$word") ]] && flag=$word
    elif [[ $place == 1 && -n $(_perdure_flags "\${at:+$at }$word") ]]; then
      at=\${at:+$at }$word
    else
      place=$((place + 1))
    fi
  done

  local found
  if [[ -n $flag ]]; then
    found=$(_perdure_value "$at" "$flag")
  elif [[ $typed == --*=* ]]; then
    found=$(_perdure_value "$at" "\${typed%%=*}")
    typed=\${typed#*=}
    kept=''
  elif [[ $typed == -* ]]; then
    found=$(_perdure_flags "$at")
  else
    found=$(_perdure_commands "$at")
    [[ -z $found ]] && found=$(_perdure_place "$at" "$place")
  fi

  COMPREPLY=()
  case $found in
    '<none>') return ;;
    '<files>') compopt -o filenames 2>/dev/null; found=$(compgen -f -- "$typed") ;;
    '<folders>') compopt -o filenames 2>/dev/null; found=$(compgen -d -- "$typed") ;;
    '<workflows>') found=$("$program" __words workflows "$typed" \${server[@]+"\${server[@]}"} 2>/dev/null) ;;
    '<ids>')
      # Others have chosen the ids, and must not have chosen what this shell does: bash puts a word into the line as it is.
      quoting=1 typed=\${typed//\\\\/} kept=\${kept//\\\\/}
      found=$("$program" __words ids "$typed" \${server[@]+"\${server[@]}"} 2>/dev/null)
      ;;
  esac
  while IFS= read -r word; do
    word=\${word%%$'\\t'*}
    [[ -n $word && $word == "$typed"* ]] || continue
    word=\${word#"$kept"}
    [[ -n $quoting ]] && printf -v word %q "$word"
    COMPREPLY+=("$word")
  done <<<"$found"
}

complete -F _perdure_complete perdure
`;
}
