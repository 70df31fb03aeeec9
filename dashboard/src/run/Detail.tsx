/** What was clicked, at the right of it: a step with what it was given and returned, or one event as it is recorded. */
import { Link } from '@tanstack/react-router';
import type { HistoryEvent, StatusRecord } from 'perdure/client';
import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react';
import { Button, IconButton } from '../components/Button.js';
import { ErrorNote } from '../components/ErrorNote.js';
import { Icon } from '../components/Icon.js';
import { JsonTree } from '../components/JsonTree.js';
import { Loading } from '../components/Loading.js';
import { legible } from '../components/legible.js';
import { Time, Took } from '../components/Time.js';
import { ResetDialog } from './dialogs/ResetDialog.js';
import { eventName } from './EventsView.js';
import { Failure, fromEvent } from './Failure.js';
import type { Shown } from './history.js';
import { type Item, itemName, KINDS, stateClass, stateIcon, stateName } from './items.js';
import { attributesOf, seconds } from './model.js';
import { usePayload, useStepsUnderWay } from './queries.js';
import { asOfNow } from './under-way.js';

interface Props {
  run: StatusRecord;
  history: Shown;
  id: string;
  /** The event itself rather than the step or timer that begins with it. */
  isEvent: boolean;
  onClose(): void;
}

export function Detail({ run, history, id, isEvent, onClose }: Props) {
  const event = history.events[Number(id) - 1];
  const item = isEvent ? undefined : history.model.byId.get(id);
  const isRead = history.version > 0 && history.version >= history.expected;
  const panel = useRef<HTMLElement>(null);
  const close = useCallback(() => {
    // Whoever was in it goes on where it was opened.
    if (panel.current!.contains(document.activeElement)) focusWhatOpened(id);
    onClose();
  }, [id, onClose]);
  useEffect(() => {
    const onKeyDown = (pressed: KeyboardEvent) => {
      if (pressed.key === 'Escape' && !document.querySelector('dialog[open]')) close();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [close]);
  const title = item ? itemName(item) : event ? eventName(event) : `Event ${legible(id)}`;
  return (
    <aside className="detail" aria-label={`Detail of ${title}`} ref={panel}>
      <header className="detail-head">
        <h2 className="cut" title={title}>
          {item && <Icon name={KINDS[item.kind].icon} />} {title}
        </h2>
        <IconButton label="Close the detail" icon="close" onClick={close} />
      </header>
      <div className="detail-body">
        {item ? (
          <ItemDetail run={run} item={item} history={history} />
        ) : event ? (
          <EventDetail run={run} event={event} />
        ) : isRead ? (
          <p className="muted">This run has no event {legible(id)}. The link may be of another run.</p>
        ) : (
          <Loading what="the event" />
        )}
      </div>
    </aside>
  );
}

function focusWhatOpened(id: string): void {
  const row = document.querySelector<HTMLElement>(`[data-item="${id}"], [data-event="${id}"]`);
  (row ?? document.getElementById('view'))?.focus({ preventScroll: row === null });
}

function Facts({ children }: { children: ReactNode }) {
  return <dl className="facts">{children}</dl>;
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function ItemDetail({ run, item: told, history }: { run: StatusRecord; item: Item; history: Shown }) {
  const item = asOfNow(told, useStepsUnderWay(run));
  const { underWay } = item;
  const [isResetting, setIsResetting] = useState(false);
  const { kind, state, from, startedAt, to, attempt, execution, firesAt } = item;
  const attributes = attributesOf(history.events[Number(item.id) - 1]!);
  const policy = attributes.retryPolicy as { maximumAttempts?: number } | undefined;
  const limit = policy?.maximumAttempts ? ` of ${policy.maximumAttempts}` : '';
  return (
    <>
      <Facts>
        <Fact name="State">
          <span className={`state ${stateClass(state)}`}>
            <Icon name={stateIcon(item)} />
            {stateName(item)}
          </span>
        </Fact>
        {kind === 'step' && (startedAt !== null || attempt > 1) && (
          <Fact name={underWay?.code === 'stepBackingOff' ? 'Next attempt' : 'Attempt'}>
            {attempt}
            {limit}
          </Fact>
        )}
        <Fact name={kind === 'step' ? 'Scheduled' : 'At'}>
          <Time at={from} isExact />
        </Fact>
        {kind === 'step' && startedAt !== null && startedAt > from && (
          <Fact name={attempt > 1 ? 'Attempts before' : 'Waited'}>
            <Took from={from} to={startedAt} />
          </Fact>
        )}
        {startedAt !== null && to !== from && (
          <Fact name={to === null ? 'So far' : 'Took'}>
            <Took from={startedAt} to={to} />
          </Fact>
        )}
        {underWay?.code === 'stepBackingOff' && (
          <Fact name="Begins">
            <Time at={underWay.nextAttemptAt} isExact />
          </Fact>
        )}
        {underWay?.code === 'stepRunning' && underWay.worker && (
          <Fact name="Worker">
            <code>{underWay.worker}</code>
          </Fact>
        )}
        {underWay?.code === 'stepRunning' && underWay.lastHeartbeatAt && (
          <Fact name="Last heartbeat">
            <Time at={underWay.lastHeartbeatAt} />
          </Fact>
        )}
        {firesAt !== null && (
          <Fact name={to === null ? 'Fires' : 'Was to fire'}>
            <Time at={firesAt} isExact />
          </Fact>
        )}
        {attributes.startToCloseTimeout !== undefined && (
          <Fact name="May take">
            <Took from={0} to={seconds(attributes.startToCloseTimeout)} />
          </Fact>
        )}
        {execution?.runId && (
          <Fact name="Run">
            <Link
              to="/runs/$workflowId/$runId"
              params={{ workflowId: execution.workflowId, runId: execution.runId }}
              className="mono"
            >
              {legible(execution.workflowId)}
            </Link>
          </Fact>
        )}
      </Facts>
      {kind === 'step' && state === 'completed' && (
        <div className="line">
          <Button icon="reset" onClick={() => setIsResetting(true)}>
            Reset to after this step…
          </Button>
        </div>
      )}
      {isResetting && <ResetDialog run={run} step={item} onClose={() => setIsResetting(false)} />}
      {kind !== 'timer' && kind !== 'pause' && kind !== 'mark' && (
        <Payload run={run} eventId={item.id} what="In" />
      )}
      {item.endId !== null && kind !== 'timer' && kind !== 'pause' && (
        <Payload run={run} eventId={item.endId} what="Out" />
      )}
      {underWay?.code === 'stepBackingOff' && (
        <section className="stack">
          <h3>The last error</h3>
          <Failure error={underWay.lastError} />
        </section>
      )}
      {kind === 'step' && item.endId === null && (
        <p className="muted">
          {state === 'left'
            ? 'The run ended before it did.'
            : 'It has not ended. What it returns will stand here.'}
        </p>
      )}
    </>
  );
}

/** What user code gave to or got from one event. */
function Payload({ run, eventId, what }: { run: StatusRecord; eventId: string; what: 'In' | 'Out' }) {
  const { data, error, refetch } = usePayload(run, eventId);
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading what={what === 'In' ? 'what it was given' : 'what it returned'} />;
  const { input, result, failure } = attributesOf(data) as {
    input?: unknown[];
    result?: unknown[];
    failure?: Parameters<typeof fromEvent>[0];
  };
  if (failure) {
    return (
      <section className="stack">
        <h3>Error</h3>
        <Failure error={fromEvent(failure)} />
      </section>
    );
  }
  const values = what === 'In' ? input : result;
  if (!values) return null;
  return (
    <section className="stack">
      <h3>{what}</h3>
      {values.length === 0 ? (
        <p className="muted">Nothing</p>
      ) : (
        <JsonTree value={values.length === 1 ? values[0] : values} label={what.toLowerCase()} />
      )}
    </section>
  );
}

/** As it is recorded, with payloads. */
function EventDetail({ run, event }: { run: StatusRecord; event: HistoryEvent }) {
  const { data, error, refetch } = usePayload(run, event.eventId);
  const { failure, ...attributes } = attributesOf(data ?? event) as Record<string, unknown>;
  return (
    <>
      <Facts>
        <Fact name="Event">{event.eventId}</Fact>
        <Fact name="Type">
          <code>{event.eventTypeName}</code>
        </Fact>
        <Fact name="At">
          <Time at={event.eventTime} isExact />
        </Fact>
      </Facts>
      {failure !== undefined && <Failure error={fromEvent(failure as Parameters<typeof fromEvent>[0])} />}
      <section className="stack">
        <h3>Attributes</h3>
        <JsonTree value={attributes} label="attributes" />
      </section>
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading what="payloads" />}
    </>
  );
}
