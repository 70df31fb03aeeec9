/** What the API answers, as schemas for the OpenAPI document. The tests hold every answer against them. */
import { z } from 'zod';
import { EVENT_TYPES, type EventTypeName } from '../core/event.js';
import { ATTRIBUTES_KEYS } from './events.js';
import { EndStatus, Status } from './schemas.js';

const anything = (description: string) => z.unknown().meta({ description });
const IsoTime = z.string().meta({ format: 'date-time' });
const EpochMs = z.int().meta({ description: 'Epoch milliseconds.' });
const Uuid = z.string().meta({ format: 'uuid' });
const JsonSchema = z.record(z.string(), z.unknown()).meta({ description: 'JSON Schema 2020-12.' });

export const RunRefAnswer = z
  .object({ workflowId: z.string(), runId: Uuid })
  .meta({ id: 'RunRef', description: 'One run of a workflow.' });

export const TerminatedAnswer = RunRefAnswer.extend({ terminated: z.literal(true) }).meta({
  id: 'Terminated',
});

const SerializedWorkflowError = z
  .looseObject({
    name: z.string().meta({ description: 'Class name of the original error.' }),
    message: z.string(),
    activityType: z.string().optional().meta({ description: '`workflow#step`, when a step failed.' }),
    get cause() {
      return SerializedWorkflowError.optional();
    },
  })
  .meta({
    id: 'SerializedWorkflowError',
    description: 'An error of user code, with its other own properties such as `code`.',
  });

const TraceInfo = z
  .object({ local: z.string().optional(), remote: z.string().optional() })
  .meta({ id: 'TraceInfo', description: 'Where the trace has been saved.' });

const resultFields = {
  workflowId: z.string(),
  runId: Uuid.nullable(),
  status: EndStatus,
  input: anything('What the workflow was started with; null if unavailable.'),
  output: anything('What the workflow returned; null on failure or when there is nothing.'),
};

const CurrentResult = z
  .strictObject({
    v: z.literal('2'),
    ...resultFields,
    trace: TraceInfo.nullable(),
    error: SerializedWorkflowError.nullable(),
  })
  .meta({ id: 'WorkflowResult' });

const LegacyCause = z
  .looseObject({
    name: z.string(),
    message: z.string(),
    get cause() {
      return LegacyCause.optional();
    },
  })
  .meta({ id: 'LegacyErrorCause' });

const LegacyResult = z
  .strictObject({
    ...resultFields,
    trace: z.strictObject({ destinations: TraceInfo }).nullable(),
    error: z.string().nullable(),
    errorDetails: z
      .object({
        message: z.string().nullable(),
        name: z.string().nullable(),
        retryable: z.boolean().nullable(),
        activityId: z.string().nullable(),
        cause: LegacyCause.nullable(),
      })
      .nullable(),
  })
  .meta({ id: 'LegacyWorkflowResult', deprecated: true });

export const ResultAnswer = z.union([CurrentResult, LegacyResult]);

const runFields = {
  workflowId: z.string(),
  runId: Uuid,
  workflowType: z.string(),
  catalog: z.string(),
  status: Status,
  startedAt: EpochMs,
  completedAt: EpochMs.nullable(),
};

export const StatusAnswer = z
  .object({
    ...runFields,
    historyLength: z.int(),
    heldBack: z
      .object({ reason: z.string(), since: IsoTime })
      .optional()
      .meta({ description: 'Why the run does not go on although it could: its last turn failed.' }),
  })
  .meta({ id: 'StatusRecord' });

export const ListAnswer = z
  .object({
    runs: z.array(
      z
        .object({ ...runFields, startedAt: IsoTime, completedAt: IsoTime.nullable() })
        .meta({ id: 'RunListEntry' }),
    ),
    count: z.int().meta({ description: 'How many runs this answer has.' }),
    nextCursor: z.string().nullable(),
  })
  .meta({ id: 'RunList' });

export const InputAnswer = z
  .object({ workflowId: z.string(), runId: Uuid, input: anything('As it was given; null for none.') })
  .meta({ id: 'WorkflowInput' });

const HandlerEntry = z
  .object({
    name: z.string(),
    description: z.string().optional(),
    inputSchema: JsonSchema.optional(),
    outputSchema: JsonSchema.optional(),
  })
  .meta({ id: 'HandlerEntry' });

const schemas = { inputSchema: JsonSchema.nullable(), outputSchema: JsonSchema.nullable() };

const CatalogEntry = z
  .object({
    name: z.string(),
    description: z.string().nullable(),
    path: z.string(),
    ...schemas,
    aliases: z.array(z.string()),
    steps: z.array(
      z
        .object({ name: z.string(), description: z.string().nullable(), ...schemas })
        .meta({ id: 'StepEntry' }),
    ),
    signals: z.array(HandlerEntry),
    queries: z.array(HandlerEntry),
    updates: z.array(HandlerEntry),
  })
  .meta({ id: 'CatalogEntry' });

export const CatalogAnswer = z
  .object({ catalog: z.string(), workflows: z.array(CatalogEntry) })
  .meta({ id: 'Catalog' });

export const MetadataAnswer = z
  .object({
    workflowId: z.string(),
    runId: Uuid,
    status: Status,
    startTime: IsoTime,
    closeTime: IsoTime.nullable(),
    historyLength: z.int(),
    taskQueue: z.string(),
  })
  .meta({ id: 'WorkflowMetadata' });

const EVENT_NAMES = Object.keys(EVENT_TYPES) as [EventTypeName, ...EventTypeName[]];
const EventAttributes = z.record(z.string(), z.unknown()).optional();

export const HistoryEventAnswer = z
  .object({
    eventId: z
      .string()
      .regex(/^[1-9][0-9]*$/)
      .meta({ description: 'Dense from 1.' }),
    eventType: z.int().meta({ description: "The number in Temporal's EventType enum." }),
    eventTypeName: z.enum(EVENT_NAMES),
    eventTime: IsoTime,
    ...Object.fromEntries(EVENT_NAMES.map((name) => [ATTRIBUTES_KEYS[name], EventAttributes])),
  })
  .meta({ id: 'HistoryEvent', description: 'Has the attributes of its type, and no others.' });

export const HistoryAnswer = z
  .object({
    workflow: MetadataAnswer.nullable().meta({ description: 'On the first page and on every long poll.' }),
    events: z.array(HistoryEventAnswer),
    runId: Uuid,
    nextPageToken: z.string().nullable(),
  })
  .meta({ id: 'HistoryPage' });

export const HandlerAnswer = anything('What the handler returned, as JSON; null for nothing.');
