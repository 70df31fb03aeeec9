/** What the API accepts. One definition each: it validates, gives the types, and stands in the OpenAPI document. */
import { z } from 'zod';
import { PerdureError, type ValidationIssue } from '../core/errors.js';
import { MAX_ISSUES, MAX_RESULT_WAIT_MS, MAX_RUN_TIMEOUT_MS } from '../core/limits.js';
import {
  CATALOG_PATTERN,
  isRunId,
  isWorkflowId,
  MAX_CATALOG_LENGTH,
  MAX_NAME_LENGTH,
  MAX_WORKFLOW_ID_LENGTH,
  NAME_PATTERN,
  RESERVED_WORKFLOW_ID,
} from '../core/names.js';
import type { RunStatus } from '../core/run.js';

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
      `must be 1 to ${maxLength} characters without control characters`,
    )
    .meta({ minLength: 1, maxLength });

export const WorkflowId = z
  .string()
  .refine(
    (id) => isWorkflowId(id) && !LONE_SURROGATE.test(id),
    `must be 1 to ${MAX_WORKFLOW_ID_LENGTH} characters without control characters, and not "${RESERVED_WORKFLOW_ID}"`,
  )
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

const flag = () =>
  z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .pipe(z.boolean());

export const StartBody = z.object({
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
});

export const RunBody = StartBody.extend({
  timeout: z
    .int()
    .min(1)
    .max(MAX_RUN_TIMEOUT_MS)
    .nullish()
    .meta({ description: 'How long to wait for the result, in milliseconds; 30000 if not given.' }),
});

export const StartHeaders = z.object({
  'idempotency-key': z
    .string()
    .min(1)
    .max(255)
    .optional()
    .meta({ description: 'The same key with the same body answers with the same run.' }),
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

const RUN_STATUSES = [
  'running',
  'completed',
  'failed',
  'cancelled',
  'terminated',
  'timed_out',
  'continued_as_new',
] as const satisfies readonly RunStatus[];

export const Status = z.enum(RUN_STATUSES);
export const EndStatus = Status.exclude(['running']);

const Instant = z.union([z.iso.datetime({ offset: true }), z.iso.date()]).meta({
  type: 'string',
  format: 'date-time',
  description: 'ISO 8601, with Z or an offset; a date alone is its midnight in UTC.',
});

const DEFAULT_LIST_LIMIT = 100;

/** The one place where an unknown key is an error: a mistyped filter must not list everything. */
export const ListQuery = z.strictObject({
  workflowType: Name.optional(),
  catalog: CatalogName.optional(),
  status: Status.optional(),
  workflowId: WorkflowId.optional().meta({ description: 'The runs of this id.' }),
  workflowIdPrefix: plainText(MAX_WORKFLOW_ID_LENGTH)
    .optional()
    .meta({ description: 'The runs of ids that start like this.' }),
  startedAfter: Instant.optional(),
  startedBefore: Instant.optional(),
  limit: wholeNumber(1, MAX_PAGE_SIZE).default(DEFAULT_LIST_LIMIT),
  cursor: z.string().optional().meta({ description: 'The `nextCursor` of an earlier answer.' }),
});

/** An absent body and an empty one are the same to callers. */
const optionalBody = <T extends z.ZodObject>(body: T) => body.nullish();

export const TerminateBody = optionalBody(
  z.object({ reason: z.string().nullish().meta({ description: "The message of the run's error." }) }),
);

export const ResetBody = z.object({
  stepName: Name.meta({ description: 'The new run goes on after the completion of this step.' }),
  reason: z.string().nullish(),
  occurrence: z
    .int()
    .min(1)
    .nullish()
    .meta({ description: 'Which execution of the step, from 1; the last completed one if not given.' }),
});

export const MessageBody = optionalBody(
  z.object({
    payload: z
      .unknown()
      .optional()
      .meta({ description: 'What the handler is called with; absent for no argument.' }),
  }),
);

/** The value as the schema reads it. @throws ValidationError that lists what does not fit */
export function parse<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues: ValidationIssue[] = parsed.error.issues
    .slice(0, MAX_ISSUES)
    .map(({ path, message, code }) => ({ path: path as (string | number)[], message, code }));
  throw new PerdureError('ValidationError', 'Invalid Payload', { issues });
}
