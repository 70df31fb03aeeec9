/**
 * Lines of the log that a person at a terminal reads as sentences: which run, what happened, what comes next. Other lines
 * are shown as they are, with their fields.
 *
 * Workers' lines come here too, and with them what user code logs, in words that may be the same: a line is one of those
 * only if it has what they have.
 */
import { segmentOfId } from '../core/values/id-segment.js';
import {
  ATTEMPT_FAILED,
  type AttemptLine,
  MORE_FAILED,
  type MoreLine,
  RUN_FAILED,
  type RunLine,
} from '../telemetry/failure-log.js';
import { plain } from './plain.js';

/** Characters of an error's message: one line of a wide terminal, about. */
const MAX_MESSAGE_LENGTH = 200;

export interface Sentence {
  text: string;
  /** What to do about it, or where to look. */
  hint?: string;
}

/** The command that shows what the service has at a path; undefined while there is no service to ask. */
export type Look = (path: string) => string | undefined;

export function sentenceOf(message: string, fields: object, look: Look): Sentence | undefined {
  switch (message) {
    case ATTEMPT_FAILED:
      return isAttemptLine(fields) ? attempt(fields) : undefined;
    case RUN_FAILED:
      return isRunLine(fields) ? run(fields, look) : undefined;
    case MORE_FAILED:
      return isMoreLine(fields) ? more(fields) : undefined;
    default:
      return undefined;
  }
}

type Fields<Line> = { [Name in keyof Line]?: unknown };

const isAttemptLine = (fields: Fields<AttemptLine>): fields is AttemptLine =>
  isOfRun(fields) &&
  isText(fields.step) &&
  isNumber(fields.attempt) &&
  (fields.maximumAttempts === undefined || isNumber(fields.maximumAttempts)) &&
  (fields.nextAttemptAt === null || isText(fields.nextAttemptAt));

const isRunLine = (fields: Fields<RunLine>): fields is RunLine =>
  isOfRun(fields) &&
  isText(fields.status) &&
  (fields.step === undefined || isText(fields.step)) &&
  (fields.newRunId === undefined || isText(fields.newRunId));

const isMoreLine = (fields: Fields<MoreLine>): fields is MoreLine =>
  isNumber(fields.attempts) && isNumber(fields.runs) && isNumber(fields.withinMs);

function isOfRun(fields: Fields<AttemptLine | RunLine>): boolean {
  const { workflowId, runId, workflowType, error } = fields;
  if (![workflowId, runId, workflowType].every(isText) || typeof error !== 'object') return false;
  const { name, message } = (error ?? {}) as { name?: unknown; message?: unknown };
  return isText(name) && isText(message);
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => typeof value === 'number';

function attempt(line: AttemptLine): Sentence {
  const { workflowType, workflowId, step, error, nextAttemptAt, maximumAttempts } = line;
  const number = maximumAttempts === undefined ? `${line.attempt}` : `${line.attempt} of ${maximumAttempts}`;
  const next = nextAttemptAt === null ? 'no further attempt' : `again ${inTime(nextAttemptAt)}`;
  const what = `step ${plain(step)} of ${nameOf(workflowType, workflowId)} failed`;
  return { text: `${what} (attempt ${number}, ${next}): ${errorText(error)}`, hint: `run ${line.runId}` };
}

function run(line: RunLine, look: Look): Sentence {
  const { workflowType, workflowId, runId, status, step, error, newRunId } = line;
  const verb = status === 'timed_out' ? 'timed out' : 'failed';
  const where = step === undefined ? '' : ` (step ${plain(step)})`;
  const text = `${nameOf(workflowType, workflowId)} ${verb}: ${errorText(error)}${where}`;
  if (newRunId !== undefined) return { text, hint: `run ${runId}, tried again as run ${newRunId}` };
  const run = `/workflow/${segmentOfId(workflowId)}/runs/${runId}`;
  const command = look(`${run}/history?pageSize=1000&includePayloads=true`);
  return { text, hint: command === undefined ? `run ${runId}` : `run ${runId}; look: ${command}` };
}

/** Ids that are generated begin with the name of the workflow. */
function nameOf(workflowType: string, workflowId: string): string {
  return plain(workflowId.startsWith(`${workflowType}-`) ? workflowId : `${workflowType} ${workflowId}`);
}

function more({ attempts, runs, withinMs }: MoreLine): Sentence {
  const parts = [
    ...(attempts > 0 ? [`${attempts} more failed attempts`] : []),
    ...(runs > 0 ? [`${runs} more failed runs`] : []),
  ];
  return { text: `${parts.join(' and ')} in the last ${withinMs / 1_000} s are not told one by one` };
}

function errorText({ name, message }: { name: string; message: string }): string {
  const text = message.length > MAX_MESSAGE_LENGTH ? `${message.slice(0, MAX_MESSAGE_LENGTH)}…` : message;
  return text === '' ? plain(name) : `${plain(name)}: ${plain(text)}`;
}

function inTime(at: string): string {
  const seconds = Math.max(0, Date.parse(at) - Date.now()) / 1_000;
  return seconds < 0.1 ? 'at once' : `in ${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
}
