import { useSyncExternalStore } from 'react';

/** As in the style sheets. */
const narrow = matchMedia('(max-width: 820px)');

function subscribe(listener: () => void): () => void {
  narrow.addEventListener('change', listener);
  return () => narrow.removeEventListener('change', listener);
}

export const useIsNarrow = (): boolean => useSyncExternalStore(subscribe, () => narrow.matches);
