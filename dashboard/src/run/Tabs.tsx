import { type KeyboardEvent, useEffect, useRef } from 'react';
import { TABS, type Tab } from './search.js';

const NAMES: Record<Tab, string> = {
  timeline: 'Timeline',
  steps: 'Steps',
  events: 'Events',
  data: 'Input and output',
  related: 'Related',
};

/** Arrow keys move between them. */
export function Tabs({
  chosen,
  onChoose,
  counts,
}: {
  chosen: Tab;
  onChoose: (tab: Tab) => void;
  counts: Partial<Record<Tab, number>>;
}) {
  const list = useRef<HTMLDivElement>(null);
  // On a narrow screen not all of them are to be seen.
  useEffect(() => {
    const tab = list.current!.querySelector(`#tab-${chosen}`)!;
    tab.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [chosen]);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = TABS[(TABS.indexOf(chosen) + step + TABS.length) % TABS.length]!;
    onChoose(next);
    list.current!.querySelector<HTMLElement>(`#tab-${next}`)!.focus();
  };
  return (
    <div
      className="tabs"
      role="tablist"
      aria-label="What is shown of the run"
      ref={list}
      onKeyDown={onKeyDown}
    >
      {TABS.map((tab) => (
        <button
          key={tab}
          type="button"
          role="tab"
          id={`tab-${tab}`}
          aria-selected={tab === chosen}
          aria-controls={tab === chosen ? 'run-view' : undefined}
          tabIndex={tab === chosen ? 0 : -1}
          onClick={() => onChoose(tab)}
        >
          {NAMES[tab]}
          {counts[tab] !== undefined && (
            <span className="tab-count">{counts[tab]!.toLocaleString('en')}</span>
          )}
        </button>
      ))}
    </div>
  );
}
