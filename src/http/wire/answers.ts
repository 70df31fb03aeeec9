/** What the API answers, as schemas for the OpenAPI document. The tests hold every answer against them. */
import { z } from 'zod';
import { EVENT_TYPES, type EventTypeName } from '../../core/history/event.js';
import { ATTRIBUTES_KEYS } from './events.js';
import { EndStatus, Status } from './schemas.js';

const anything = (description: string) => z.unknown().meta({ description });
export const IsoTime = z.string().meta({ format: 'date-time' });
const EpochMs = z.int().meta({ description: 'Epoch milliseconds.' });
export const Uuid = z.string().meta({ format: 'uuid' });
const JsonSchema = z.record(z.string(), z.unknown()).meta({ description: 'JSON Schema 2020-12.' });

export const RunRefAnswer = z
  .object({ workflowId: z.string(), runId: Uuid })
  .meta({ id: 'RunRef', description: 'One run of a workflow.' });

export const StoppedAnswer = RunRefAnswer.extend({ status: Status }).meta({ id: 'Stopped' });

export const TerminatedAnswer = RunRefAnswer.extend({ terminated: z.literal(true) }).meta({
  id: 'Terminated',
});

export const SerializedWorkflowError = z
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

export const CurrentResult = z
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

export const LegacyResult = z
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

const heldBack = z
  .object({ reason: z.string(), since: IsoTime })
  .optional()
  .meta({ description: 'Why the run does not go on: no connected code can make its next turn.' });

export const PausedBy = z
  .enum(['operator', 'budget'])
  .meta({ id: 'PausedBy', description: 'Whoever operates the service, or the budget of the run.' });

const paused = z
  .object({ reason: z.string(), since: IsoTime, by: PausedBy })
  .optional()
  .meta({ description: 'While the run is paused: nothing new of it is started.' });

const CodeVersion = z
  .object({
    id: z.string().meta({ description: 'A hash of the code.' }),
    name: z.string().nullable().meta({ description: 'What its operator calls it (`--version-name`).' }),
  })
  .meta({ id: 'CodeVersion' });

export const StatusAnswer = z
  .object({
    ...runFields,
    historyLength: z.int(),
    heldBack,
    paused,
    version: CodeVersion.optional().meta({
      description: 'The code that made its last turn; absent before the first.',
    }),
  })
  .meta({ id: 'StatusRecord' });

const summary = z.string().nullable().optional().meta({
  description:
    'With `why=true`: why it is where it is, in a sentence; null where that could not be found out in time.',
});

export const ListAnswer = z
  .object({
    runs: z.array(
      z
        .object({
          ...runFields,
          startedAt: IsoTime,
          completedAt: IsoTime.nullable(),
          heldBack,
          paused,
          summary,
        })
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

const Accepted = z
  .object({
    schema: JsonSchema.optional().meta({ description: 'Where it is wider than the published one.' }),
    orNothing: z.literal(true).optional().meta({ description: 'A message without a payload is taken too.' }),
  })
  .meta({ id: 'Accepted' });

const acceptedByName = z.record(z.string(), Accepted).optional();

const AcceptedInputs = z
  .object({
    input: Accepted.optional(),
    signals: acceptedByName,
    queries: acceptedByName,
    updates: acceptedByName,
  })
  .meta({
    id: 'AcceptedInputs',
    description:
      'By what values are refused before a worker has seen them. The schemas of the entry say what is expected; parsers that coerce or preprocess take more. What is not named here only the worker can tell.',
  });

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
    accepts: AcceptedInputs.optional(),
    version: CodeVersion.optional().meta({ description: 'The code that it was registered with.' }),
  })
  .meta({ id: 'CatalogEntry' });

export const CatalogAnswer = z
  .object({ catalog: z.string(), workflows: z.array(CatalogEntry) })
  .meta({ id: 'Catalog' });

const SlotsInUse = z.object({ running: z.int(), slots: z.int() }).meta({ id: 'SlotsInUse' });

export const WorkersAnswer = z
  .object({
    workers: z.array(
      z
        .object({
          id: z.string(),
          catalog: z.string(),
          host: z.string().nullable(),
          pid: z.int().nullable(),
          connectedAt: IsoTime.nullable(),
          lastSeenAt: IsoTime,
          workflows: z.array(z.string()).nullable(),
          turns: SlotsInUse.nullable(),
          steps: SlotsInUse.nullable(),
          version: CodeVersion.nullable(),
          state: z.enum(['working', 'standingBy', 'draining', 'blocked']).nullable().meta({
            description:
              'Whether it takes tasks, stands by for when another one is lost, takes no more, or is kept from answering by user code.',
          }),
        })
        .meta({ id: 'Worker' }),
    ),
    catalogs: z.array(z.string()).meta({
      description: 'Every catalog that was ever registered, those that no worker serves any more among them.',
    }),
  })
  .meta({ id: 'Workers', description: 'Null where the engine does not know.' });

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

const Decimal = z.string().meta({ description: 'An exact decimal, such as `0.00125`.' });
const Totals = z.array(z.object({ currency: z.string(), amount: Decimal }).meta({ id: 'CostTotal' }));
const Usage = z
  .record(z.string(), z.number())
  .meta({ description: 'Counts by their names, such as `inputTokens`.' });

const CostRecordAnswer = z
  .object({
    at: IsoTime,
    workflowId: z.string(),
    runId: Uuid,
    stepName: z.string(),
    activityId: z.string(),
    attempt: z.int(),
    kind: z.string(),
    label: z.string().nullable(),
    currency: z.string(),
    amount: Decimal,
    usage: Usage,
  })
  .meta({ id: 'CostRecord', description: 'What a step has said that it spent.' });

const BudgetState = z
  .object({
    amount: Decimal,
    currency: z.string(),
    spent: Decimal.meta({ description: 'In its currency, by all runs that it covers.' }),
    isExceeded: z.boolean().meta({ description: 'All of it is spent, so no further step is started.' }),
    overshoot: Decimal.meta({
      description: 'How much more was spent than there was, by steps that were under way when it was met.',
    }),
  })
  .meta({ id: 'BudgetState' });

export const CostAnswer = z
  .object({
    workflowId: z.string(),
    runId: Uuid,
    scope: z.enum(['run', 'chain', 'tree']),
    totals: Totals,
    usage: Usage,
    bySteps: z.array(
      z
        .object({
          workflowType: z.string(),
          stepName: z.string(),
          attempts: z.int().meta({ description: 'Attempts that have said something.' }),
          totals: Totals,
          usage: Usage,
        })
        .meta({ id: 'StepCosts' }),
    ),
    byActivities: z
      .array(z.object({ activityId: z.string(), totals: Totals }).meta({ id: 'ActivityCosts' }))
      .optional()
      .meta({ description: 'With `activities=true`: each step of the run that has said something.' }),
    records: z.array(CostRecordAnswer),
    nextCursor: z.string().nullable(),
    budget: BudgetState.nullable(),
  })
  .meta({ id: 'Costs' });

export const BudgetAnswer = RunRefAnswer.extend({ budget: BudgetState }).meta({ id: 'RunBudget' });

export const HandlerAnswer = anything('What the handler returned, as JSON; null for nothing.');
