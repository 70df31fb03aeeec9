/** What the API accepts. One definition each: it validates, gives the types, and stands in the OpenAPI document. */
import { z } from 'zod';
import { MAX_ISSUES, MAX_RESULT_WAIT_MS, MAX_RUN_TIMEOUT_MS } from '../../core/bounds/limits.js';
import { isKnownCurrency } from '../../core/cost/budget.js';
import { amountProblem, CURRENCY_PATTERN } from '../../core/cost/cost.js';
import { PerdureError, type ValidationIssue } from '../../core/errors.js';
import { CALLBACK_ID_PATTERN } from '../../core/run/callback.js';
import { MAX_PAUSE_REASON } from '../../core/run/pause.js';
import { RUN_STATUSES } from '../../core/run/run.js';
import {
  CATALOG_PATTERN,
  isRunId,
  isWorkflowId,
  MAX_CATALOG_LENGTH,
  MAX_NAME_LENGTH,
  MAX_WORKFLOW_ID_LENGTH,
  NAME_PATTERN,
  RESERVED_WORKFLOW_ID,
  WORKFLOW_ID_RULE,
} from '../../core/values/names.js';
import { unknownName } from '../../core/values/nearest.js';

export const Name = z.string().max(MAX_NAME_LENGTH).regex(NAME_PATTERN, `must match ${NAME_PATTERN.source}`);

export const CatalogName = z
  .string()
  .max(MAX_CATALOG_LENGTH)
  .regex(CATALOG_PATTERN, `must match ${CATALOG_PATTERN.source}`);

/** Half of a surrogate pair has no UTF-8 form, so the text could not be stored as it was given. */
const LONE_SURROGATE = /\p{Surrogate}/u;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f-\u009f]/;

/** Texts of the caller's own choice that end up in paths, logs and indexes. */
const plainText = (maxLength: number) =>
  z
    .string()
    .refine(
      (text) =>
        text.length >= 1 &&
        text.length <= maxLength &&
        !CONTROL_CHARACTER.test(text) &&
        !LONE_SURROGATE.test(text),
      `must be 1 to ${maxLength} characters, none of them a control character or half a surrogate pair`,
    )
    .meta({ minLength: 1, maxLength });

/** A text for people, which may have any length that a body may have. */
const Reason = z
  .string()
  .refine((text) => !LONE_SURROGATE.test(text), 'must not have half of a surrogate pair');

export const WorkflowId = z
  .string()
  .refine((id) => isWorkflowId(id) && !LONE_SURROGATE.test(id), `must be ${WORKFLOW_ID_RULE}`)
  .meta({
    minLength: 1,
    maxLength: MAX_WORKFLOW_ID_LENGTH,
    description: `Any characters but control characters; not "${RESERVED_WORKFLOW_ID}".`,
  });

export const RunId = z
  .string()
  .refine(isRunId, 'must be a UUID')
  .toLowerCase()
  .meta({ format: 'uuid', description: 'The id of one run (a UUID of version 7).' });

/** Names of signals, queries and updates are the author's own, so almost anything goes. */
export const HandlerName = plainText(200);

/** A whole number in a query, where everything is text. */
const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(min).max(max));

export const flag = () =>
  z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .pipe(z.boolean());

/** A mistyped field must not be taken for one that was left out, so none that is not known is taken. */
const fields = z.strictObject;

/** As it is kept: an exact decimal, whether it came as a number or as a text. */
const Amount = z
  .union([z.number(), z.string()], { error: ({ input }) => amountProblem(input) })
  .superRefine((amount, { addIssue }) => {
    const problem = amountProblem(amount);
    if (problem !== undefined) addIssue({ code: 'custom', message: problem });
  })
  .meta({
    anyOf: [
      { type: 'string', pattern: '^\\d+(\\.\\d+)?$' },
      { type: 'number', minimum: 0 },
    ],
    description:
      'A decimal that is not negative, with at most 9 decimals: `"0.00125"`. A text is exact in every client.',
  });

const Currency = z
  .string()
  .regex(CURRENCY_PATTERN, 'must be three capital letters such as "USD"')
  .refine(isKnownCurrency, 'is no currency that is known (ISO 4217); own units begin with X, such as "XTK"');

export const BudgetFields = fields({ amount: Amount, currency: Currency }).meta({ id: 'Budget' });

export const BudgetBody = fields({ amount: Amount });

export const StartBody = fields({
  workflowName: Name.meta({ description: 'The workflow, by its name or one of its aliases.' }),
  input: z
    .unknown()
    .meta({ description: "Any JSON value that fits the workflow's input schema, null included." }),
  workflowId: WorkflowId.nullish().meta({ description: 'Unique among open and retained runs.' }),
  catalog: CatalogName.nullish().meta({
    description: 'Where the workflow runs; the default catalog if none is given.',
  }),
  taskQueue: CatalogName.nullish().meta({
    deprecated: true,
    description: 'The older name of `catalog`, which wins.',
  }),
  budget: BudgetFields.nullish().meta({
    description:
      'What the run, its chain and its descendants may spend. Once it is spent no further step is started, and the run is paused.',
  }),
});

export const RunBody = StartBody.extend({
  timeout: z.int().min(1).max(MAX_RUN_TIMEOUT_MS).nullish().meta({
    description:
      'How long to wait for the result, in milliseconds; 30000 if not given, unless the server says otherwise.',
  }),
});

export const StartHeaders = z.object({
  'idempotency-key': z
    .string()
    .min(1)
    .max(255)
    .optional()
    .meta({ description: 'The same key with the same body answers with the same run.' }),
});

const DEFAULT_COST_LIMIT = 100;

export const CostQuery = z
  .object({
    scope: z.enum(['run', 'chain', 'tree']).default('run').meta({
      description:
        'Of this run alone, of all runs of the id that belong together (continue-as-new, retry, reset), or of those and all that descend from them.',
    }),
    limit: wholeNumber(1, 1_000).default(DEFAULT_COST_LIMIT).meta({ description: 'How many records.' }),
    cursor: z.string().optional().meta({ description: 'The `nextCursor` of an earlier answer.' }),
    activities: flag().optional().meta({
      description:
        'Whether the answer also has what each single step of the run has spent. With the scope `run`.',
    }),
  })
  .superRefine(({ scope, activities }, { addIssue }) => {
    // Those of several runs have the same ids.
    if (activities && scope !== 'run')
      addIssue({ code: 'custom', path: ['activities'], message: 'goes with the scope "run"' });
  });

export const CatalogPath = z.object({ id: CatalogName });

export const ResultQuery = z.object({
  wait: wholeNumber(0, MAX_RESULT_WAIT_MS)
    .optional()
    .meta({ description: 'Milliseconds to wait for the end of an open run before answering.' }),
});

export const MAX_PAGE_SIZE = 1_000;
const DEFAULT_PAGE_SIZE = 20;

/** Also on the stream. */
export const IncludePayloads = flag().optional().meta({
  description: 'Whether events carry what user code gave and threw: inputs, results, failures, details.',
});

export const HistoryQuery = z.object({
  pageSize: wholeNumber(1, MAX_PAGE_SIZE).default(DEFAULT_PAGE_SIZE),
  pageToken: z
    .string()
    .optional()
    .meta({ description: 'The `nextPageToken` of an earlier answer for this run.' }),
  includePayloads: IncludePayloads,
  longPollTimeoutMs: wholeNumber(0, Number.MAX_SAFE_INTEGER).optional().meta({
    description:
      'Milliseconds that a caller who has seen all events of an open run waits for the next; at most 60000 are waited.',
  }),
});

/** The run may be named in the query where the path does not. */
export const LatestHistoryQuery = HistoryQuery.extend({ runId: RunId.optional() });

export const Status = z.enum(RUN_STATUSES);
export const EndStatus = Status.exclude(['running']);

const Instant = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()], {
    error: 'must be a time in ISO 8601 with Z or an offset, such as 2026-01-31T12:00:00Z, or a date',
  })
  .meta({
    type: 'string',
    format: 'date-time',
    description: 'ISO 8601, with Z or an offset; a date alone is its midnight in UTC.',
  });

const DEFAULT_LIST_LIMIT = 100;
/** Runs that a list gives the reasons of: each has to be asked about. */
const MAX_EXPLAINED = 100;

/** The one query whose unknown keys are errors: a mistyped filter must not list everything. */
export const ListQuery = z
  .strictObject({
    workflowType: Name.optional(),
    catalog: CatalogName.optional(),
    status: Status.optional(),
    workflowId: WorkflowId.optional().meta({ description: 'The runs of this id.' }),
    workflowIdPrefix: plainText(MAX_WORKFLOW_ID_LENGTH)
      .optional()
      .meta({ description: 'The runs of ids that start like this.' }),
    startedAfter: Instant.optional(),
    startedBefore: Instant.optional(),
    heldBack: z.literal('true').optional().meta({ description: 'Only runs that are held back.' }),
    paused: z.literal('true').optional().meta({ description: 'Only runs that are paused.' }),
    why: z
      .literal('true')
      .optional()
      .meta({
        description: `Each entry also says in a sentence why it is where it is; with a limit of at most ${MAX_EXPLAINED}.`,
      }),
    limit: wholeNumber(1, MAX_PAGE_SIZE).default(DEFAULT_LIST_LIMIT),
    cursor: z.string().optional().meta({ description: 'The `nextCursor` of an earlier answer.' }),
  })
  .superRefine(({ why, limit }, { addIssue }) => {
    if (!why || limit <= MAX_EXPLAINED) return;
    const message = `with why=true it is at most ${MAX_EXPLAINED}`;
    addIssue({
      code: 'too_big',
      maximum: MAX_EXPLAINED,
      origin: 'number',
      path: ['limit'],
      message,
      input: limit,
    });
  });

/** An absent body and an empty one are the same to callers. */
const optionalBody = <T extends z.ZodObject>(body: T) => body.nullish();

/** Of operations that take nothing. */
export const NoBody = optionalBody(fields({}));

export const TerminateBody = optionalBody(
  fields({ reason: Reason.nullish().meta({ description: "The message of the run's error." }) }),
);

export const PauseBody = optionalBody(
  fields({
    reason: Reason.max(MAX_PAUSE_REASON).nullish().meta({ description: 'For whoever finds the run paused.' }),
  }),
);

export const ResetBody = fields({
  stepName: Name.nullish().meta({ description: 'The new run goes on after the completion of this step.' }),
  toStart: z
    .literal(true)
    .nullish()
    .meta({ description: 'The new run begins at the very beginning, with the same input.' }),
  reason: Reason.nullish(),
  occurrence: z
    .int()
    .min(1)
    .nullish()
    .meta({ description: 'Which execution of the step, from 1; the last completed one if not given.' }),
})
  .superRefine(({ stepName, toStart, occurrence }, { addIssue }) => {
    const isStep = typeof stepName === 'string';
    if (isStep === (toStart === true)) {
      const message = isStep ? 'either stepName or toStart, not both' : 'needs stepName, or toStart: true';
      addIssue({ code: 'custom', path: [isStep ? 'toStart' : 'stepName'], message });
    }
    if (!isStep && typeof occurrence === 'number') {
      addIssue({ code: 'custom', path: ['occurrence'], message: 'goes with stepName' });
    }
  })
  .meta({ description: 'Either `stepName` or `toStart`.' });

const Payload = z
  .unknown()
  .optional()
  .meta({ description: 'What the handler is called with; absent for no argument.' });

export const MessageBody = optionalBody(fields({ payload: Payload }));

export const FeedbackBody = optionalBody(
  fields({
    payload: Payload.meta({ description: 'What the workflow gets; absent for nothing.' }),
    callbackId: z
      .string()
      .regex(CALLBACK_ID_PATTERN, 'is not the id of a callback')
      .nullish()
      .meta({ description: 'Which callback it answers; without one the request that has waited longest.' }),
  }),
);

/**
 * The value as the schema reads it; `what` its members are called.
 * @throws ValidationError that lists what does not fit
 */
export function parse<T extends z.ZodType>(schema: T, value: unknown, what = 'field'): z.output<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.slice(0, MAX_ISSUES).flatMap((issue) => issuesOf(issue, schema, what));
  throw new PerdureError('ValidationError', 'Invalid Payload', { issues: issues.slice(0, MAX_ISSUES) });
}

function issuesOf(issue: z.core.$ZodIssue, schema: z.ZodType, what: string): ValidationIssue[] {
  const path = issue.path as (string | number)[];
  const { message, code } = issue;
  if (issue.code !== 'unrecognized_keys') return [{ path, message, code }];
  const known = membersAt(schema, path);
  return issue.keys
    .slice(0, MAX_ISSUES)
    .map((key) => ({ path: [...path, key], message: unknownName(what, key, known), code }));
}

/** The names that an object may have there. */
function membersAt(schema: z.ZodType, path: readonly (string | number)[]): string[] {
  let at: z.core.$ZodType = schema;
  for (const key of [...path, undefined]) {
    while (at instanceof z.ZodOptional || at instanceof z.ZodNullable) at = at.unwrap();
    if (!(at instanceof z.ZodObject)) return [];
    const shape = at.shape as Record<string, z.core.$ZodType>;
    if (key === undefined) return Object.keys(shape);
    const member = shape[key];
    if (!member) return [];
    at = member;
  }
  return [];
}
