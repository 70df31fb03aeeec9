/** What can be said to a run, by what its workflow declares and what it waits for. */
import type { CatalogEntry, WhyReason } from 'perdure/client';
import type { JsonSchema } from '../forms/schema.js';

export type MessageKind = 'signal' | 'query' | 'update' | 'feedback';

export interface Message {
  kind: MessageKind;
  /** Null where the person who sends it says which. */
  name: string | null;
  description: string | null;
  schema: JsonSchema | null;
  /** The run may wait for it. */
  isAwaited: boolean;
}

type Declared = Pick<CatalogEntry, 'signals' | 'queries' | 'updates'>;

/** The handlers that a run has registered and may wait with. */
export interface Awaited {
  signals: readonly string[];
  updates: readonly string[];
}

/** Signals of the service itself, by which answers to callbacks come: nobody sends them by their names. */
const OF_CALLBACKS: readonly string[] = ['perdure.callback', 'resume'];

/**
 * What a run waits with, as the reasons say why it is where it is: a wait for a message, with a time limit or without, is told
 * with the handlers it has.
 */
export function awaitedBy(reasons: readonly WhyReason[] = []): Awaited | undefined {
  for (const reason of reasons) {
    if (reason.code !== 'message' && reason.code !== 'timer') continue;
    if (reason.signals) return { signals: reason.signals, updates: reason.updates ?? [] };
  }
  return undefined;
}

/**
 * The messages that make sense for a run, those first that it waits for: they are what somebody is here for. Of closed ones,
 * questions only. A workflow need not declare the handlers that it registers.
 */
export function messagesFor(
  declared: Declared | undefined,
  isOpen: boolean,
  awaited: Awaited = { signals: [], updates: [] },
): Message[] {
  const of = (
    kind: MessageKind,
    handlers: Declared['signals'],
    registered: readonly string[] = [],
  ): Message[] => [
    ...handlers.map(({ name, description, inputSchema }) => ({
      ...{ kind, name, description: description ?? null, schema: inputSchema ?? null },
      isAwaited: registered.includes(name),
    })),
    ...registered
      .filter((name) => handlers.every((handler) => handler.name !== name))
      .map((name) => ({ kind, name, description: null, schema: null, isAwaited: true })),
  ];
  const queries = of('query', declared?.queries ?? []);
  if (!isOpen) return queries;
  const isOfCallback = (name: string) => OF_CALLBACKS.includes(name);
  const unnamed = { name: null, description: null, schema: null, isAwaited: false };
  const messages: Message[] = [
    ...of(
      'signal',
      declared?.signals ?? [],
      awaited.signals.filter((name) => !isOfCallback(name)),
    ),
    ...of('update', declared?.updates ?? [], awaited.updates),
    ...queries,
    // A workflow that declares its signals refuses all others.
    ...((declared?.signals.length ?? 0) === 0 ? [{ ...unnamed, kind: 'signal' as const }] : []),
    { ...unnamed, kind: 'feedback' as const, isAwaited: awaited.signals.some(isOfCallback) },
  ];
  return messages.toSorted((one, other) => Number(other.isAwaited) - Number(one.isAwaited));
}

const VERBS = { signal: 'Signal', query: 'Query', update: 'Update', feedback: 'Answer' };

export function messageTitle({ kind, name }: Message): string {
  if (kind === 'feedback') return 'Answer a callback';
  return name === null ? `Another ${kind}` : `${VERBS[kind]} ${name}`;
}
