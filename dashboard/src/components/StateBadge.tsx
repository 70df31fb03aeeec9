import { Icon } from './Icon.js';
import { type RunState, STATE_NAMES } from './state.js';

/** Sign, word and colour of a state; the word can be left to screen readers where there is no room. */
export function StateBadge({ state, isShort = false }: { state: RunState; isShort?: boolean }) {
  return (
    <span className={`state state-${state}`} title={isShort ? STATE_NAMES[state] : undefined}>
      <Icon name={state} />
      <span className={isShort ? 'unseen' : undefined}>{STATE_NAMES[state]}</span>
    </span>
  );
}
