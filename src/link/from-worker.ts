/**
 * Whether what arrived from a worker has the shape of a message. User code lives in that process, so nothing it
 * sends is taken on trust: the engine must be able to read every message without meeting a missing field.
 */

import { catalogProblem } from '../core/bounds/catalog-bounds.js';
import { COST_LIMITS } from '../core/bounds/limits.js';
import type { RegisteredWorkflow } from '../core/catalog.js';
import { isCost } from '../core/cost/cost.js';
import type { Command, CommandKind } from '../core/history/command.js';
import { isRetryAfterMs } from '../core/run/retry.js';
import { isVersionId, isVersionName } from '../core/run/version.js';
import type { FromWorker } from '../core/task.js';
import { isWholeMs } from '../core/values/duration.js';
import { isCatalogName } from '../core/values/names.js';

type Fields = Record<string, unknown>;
type Check = (value: Fields) => boolean;

/** What is wrong with `value`, or undefined when it is a message. */
export function shapeProblem(value: unknown): string | undefined {
  if (!isObject(value)) return 'not an object';
  const check = MESSAGE_CHECKS.get(value.kind);
  if (!check) return `unknown kind ${JSON.stringify(value.kind)?.slice(0, 50)}`;
  if (!check(value)) return `a field of ${String(value.kind)} is missing or of the wrong type`;
  return value.kind === 'register' ? catalogProblem(value.workflows as RegisteredWorkflow[]) : undefined;
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === 'string';
const isOptionalText = (value: unknown) => value === undefined || typeof value === 'string';
const isCount = (value: unknown) => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
const isFactor = (value: unknown) => typeof value === 'number' && Number.isFinite(value) && value >= 0;
const isOptionalMs = (value: unknown) => value === undefined || isWholeMs(value);
const isBoolean = (value: unknown) => typeof value === 'boolean';

function isListOf(value: unknown, check: (item: unknown) => boolean): boolean {
  if (!Array.isArray(value)) return false;
  for (const item of value) if (!check(item)) return false;
  return true;
}

const isAttempt: Check = (m) => isText(m.runId) && isCount(m.scheduledEventId) && isCount(m.attempt);

/** Far beyond the depth that `toFailure` makes; a loop cannot be packed. */
const MAX_CAUSES = 50;

function isFailure(value: unknown, depth = 0): boolean {
  return (
    isObject(value) &&
    isText(value.kind) &&
    isText(value.type) &&
    isText(value.message) &&
    isOptionalText(value.stackTrace) &&
    (value.nonRetryable === undefined || isBoolean(value.nonRetryable)) &&
    (value.properties === undefined || isObject(value.properties)) &&
    (value.cause === undefined || (depth < MAX_CAUSES && isFailure(value.cause, depth + 1)))
  );
}

function isRetryPolicy(value: unknown): boolean {
  return (
    isObject(value) &&
    isWholeMs(value.initialIntervalMs) &&
    isFactor(value.backoffCoefficient) &&
    isWholeMs(value.maximumIntervalMs) &&
    isCount(value.maximumAttempts) &&
    isListOf(value.nonRetryableErrorTypes, isText)
  );
}

function isStepSettings(value: unknown): boolean {
  return (
    isObject(value) &&
    isWholeMs(value.startToCloseTimeoutMs) &&
    isOptionalMs(value.scheduleToCloseTimeoutMs) &&
    isOptionalMs(value.scheduleToStartTimeoutMs) &&
    isOptionalMs(value.heartbeatTimeoutMs) &&
    isRetryPolicy(value.retry)
  );
}

const isInput = (value: unknown) => isListOf(value, isText);

const COMMANDS: {
  [K in CommandKind]: (command: { [F in keyof Extract<Command, { kind: K }>]: unknown }) => boolean;
} = {
  scheduleStep: (c) =>
    isText(c.activityId) && isText(c.stepName) && isInput(c.input) && isStepSettings(c.settings),
  cancelStep: (c) => isText(c.activityId),
  startTimer: (c) => isText(c.timerId) && isWholeMs(c.durationMs),
  cancelTimer: (c) => isText(c.timerId),
  recordPatch: (c) => isText(c.patchId) && isBoolean(c.deprecated),
  startChild: (c) =>
    isText(c.childSeq) &&
    isText(c.workflowId) &&
    isText(c.workflowType) &&
    isOptionalText(c.catalog) &&
    isInput(c.input) &&
    isText(c.parentClosePolicy),
  signalExternal: (c) =>
    isText(c.signalSeq) && isText(c.workflowId) && isText(c.signalName) && isInput(c.input),
  cancelExternal: (c) => isText(c.cancelSeq) && isText(c.workflowId) && isOptionalText(c.childSeq),
  acceptUpdate: (c) => isText(c.updateId),
  rejectUpdate: (c) => isText(c.updateId) && isText(c.reason) && isFailure(c.failure),
  completeUpdate: (c) =>
    isText(c.updateId) && isOptionalText(c.result) && (c.failure === undefined || isFailure(c.failure)),
  completeRun: (c) => isOptionalText(c.result),
  failRun: (c) => isFailure(c.failure) && (c.refusesInput === undefined || c.refusesInput === true),
  cancelRun: () => true,
  continueAsNew: (c) => isText(c.workflowType) && isInput(c.input),
};

/** One look for every message that arrives, whatever its kind is said to be. */
const byKind = (checks: object): ReadonlyMap<unknown, Check> => new Map(Object.entries(checks));
const COMMAND_CHECKS = byKind(COMMANDS);

function isCommand(value: unknown): boolean {
  return isObject(value) && COMMAND_CHECKS.get(value.kind)?.(value) === true;
}

function isAnswer(value: unknown): boolean {
  if (!isObject(value) || !isCount(value.queryId)) return false;
  switch (value.kind) {
    case 'answered':
      return isOptionalText(value.result);
    case 'failed':
      return isFailure(value.failure);
    case 'noHandler':
      return isListOf(value.known, isText);
    default:
      return false;
  }
}

const isSchema = (value: unknown) => value === null || isObject(value);
const isNamed = (value: unknown) => isObject(value) && isText(value.name);

const isAccepted = (value: unknown) =>
  isObject(value) && (value.schema === undefined || isObject(value.schema));
const isAcceptedByName = (value: unknown) =>
  value === undefined || (isObject(value) && isListOf(Object.values(value), isAccepted));

function areAcceptedInputs(value: unknown): boolean {
  return (
    isObject(value) &&
    (value.input === undefined || isAccepted(value.input)) &&
    isAcceptedByName(value.signals) &&
    isAcceptedByName(value.queries) &&
    isAcceptedByName(value.updates)
  );
}

function isRegisteredWorkflow(value: unknown): boolean {
  if (
    !isObject(value) ||
    !isObject(value.entry) ||
    !isObject(value.settings) ||
    !isBoolean(value.declaresSignals) ||
    (value.accepts !== undefined && !areAcceptedInputs(value.accepts))
  ) {
    return false;
  }
  const { entry, settings } = value;
  return (
    isText(entry.name) &&
    (entry.description === null || isText(entry.description)) &&
    isText(entry.path) &&
    isSchema(entry.inputSchema) &&
    isSchema(entry.outputSchema) &&
    isListOf(entry.aliases, isText) &&
    isListOf(entry.steps, isNamed) &&
    isListOf(entry.signals, isNamed) &&
    isListOf(entry.queries, isNamed) &&
    isListOf(entry.updates, isNamed) &&
    (value.stepNames === undefined || isListOf(value.stepNames, isText)) &&
    isOptionalMs(settings.executionTimeoutMs) &&
    (settings.retry === undefined || isRetryPolicy(settings.retry))
  );
}

/** The longest name that a host can have. */
const MAX_HOST_LENGTH = 255;

const isPool = (value: unknown) =>
  isObject(value) && isText(value.id) && isCount(value.size) && isCount(value.spares);
const isStarted = (value: unknown) => isObject(value) && isAttempt(value);
const isCulprit = (value: unknown) => isObject(value) && (isCount(value.turnId) || isAttempt(value));

const areCosts = (value: unknown) =>
  Array.isArray(value) && value.length <= COST_LIMITS.perAttempt && isListOf(value, isCost);
const mayHaveCosts = ({ costs }: Fields) => costs === undefined || areCosts(costs);

const MESSAGES: Record<FromWorker['kind'], Check> = {
  register: (m) =>
    isCatalogName(m.catalog) &&
    isListOf(m.workflows, isRegisteredWorkflow) &&
    isObject(m.slots) &&
    isCount(m.slots.turns) &&
    isCount(m.slots.steps) &&
    (m.resultFormat === 'current' || m.resultFormat === 'legacy') &&
    isText(m.identity) &&
    isVersionId(m.codeId) &&
    (m.versionName === undefined || isVersionName(m.versionName)) &&
    (m.host === undefined || (isText(m.host) && m.host.length <= MAX_HOST_LENGTH)) &&
    (m.pid === undefined || isCount(m.pid)) &&
    isOptionalText(m.workerId) &&
    (m.pool === undefined || isPool(m.pool)),
  turnCompleted: (m) =>
    isCount(m.turnId) && isText(m.runId) && isListOf(m.commands, isCommand) && isListOf(m.answers, isAnswer),
  turnMissed: (m) => isCount(m.turnId) && isText(m.runId),
  turnFailed: (m) =>
    isCount(m.turnId) &&
    isText(m.runId) &&
    (m.cause === 'NON_DETERMINISTIC_ERROR' || m.cause === 'WORKFLOW_WORKER_UNHANDLED_FAILURE') &&
    isFailure(m.failure),
  stepCompleted: (m) =>
    isAttempt(m) &&
    isOptionalText(m.result) &&
    (m.begunAt === undefined || isCount(m.begunAt)) &&
    mayHaveCosts(m),
  stepFailed: (m) =>
    isAttempt(m) &&
    isFailure(m.failure) &&
    (m.retryAfterMs === undefined || isRetryAfterMs(m.retryAfterMs)) &&
    (m.refusesInput === undefined || m.refusesInput === true) &&
    mayHaveCosts(m),
  stepCancelled: (m) => isAttempt(m) && isOptionalText(m.details) && mayHaveCosts(m),
  stepHeartbeat: (m) => isAttempt(m) && isOptionalText(m.details),
  stepCosts: (m) => isAttempt(m) && areCosts(m.costs),
  evicted: (m) => isListOf(m.runIds, isText),
  pong: () => true,
  blocked: (m) =>
    isText(m.workerId) && (m.turnId === undefined || isCount(m.turnId)) && isListOf(m.started, isStarted),
  lastWords: (m) =>
    isText(m.workerId) &&
    isListOf(m.started, isStarted) &&
    isText(m.reason) &&
    (m.culprit === undefined || isCulprit(m.culprit)),
  draining: () => true,
};

const MESSAGE_CHECKS = byKind(MESSAGES);
