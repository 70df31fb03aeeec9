/** The completion script for zsh: to be sourced after compinit, or put into a folder of $fpath as \`_perdure\`. */
import type { CommandModel } from './model.js';
import { SERVER_FLAGS } from './shells.js';
import { tables } from './tables.js';

export function zshScript(models: CommandModel[]): string {
  return `#compdef perdure
# Completion of perdure for zsh: source <(perdure completion zsh)

${tables(models)}
_perdure() {
  local at='' place=1 flag='' word found i
  local -a server
  for ((i = 2; i < CURRENT; i++)); do
    word=\${(Q)words[i]}
    if [[ -n $flag ]]; then
      # Names and ids are asked of the server that the line is about.
      case $flag in ${SERVER_FLAGS.join(' | ')}) server+=("$flag" "$word") ;; esac
      flag=''
    elif [[ $word == -* ]]; then
      case $word in ${SERVER_FLAGS.map((each) => `${each}=*`).join(' | ')}) server+=("$word") ;; esac
      [[ $word != *=* && -n $(_perdure_value "$at" "$word") ]] && flag=$word
    elif [[ $place == 1 && -n $(_perdure_flags "\${at:+$at }$word") ]]; then
      at=\${at:+$at }$word
    else
      place=$((place + 1))
    fi
  done

  if [[ -n $flag ]]; then
    found=$(_perdure_value "$at" "$flag")
  elif [[ $PREFIX == --*=* ]]; then
    found=$(_perdure_value "$at" "\${PREFIX%%=*}")
    compset -P '*='
  elif [[ $PREFIX == -* ]]; then
    found=$(_perdure_flags "$at")
  else
    found=$(_perdure_commands "$at")
    [[ -z $found ]] && found=$(_perdure_place "$at" "$place")
  fi

  case $found in
    '<none>') return 1 ;;
    '<files>') _files; return ;;
    '<folders>') _files -/; return ;;
    '<workflows>') found=$(\${(Q)words[1]} __words workflows "$PREFIX" "\${server[@]}" 2>/dev/null) ;;
    '<ids>') found=$(\${(Q)words[1]} __words ids "$PREFIX" "\${server[@]}" 2>/dev/null) ;;
  esac
  local -a names shown
  for word in \${(f)found}; do
    names+=("\${word%%$'\\t'*}")
    shown+=("\${word/$'\\t'/  -- }")
  done
  compadd -l -d shown -a names
}

if [[ $funcstack[1] == _perdure ]]; then
  _perdure "$@"
else
  compdef _perdure perdure
fi
`;
}
