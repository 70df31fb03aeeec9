/** Which runs are chosen, to act on several at once. */
import { useCallback, useMemo, useRef, useState } from 'react';
import type { Run } from './runs-page.js';

export interface Selection {
  size: number;
  runs: Run[];
  has(runId: string): boolean;
  /** With `isRange`, all from the one that was toggled last to this one. */
  toggle(runId: string, isRange: boolean): void;
  /** Those that are shown, or these. */
  all(runs?: readonly Run[]): void;
  clear(): void;
}

export function useSelection(runs: readonly Run[]): Selection {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const last = useRef<string | undefined>(undefined);
  const latest = useRef(runs);
  latest.current = runs;

  const toggle = useCallback((runId: string, isRange: boolean) => {
    const ids = latest.current.map((run) => run.runId);
    const from = last.current === undefined ? -1 : ids.indexOf(last.current);
    const to = ids.indexOf(runId);
    last.current = runId;
    setChosen((before) => {
      const next = new Set(before);
      const isOn = !before.has(runId);
      const range = isRange && from !== -1 ? ids.slice(Math.min(from, to), Math.max(from, to) + 1) : [runId];
      for (const id of range) {
        if (isOn) next.add(id);
        else next.delete(id);
      }
      return next;
    });
  }, []);

  return useMemo(() => {
    const there = runs.filter(({ runId }) => chosen.has(runId));
    return {
      size: there.length,
      runs: there,
      has: (runId) => chosen.has(runId),
      toggle,
      all: (these = latest.current) => setChosen(new Set(these.map((run) => run.runId))),
      clear: () => setChosen(new Set()),
    };
  }, [chosen, runs, toggle]);
}
