/** The commands of a run in the words of Temporal's core. Pure. */
import type { coresdk } from '@temporalio/proto';
import type { Command } from '../../core/history/command.js';
import type { ParentClosePolicy } from '../../core/history/event.js';
import { unreachable } from '../../core/invariant.js';
import type { ClosedStatus, ResultFormat } from '../../core/run/run.js';
import type { TraceContext } from '../../core/trace-context.js';
import type { TraceInfo, TracePlan } from '../../engine.js';
import {
  activityTypeOf,
  CURRENT_PAYLOAD_VERSION,
  DEPTH_HEADER,
  LIVENESS_HEADER,
  MEMO,
  PURSE_HEADER,
} from '../cluster/conventions.js';
import { failureToProto } from '../translate/failure.js';
import { type ProtoPayload, toPayload, toPayloads } from '../translate/payload.js';
import { retryToProto, toDuration } from '../translate/proto.js';
import { tracerHeader } from '../translate/tracer-header.js';
import type { DeploymentSettings } from './deployment.js';
import { restoreStacks } from './stacks.js';

type CoreCommand = coresdk.workflow_commands.IWorkflowCommand;

/** Core tells of an operation's end when the history does; what the code hears before is the run's own affair. */
const WAIT_FOR_CANCELLED_STEP = 1;
const WAIT_FOR_CANCELLED_CHILD = 2;
const ALLOW_DUPLICATE = 1;
const REJECT_DUPLICATE = 3;
const PARENT_CLOSE_POLICY: Record<ParentClosePolicy, number> = {
  TERMINATE: 1,
  ABANDON: 2,
  REQUEST_CANCEL: 3,
};

/** What the translation needs to know of the run. */
export interface RunFrame {
  runId: string;
  namespace: string;
  catalog: string;
  workflowType: string;
  depth: number;
  /** Of the call that began it. */
  traceContext?: TraceContext;
  format: ResultFormat;
  /** Whether the run's memo says which form its result has. */
  formatIsRecorded: boolean;
  /** Which of its ends have a trace, as its memo says. */
  traces?: TracePlan['runs'];
  /** The name of its purse as its memo has it, where it has one: its steps and children spend from the same. */
  purse?: ProtoPayload;
  settings: DeploymentSettings;
  /** The run was made by a reset, and is past the point of it. */
  isReset: boolean;
  /** The instance of the protocol by which core knows an update. */
  updateInstance(updateId: string): string;
  isChildStarted(childSeq: string): boolean;
}

export function toCore(command: Command, run: RunFrame): CoreCommand[] {
  switch (command.kind) {
    case 'scheduleStep':
      return [{ scheduleActivity: scheduleActivity(command, run) }];
    case 'cancelStep':
      return [{ requestCancelActivity: { seq: Number(command.activityId) } }];
    case 'startTimer': {
      const startToFireTimeout = toDuration(command.durationMs);
      return [{ startTimer: { seq: Number(command.timerId), startToFireTimeout } }];
    }
    case 'cancelTimer':
      return [{ cancelTimer: { seq: Number(command.timerId) } }];
    case 'recordPatch':
      return [{ setPatchMarker: { patchId: command.patchId, deprecated: command.deprecated } }];
    case 'startChild':
      return [{ startChildWorkflowExecution: startChild(command, run) }];
    case 'signalExternal': {
      const { workflowId, signalName, input } = command;
      const args = toPayloads(input).payloads;
      const seq = Number(command.signalSeq);
      const workflowExecution = { namespace: run.namespace, workflowId };
      return [{ signalExternalWorkflowExecution: { seq, workflowExecution, signalName, args } }];
    }
    case 'cancelExternal': {
      // Core would ask the first run of the child, which may have continued as another.
      if (command.childSeq !== undefined && !run.isChildStarted(command.childSeq)) {
        return [{ cancelChildWorkflowExecution: { childWorkflowSeq: Number(command.childSeq) } }];
      }
      const workflowExecution = { namespace: run.namespace, workflowId: command.workflowId };
      const seq = Number(command.cancelSeq);
      return [{ requestCancelExternalWorkflowExecution: { seq, workflowExecution } }];
    }
    case 'acceptUpdate':
      return [updateResponse(command, run, { accepted: {} })];
    case 'rejectUpdate':
      return [updateResponse(command, run, { rejected: failureToProto(command.failure) })];
    case 'completeUpdate':
      return [
        updateResponse(
          command,
          run,
          command.failure
            ? { rejected: failureToProto(command.failure) }
            : { completed: toPayload(command.result) },
        ),
      ];
    case 'completeRun': {
      const trace = placeOfTrace(run, 'completed');
      const result = run.format === 'current' ? command.result : legacyResult(command.result, trace);
      return closing(run, { completeWorkflowExecution: { result: toPayload(result) } }, trace);
    }
    case 'failRun': {
      const { failure } = command;
      restoreStacks(failure);
      const trace = placeOfTrace(run, 'failed');
      const proto = failureToProto(failure, run.format === 'current' ? undefined : legacyTrace(trace));
      return closing(run, { failWorkflowExecution: { failure: proto } }, trace);
    }
    case 'cancelRun':
      return closing(run, { cancelWorkflowExecution: {} }, placeOfTrace(run, 'cancelled'));
    case 'continueAsNew':
      return [
        {
          continueAsNewWorkflowExecution: {
            workflowType: command.workflowType,
            taskQueue: run.catalog,
            arguments: toPayloads(command.input).payloads,
            headers: { ...depthHeader(run.depth), ...tracerHeader(run.traceContext) },
          },
        },
      ];
    default:
      return unreachable(command);
  }
}

function scheduleActivity(
  command: Extract<Command, { kind: 'scheduleStep' }>,
  { workflowType, catalog, traceContext, purse, settings: { livenessMs } }: RunFrame,
): coresdk.workflow_commands.IScheduleActivity {
  const { activityId, stepName, input, settings } = command;
  return {
    seq: Number(activityId),
    activityId,
    activityType: activityTypeOf(workflowType, stepName),
    taskQueue: catalog,
    arguments: toPayloads(input).payloads,
    startToCloseTimeout: toDuration(settings.startToCloseTimeoutMs),
    scheduleToCloseTimeout: optionalDuration(settings.scheduleToCloseTimeoutMs),
    scheduleToStartTimeout: optionalDuration(settings.scheduleToStartTimeoutMs),
    heartbeatTimeout: toDuration(settings.heartbeatTimeoutMs ?? livenessMs),
    retryPolicy: retryToProto(settings.retry),
    cancellationType: WAIT_FOR_CANCELLED_STEP,
    headers: {
      ...(settings.heartbeatTimeoutMs === undefined && { [LIVENESS_HEADER]: toPayload('true') }),
      ...(purse && { [PURSE_HEADER]: purse }),
      ...tracerHeader(traceContext),
    },
  };
}

function startChild(
  command: Extract<Command, { kind: 'startChild' }>,
  run: RunFrame,
): coresdk.workflow_commands.IStartChildWorkflowExecution {
  const { childSeq, workflowId, workflowType, catalog = run.catalog, input, parentClosePolicy } = command;
  const settings = catalog === run.settings.catalog ? run.settings.workflowSettings[workflowType] : undefined;
  return {
    seq: Number(childSeq),
    namespace: run.namespace,
    workflowId,
    workflowType,
    taskQueue: catalog,
    input: toPayloads(input).payloads,
    parentClosePolicy: PARENT_CLOSE_POLICY[parentClosePolicy],
    // The run before the reset may have had the same child, which is closed by now.
    workflowIdReusePolicy: run.isReset ? ALLOW_DUPLICATE : REJECT_DUPLICATE,
    cancellationType: WAIT_FOR_CANCELLED_CHILD,
    workflowExecutionTimeout: optionalDuration(settings?.executionTimeoutMs),
    ...(settings?.retry && { retryPolicy: retryToProto(settings.retry) }),
    headers: { ...depthHeader(run.depth + 1), ...tracerHeader(run.traceContext) },
    memo: {
      ...(run.format === 'current' && CURRENT_FORM),
      ...(run.purse && { [MEMO.purse]: run.purse }),
      ...(settings && !settings.disableTrace && tracesMemo(run.settings.traces)),
    },
  };
}

const optionalDuration = (ms: number | undefined) => (ms === undefined ? undefined : toDuration(ms));

const CURRENT_FORM = { [MEMO.payloadVersion]: toPayload(JSON.stringify(CURRENT_PAYLOAD_VERSION)) };

/**
 * A run that was started by another tool does not say which form its result has until now, when it has one; and where
 * the trace will be has to be said while the run is open.
 */
function closing(run: RunFrame, command: CoreCommand, trace: TraceInfo | undefined): CoreCommand[] {
  const fields = {
    ...(run.format === 'current' && !run.formatIsRecorded && CURRENT_FORM),
    ...(trace && { [MEMO.trace]: toPayload(JSON.stringify(trace)) }),
  };
  if (Object.keys(fields).length === 0) return [command];
  return [{ modifyWorkflowProperties: { upsertedMemo: { fields } } }, command];
}

/** Empty when this worker writes none although the run has been promised one: a replay must say something all the same. */
function placeOfTrace({ runId, traces, settings }: RunFrame, end: ClosedStatus): TraceInfo | undefined {
  if (traces === undefined || (traces === 'failed' && end === 'completed')) return undefined;
  const { local, remote } = settings.traces ?? {};
  const file = `${runId}.json`;
  return {
    ...(local !== undefined && { local: local + file }),
    ...(remote !== undefined && { remote: remote + file }),
  };
}

const tracesMemo = (plan: TracePlan | undefined) =>
  plan && { [MEMO.traces]: toPayload(JSON.stringify(plan.runs)) };

/** In the older form the place of the trace stands beside the output. */
const legacyResult = (output: string | undefined, trace: TraceInfo | undefined): string =>
  `{"output":${output ?? 'null'},"trace":${JSON.stringify(legacyTrace(trace))}}`;

const legacyTrace = (trace: TraceInfo | undefined) => (trace ? { destinations: trace } : null);

const depthHeader = (depth: number): Record<string, ProtoPayload> =>
  depth === 0 ? {} : { [DEPTH_HEADER]: toPayload(String(depth)) };

function updateResponse(
  { updateId }: { updateId: string },
  run: RunFrame,
  response: coresdk.workflow_commands.IUpdateResponse,
): CoreCommand {
  return { updateResponse: { protocolInstanceId: run.updateInstance(updateId), ...response } };
}
