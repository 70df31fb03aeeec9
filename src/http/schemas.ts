/** What the API accepts. One definition each: it validates, and gives the types. */
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

const Name = z.string().max(MAX_NAME_LENGTH).regex(NAME_PATTERN, `must match ${NAME_PATTERN.source}`);

export const CatalogName = z
  .string()
  .max(MAX_CATALOG_LENGTH)
  .regex(CATALOG_PATTERN, `must match ${CATALOG_PATTERN.source}`);

/** Half of a surrogate pair has no UTF-8 form, so the id could not be stored as it was given. */
const LONE_SURROGATE = /\p{Surrogate}/u;

export const WorkflowId = z
  .string()
  .refine(
    (id) => isWorkflowId(id) && !LONE_SURROGATE.test(id),
    `must be 1 to ${MAX_WORKFLOW_ID_LENGTH} characters without control characters, and not "${RESERVED_WORKFLOW_ID}"`,
  );

export const RunId = z.string().refine(isRunId, 'must be a UUID').toLowerCase();

export const StartBody = z.object({
  workflowName: Name,
  input: z.unknown(),
  workflowId: WorkflowId.nullish(),
  catalog: CatalogName.nullish(),
  /** Deprecated: the older name of `catalog`. */
  taskQueue: CatalogName.nullish(),
});

export const RunBody = StartBody.extend({
  timeout: z.int().min(1).max(MAX_RUN_TIMEOUT_MS).nullish(),
});

export const RunPath = z.object({ id: WorkflowId, rid: RunId.optional() });

export const CatalogPath = z.object({ id: CatalogName });

export const ResultQuery = z.object({
  wait: z
    .string()
    .regex(/^\d{1,5}$/, 'must be whole milliseconds')
    .transform(Number)
    .refine((ms) => ms <= MAX_RESULT_WAIT_MS, `must be at most ${MAX_RESULT_WAIT_MS}`)
    .optional(),
});

export const IdempotencyKey = z.string().min(1).max(255);

/** The value as the schema reads it. @throws ValidationError that lists what does not fit */
export function parse<T extends z.ZodType>(schema: T, value: unknown, at: string[] = []): z.output<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues: ValidationIssue[] = parsed.error.issues
    .slice(0, MAX_ISSUES)
    .map(({ path, message, code }) => ({ path: [...at, ...(path as (string | number)[])], message, code }));
  throw new PerdureError('ValidationError', 'Invalid Payload', { issues });
}
