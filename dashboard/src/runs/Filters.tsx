/** What the list is narrowed to. All of it stands in the address, so that a view can be kept and shared. */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { catalogQuery } from '../app/queries.js';
import { zone } from '../app/settings.js';
import { useStore } from '../app/store.js';
import { Button } from '../components/Button.js';
import { STATE_NAMES } from '../components/state.js';
import { RANGES, type Range, type RunsSearch, STATUSES } from './search.js';

/** While somebody types, every letter would be a call. */
const TYPING_MS = 250;

interface Props {
  search: RunsSearch;
  onChange(next: RunsSearch): void;
}

/** `catalogs` are those of the runs that are shown. */
export function Filters({ search, onChange, catalogs }: Props & { catalogs: readonly string[] }) {
  const { data: catalog } = useQuery(catalogQuery(search.catalog));
  const names = new Set(catalog?.workflows.map(({ name }) => name));
  if (search.workflow) names.add(search.workflow);
  const isFiltered = Object.values(search).some((value) => value !== undefined);
  return (
    <search className="filters">
      <select
        className="select"
        aria-label="Workflow"
        value={search.workflow ?? ''}
        onChange={(event) => onChange({ ...search, workflow: event.target.value || undefined })}
      >
        <option value="">All workflows</option>
        {[...names].sort().map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <CatalogFilter {...{ search, onChange, catalogs }} />
      <select
        className="select"
        aria-label="State"
        value={search.state ?? ''}
        onChange={(event) => {
          onChange({ ...search, state: (event.target.value || undefined) as RunsSearch['state'] });
        }}
      >
        <option value="">All states</option>
        {STATUSES.map((status) => (
          <option key={status} value={status}>
            {STATE_NAMES[status]}
          </option>
        ))}
        <option value="paused">Paused</option>
        <option value="heldBack">Held back</option>
      </select>
      <IdFilter search={search} onChange={onChange} />
      <TimeFilter search={search} onChange={onChange} />
      {isFiltered && (
        <Button look="quiet" icon="close" onClick={() => onChange({})}>
          Clear
        </Button>
      )}
    </search>
  );
}

/** Where there is only one catalog, nobody has to know the word. */
function CatalogFilter({ search, onChange, catalogs }: Props & { catalogs: readonly string[] }) {
  // Those that were shown once stay a choice while the filter leaves them out.
  const seen = useRef(new Set<string>());
  for (const name of catalogs) seen.current.add(name);
  if (search.catalog) seen.current.add(search.catalog);
  if (seen.current.size < 2 && search.catalog === undefined) return null;
  return (
    <select
      className="select"
      aria-label="Catalog"
      value={search.catalog ?? ''}
      onChange={(event) => onChange({ ...search, catalog: event.target.value || undefined })}
    >
      <option value="">All catalogs</option>
      {[...seen.current].sort().map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
}

function IdFilter({ search, onChange }: Props) {
  const [text, setText] = useState(search.id ?? '');
  const told = useRef(search.id);
  // What this field has not said comes from elsewhere, such as from going back.
  useEffect(() => {
    if (search.id === told.current) return;
    told.current = search.id;
    setText(search.id ?? '');
  }, [search.id]);
  useEffect(() => {
    // An id may begin with a space: what a link says is taken as it is.
    if (text === (search.id ?? '')) return;
    const id = text.trim() || undefined;
    if (id === search.id) return;
    const timer = setTimeout(() => {
      told.current = id;
      onChange({ ...search, id });
    }, TYPING_MS);
    return () => clearTimeout(timer);
  });
  return (
    <input
      className="input filter-id"
      type="search"
      aria-label="Id, or how it begins"
      placeholder="Id, or how it begins"
      spellCheck={false}
      value={text}
      onChange={(event) => setText(event.target.value)}
    />
  );
}

function TimeFilter({ search, onChange }: Props) {
  const isOwn = search.from !== undefined || search.to !== undefined;
  const [isChosen, setIsChosen] = useState(isOwn);
  const isOpen = isOwn || isChosen;
  const isFiltered = Object.values(search).some((value) => value !== undefined);
  // When all filters are cleared, so is this one; but a field stays while somebody is in it and has taken back what it said.
  useEffect(() => {
    if (!isFiltered && !document.activeElement?.matches(`[type=${INSTANT}]`)) setIsChosen(false);
  }, [isFiltered]);
  const choose = (value: string) => {
    const { from: _from, to: _to, since: _since, ...rest } = search;
    setIsChosen(value === 'own');
    if (value === 'own') return;
    onChange({ ...rest, since: (value || undefined) as Range | undefined });
  };
  return (
    <>
      <select
        className="select"
        aria-label="Started"
        value={isOpen ? 'own' : (search.since ?? '')}
        onChange={(event) => choose(event.target.value)}
      >
        <option value="">Any time</option>
        {Object.entries(RANGES).map(([name, { label }]) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
        <option value="own">From … to …</option>
      </select>
      {isOpen && (
        <>
          <Instant
            label="Started after"
            value={search.from}
            onChange={(from) => onChange(between(search, { from }))}
          />
          <Instant
            label="Started before"
            value={search.to}
            onChange={(to) => onChange(between(search, { to }))}
          />
        </>
      )}
    </>
  );
}

const INSTANT = 'datetime-local';

const between = ({ since: _since, ...rest }: RunsSearch, change: RunsSearch): RunsSearch => ({
  ...rest,
  ...change,
});

function Instant({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string | undefined;
  onChange(value: string | undefined): void;
}) {
  const inZone = useStore(zone);
  // As it was typed until the field is left: on its way to 2026 the year is 2, which is another time of day in most zones.
  const [draft, setDraft] = useState<string>();
  return (
    <input
      className="input"
      type={INSTANT}
      aria-label={`${label}, ${inZone === 'utc' ? 'UTC' : 'local time'}`}
      value={draft ?? (value === undefined ? '' : toField(value, inZone === 'utc'))}
      onBlur={() => setDraft(undefined)}
      onChange={({ target }) => {
        setDraft(target.value);
        const at = new Date(inZone === 'utc' ? `${target.value}Z` : target.value);
        onChange(Number.isNaN(at.getTime()) ? undefined : at.toISOString());
      }}
    />
  );
}

function toField(iso: string, isUtc: boolean): string {
  const at = new Date(iso);
  const shown = isUtc ? at : new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return shown.toISOString().slice(0, 16);
}
