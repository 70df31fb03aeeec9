/**
 * The bodies of the API, as types. They are taken from the schemas that the server validates and documents with, so
 * the two cannot drift; nothing of those schemas is left in the client at run time.
 */
import type { z } from 'zod';
import type { EventTypeName } from '../core/history/event.js';
import type {
  BudgetAnswer,
  CatalogAnswer,
  CostAnswer,
  CurrentResult,
  HistoryAnswer,
  InputAnswer,
  LegacyResult,
  ListAnswer,
  MetadataAnswer,
  RunRefAnswer,
  SerializedWorkflowError as SerializedErrorAnswer,
  StatusAnswer,
  StoppedAnswer,
  TerminatedAnswer,
  WorkersAnswer,
} from '../http/wire/answers.js';
import type { CostQuery, HistoryQuery, ListQuery } from '../http/wire/schemas.js';
import type { WhyAnswer } from '../http/wire/why-answer.js';

export type RunRef = z.output<typeof RunRefAnswer>;
/** `status` says what the run was when it was asked to stop. */
export type Stopped = z.output<typeof StoppedAnswer>;
export type Terminated = z.output<typeof TerminatedAnswer>;
export type StatusRecord = z.output<typeof StatusAnswer>;
export type RunStatus = StatusRecord['status'];
export type ClosedStatus = Exclude<RunStatus, 'running'>;
export type RunPage = z.output<typeof ListAnswer>;
export type RunListEntry = RunPage['runs'][number];
/** Why a run is where it is: `reasons` is never empty, and each says by its `code` what else it has. */
export type Why = z.output<typeof WhyAnswer>;
export type WhyReason = Why['reasons'][number];
export type Costs = z.output<typeof CostAnswer>;
export type CostRecord = Costs['records'][number];
export type RunBudget = z.output<typeof BudgetAnswer>;
export type CostPageQuery = Partial<z.output<typeof CostQuery>>;
export type WorkflowInput = z.output<typeof InputAnswer>;
export type WorkflowMetadata = z.output<typeof MetadataAnswer>;
export type Catalog = z.output<typeof CatalogAnswer>;
export type Workers = z.output<typeof WorkersAnswer>;
export type CatalogEntry = Catalog['workflows'][number];
/** The error of a run as the API gives it: name, message, causes, and the original's own properties. */
export type SerializedWorkflowError = z.output<typeof SerializedErrorAnswer>;
export type WorkflowResult = z.output<typeof CurrentResult>;
export type LegacyWorkflowResult = z.output<typeof LegacyResult>;

/** Instants may be given as a `Date` as well, and what is on or off as `true`. */
type Filterable<Query> = {
  [K in keyof Query]: K extends 'startedAfter' | 'startedBefore'
    ? Query[K] | Date
    : 'true' extends Query[K]
      ? K extends 'heldBack' | 'paused' | 'why'
        ? Query[K] | true
        : Query[K]
      : Query[K];
};
/** Which runs: all conditions must hold. */
export type RunFilter = Filterable<Partial<Omit<z.output<typeof ListQuery>, 'limit' | 'cursor'>>>;
export type RunPageQuery = RunFilter & Partial<Pick<z.output<typeof ListQuery>, 'limit' | 'cursor'>>;
export type HistoryPageQuery = Partial<z.output<typeof HistoryQuery>>;

type CamelCase<Text extends string> = Text extends `${infer Head}_${infer Tail}`
  ? `${Lowercase<Head>}${Capitalize<CamelCase<Tail>>}`
  : Lowercase<Text>;

/** Where an event of that type has its attributes, such as `timerFiredEventAttributes`. */
export type AttributesKey<Name extends EventTypeName> = `${CamelCase<Name>}EventAttributes`;

type EventOf<Name extends EventTypeName> = {
  /** A decimal number; events of a run are numbered densely from 1. */
  eventId: string;
  /** The number in Temporal's EventType enum. */
  eventType: number;
  eventTypeName: Name;
  /** ISO 8601. */
  eventTime: string;
} & { [K in AttributesKey<Name>]: Record<string, unknown> };

/** One event of a run's history. Its `eventTypeName` says which attributes it has. */
export type HistoryEvent = { [Name in EventTypeName]: EventOf<Name> }[EventTypeName];
export type HistoryPage = Omit<z.output<typeof HistoryAnswer>, 'events'> & { events: HistoryEvent[] };

/** The trace of a closed run: as it is in the object store, or where its file is on the server's machine. */
export type TraceLog =
  | { source: 'remote'; runId: string; data: Record<string, unknown> }
  | { source: 'local'; runId: string; localPath: string; data?: Record<string, unknown> };

export type Readiness = { status: 'ready' } | { status: 'unavailable'; reason: string };
export interface StreamTicket {
  ticket: string;
  /** ISO 8601. */
  expiresAt: string;
}
