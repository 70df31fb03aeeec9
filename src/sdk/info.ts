/** What a workflow can know and say: about itself, its versions, and to other workflows. */
import { isPatchId, isWorkflowId, MAX_PATCH_ID_LENGTH } from '../core/values/names.js';
import { checkMessageName } from './definition.js';
import { UsageError } from './errors.js';
import type { SignalDefinition } from './messages.js';
import { currentRuntime, type LogLevel, type WorkflowInfo } from './runtime.js';
import { checkValue } from './schema.js';
import { inCurrentScope } from './scope.js';
import type { Logger } from './step-context.js';

export function workflowInfo(): WorkflowInfo {
  return currentRuntime('workflowInfo()').info();
}

/** A random UUID that is the same on every replay. */
export function uuid4(): string {
  return uuidFrom(() => currentRuntime('uuid4()').random());
}

/** A version 4 UUID out of numbers between 0 and 1. */
export function uuidFrom(random: () => number): string {
  let hex = '';
  for (let i = 0; i < 4; i++) {
    hex += Math.floor(random() * 0x1_0000_0000)
      .toString(16)
      .padStart(8, '0');
  }
  const variant = ((Number.parseInt(hex[16]!, 16) & 3) | 8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
}

/**
 * Changes a workflow that has open runs: true in runs that reach this point for the first time with the new code,
 * false in those whose history was made before it.
 */
export function patched(patchId: string): boolean {
  return patch('patched()', patchId, false);
}

/** Takes the place of `patched` once no run needs the old path any more; remove it when all runs with it are closed. */
export function deprecatePatch(patchId: string): void {
  patch('deprecatePatch()', patchId, true);
}

function patch(what: string, patchId: string, deprecated: boolean): boolean {
  if (!isPatchId(patchId)) {
    throw new UsageError(
      `${what} needs an id for the change, of 1 to ${MAX_PATCH_ID_LENGTH} characters, without halves of surrogate pairs`,
    );
  }
  const runtime = currentRuntime(what);
  runtime.assertMayAct(what);
  return runtime.patched(patchId, deprecated);
}

const say = (level: LogLevel) => (message: string, fields?: object) =>
  currentRuntime(`log.${level}()`).log(level, message, fields ?? {});

/** Goes to the worker's log with the ids of the run; silent while a run is replayed, so every line appears once. */
export const log: Logger = Object.freeze({
  debug: say('debug'),
  info: say('info'),
  warn: say('warn'),
  error: say('error'),
});

export interface ExternalWorkflowHandle {
  readonly workflowId: string;
  /** Resolves when the signal is recorded for the other workflow. */
  readonly signal: <Sent extends unknown[]>(
    // biome-ignore lint/suspicious/noExplicitAny: what arrives is the other workflow's business.
    signal: SignalDefinition<any, Sent> | string,
    ...args: Sent
  ) => Promise<void>;
  /** Asks the other workflow to stop; resolves when the request is recorded for it. */
  readonly cancel: () => Promise<void>;
}

/** Another workflow, by its id. */
export function getExternalWorkflowHandle(workflowId: string): ExternalWorkflowHandle {
  const runtime = currentRuntime('getExternalWorkflowHandle()');
  if (!isWorkflowId(workflowId)) {
    throw new UsageError(`${JSON.stringify(workflowId) ?? String(workflowId)} is not the id of a workflow`);
  }
  return {
    workflowId,
    signal(signal, ...args) {
      const name = typeof signal === 'string' ? signal : signal?.name;
      checkMessageName('signal', name);
      // Only checked: the other workflow parses it itself, and transforms must not be applied twice.
      if (typeof signal === 'object') checkValue(signal.inputSchema, args[0], `payload of signal "${name}"`);
      return inCurrentScope('signal()', (settle) => runtime.signalExternal(workflowId, name, args, settle));
    },
    cancel() {
      // Asking another to stop is often part of stopping: it is not held back by a cancelled scope.
      runtime.assertMayAct('cancel()');
      return new Promise((resolve, reject) => {
        runtime.cancelExternal(workflowId, { resolve, reject });
      });
    },
  };
}
