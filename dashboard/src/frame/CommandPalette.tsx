/** Jumps to a run, a workflow or a view: type, choose with the arrow keys, Enter. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, useDeferredValue, useId, useLayoutEffect, useRef, useState } from 'react';
import { client } from '../app/api.js';
import { catalogQuery } from '../app/queries.js';
import { Icon, type IconName } from '../components/Icon.js';
import { legible } from '../components/legible.js';
import { stateOf } from '../components/state.js';

interface Entry {
  key: string;
  label: string;
  hint: string;
  icon: IconName;
  go(): void;
}

const SHOWN_RUNS = 8;
const SHOWN_WORKFLOWS = 8;
const NONE = { runs: [], nextCursor: null };

export function CommandPalette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  const entries = useEntries(useDeferredValue(text.trim()));
  const chosen = Math.min(at, Math.max(0, entries.length - 1));

  // Closed before it is taken off the page: only then does the browser give the focus back.
  useLayoutEffect(() => {
    const element = dialog.current!;
    if (!element.open) element.showModal();
    return () => element.close();
  }, []);

  const choose = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    entry.go();
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && entries.length > 0) {
      event.preventDefault();
      setAt((chosen + step + entries.length) % entries.length);
    }
    if (event.key === 'Enter') choose(entries[chosen]);
  };

  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: with keys it is left by Escape, which `onCancel` hears
    <dialog
      ref={dialog}
      className="palette"
      aria-label="Jump to"
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <div className="palette-field">
        <Icon name="search" />
        <input
          autoFocus
          role="combobox"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={entries[chosen] ? `${id}-${chosen}` : undefined}
          aria-label="A run's id or how it begins, a workflow, a view"
          placeholder="A run's id or how it begins, a workflow, a view"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setAt(0);
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <div role="listbox" id={id} aria-label="What fits" className="palette-list">
        {entries.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/useFocusableInteractive: the field has the keys
          <div
            key={entry.key}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === chosen}
            className="palette-entry"
            ref={(element) => {
              if (index === chosen) element?.scrollIntoView({ block: 'nearest' });
            }}
            onClick={() => choose(entry)}
          >
            <Icon name={entry.icon} />
            <span className="cut">{legible(entry.label)}</span>
            <span className="muted cut">{entry.hint}</span>
          </div>
        ))}
      </div>
      {entries.length === 0 && (
        <p className="palette-none muted">Nothing fits. Ids are matched from their beginning.</p>
      )}
    </dialog>
  );
}

function useEntries(text: string): Entry[] {
  const navigate = useNavigate();
  const { data: catalog } = useQuery(catalogQuery());
  const { data: { runs, nextCursor } = NONE } = useQuery({
    queryKey: ['palette', text],
    queryFn: ({ signal }) => {
      const filter = text === '' ? {} : { workflowIdPrefix: text };
      return client.runsPage({ ...filter, limit: SHOWN_RUNS, signal });
    },
    placeholderData: (before) => before,
  });
  const small = text.toLowerCase();
  const fits = (label: string) => label.toLowerCase().includes(small);

  const views: Entry[] = (
    [
      ['Runs', '/runs', 'list'],
      ['Start a workflow', '/start', 'plus'],
      ['Catalog', '/catalog', 'grid'],
      ['Workers', '/workers', 'worker'],
      ['Compare two runs', '/compare', 'compare'],
    ] as const
  )
    .filter(([label]) => fits(label))
    .map(([label, to, icon]) => ({ key: to, label, hint: 'View', icon, go: () => void navigate({ to }) }));

  const found: Entry[] = runs
    .filter(({ workflowId }) => workflowId.startsWith(text))
    .map((run) => ({
      key: run.runId,
      label: run.workflowId,
      hint: run.workflowType,
      icon: stateOf(run),
      go: () =>
        void navigate({
          to: '/runs/$workflowId/$runId',
          params: { workflowId: run.workflowId, runId: run.runId },
        }),
    }));

  const further: Entry[] =
    nextCursor === null || text === ''
      ? []
      : [
          {
            key: 'more runs',
            label: `All runs whose id begins with ${text}`,
            hint: 'There are more',
            icon: 'list',
            go: () => void navigate({ to: '/runs', search: { id: text } }),
          },
        ];

  const fitting = (catalog?.workflows ?? []).filter(({ name, aliases }) => [name, ...aliases].some(fits));
  const workflows: Entry[] = fitting.slice(0, SHOWN_WORKFLOWS).flatMap(({ name }): Entry[] => [
    {
      key: `runs of ${name}`,
      label: name,
      hint: 'Runs of the workflow',
      icon: 'list',
      go: () => void navigate({ to: '/runs', search: { workflow: name } }),
    },
    {
      key: `start ${name}`,
      label: `Start ${name}`,
      hint: 'Workflow',
      icon: 'plus',
      go: () => void navigate({ to: '/start', search: { workflow: name } }),
    },
  ]);
  if (fitting.length > SHOWN_WORKFLOWS)
    workflows.push({
      key: 'more workflows',
      label: 'All workflows',
      hint: `${fitting.length} fit`,
      icon: 'grid',
      go: () => void navigate({ to: '/catalog' }),
    });
  return [...found, ...further, ...workflows, ...views];
}
