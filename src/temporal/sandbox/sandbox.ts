/** What the runs of one sandbox share: the globals, the code of workflows, and the turn that is running. */
import { proxySinks } from '@temporalio/workflow';
import type { Failure } from '../../core/history/failure.js';
import { callbackAddresses } from '../../core/run/callback.js';
import type { ClosedStatus } from '../../core/run/run.js';
import type { WorkflowDefinition } from '../../sdk/definition.js';
import { type LogLevel, setRuntime } from '../../sdk/runtime.js';
import { hardenBuiltIns, installGlobals } from '../../worker/sandbox/environment.js';
import { Modules } from '../../worker/sandbox/realm/modules.js';
import { lazyScopes } from '../../worker/sandbox/realm/scopes.js';
import { hardenZod, ZOD_OBJECTS } from '../../worker/sandbox/realm/zod.js';
import { RejectionTracker } from '../../worker/sandbox/rejections.js';
import { Run, type RunHost, type RunIdentity } from '../../worker/sandbox/run/run.js';
import { Validators } from '../../worker/sandbox/run/validators.js';
import { CATALOG_WORKFLOW_TYPE, PURSE_WORKFLOW_TYPE } from '../cluster/conventions.js';
import { catalogWorkflow } from './catalog-workflow.js';
import { type Deployment, type DeploymentSettings, LIBRARY, SHADOWED, SINK } from './deployment.js';
import { Host } from './host.js';
import { giveLibraryGlobals, takeLibraryGlobals } from './library-globals.js';
import { purseWorkflow } from './purse-workflow.js';
import { authoredStacks } from './stacks.js';

/** What leaves: log lines, as a level, the fields as JSON and the message; that a run is about to close, goes on or was reset, and what it fails with. */
export type OutgoingSinks = Record<
  typeof SINK,
  {
    write(level: LogLevel, fields: string, message: string): void;
    closing(end: ClosedStatus): void;
    goingOn(): void;
    wasReset(children: string[]): void;
    failed(type: string, message: string, activityType: string | undefined): void;
  }
>;

export class Sandbox {
  readonly settings: DeploymentSettings;
  /** Tells the worker that the run whose turn it is is about to close. */
  readonly closing: (end: ClosedStatus) => void;
  /** Tells the worker that the run whose turn it is is paused no more. */
  readonly goingOn: () => void;
  /** Tells the worker that this is the first turn since the run was made by a reset, and which children it waits for. */
  readonly wasReset: (children: string[]) => void;
  /** Tells the worker what the run whose turn it is is about to fail with. */
  readonly failed: (failure: Failure) => void;
  readonly #host = new Host();
  readonly #modules: Modules;
  readonly #rejections = new RejectionTracker();
  readonly #validators = new Validators();
  readonly #runHost: RunHost;
  readonly #libraryGlobals: PropertyDescriptorMap;
  #stopHooks: (() => void) | undefined;

  /** Before any run is there: what is loaded now is shared by all of them. */
  constructor({ workflows, bodies, settings }: Deployment) {
    this.settings = settings;
    const shadows = installGlobals(this.#host.globals);
    this.#modules = new Modules(
      (_code, filename) => bodies[filename]!,
      bodies[LIBRARY] && { code: '' },
      SHADOWED.map((name) => shadows[name]),
    );
    this.#libraryGlobals = takeLibraryGlobals();
    hardenBuiltIns([...this.#modules.shared, ...hardenZod()], ZOD_OBJECTS);
    for (const bundle of workflows) this.#modules.add(bundle);
    const sinks = proxySinks<OutgoingSinks>();
    this.closing = (end) => sinks[SINK].closing(end);
    this.goingOn = () => sinks[SINK].goingOn();
    this.wasReset = (children) => sinks[SINK].wasReset(children);
    this.failed = ({ type, message, activityType }) => sinks[SINK].failed(type, message, activityType);
    this.#runHost = {
      endTurn: () => this.#rejections.endTurn(),
      scopes: lazyScopes(this.#host.scopes),
      stacks: authoredStacks,
      validators: this.#validators,
      callbackUrl: callbackAddresses(this.#host.tokenTools, settings.callbacks),
      log: (level, fields, message) => sinks[SINK].write(level, JSON.stringify(fields), message),
    };
  }

  newRun(identity: RunIdentity): Run {
    giveLibraryGlobals(this.#libraryGlobals);
    return new Run(identity, () => this.#definition(identity.workflowType), this.#runHost);
  }

  beginTurn(run: Run): void {
    // A turn that was cut off, since it took too long, has not ended it.
    this.#stopHooks?.();
    this.#rejections.reset();
    this.#validators.turnBegins();
    this.#stopHooks = this.#host.hookPromises({
      init: this.#rejections.onInit,
      settled: this.#rejections.onSettled,
    });
    setRuntime(run);
  }

  /** In place of the run that the turn began with. */
  use(run: Run): void {
    setRuntime(run);
  }

  beforeJobs(): void {
    this.#rejections.beforeJobs();
  }

  endTurn(): void {
    setRuntime(undefined);
    this.#stopHooks?.();
    this.#stopHooks = undefined;
  }

  #definition(workflowType: string): WorkflowDefinition {
    if (workflowType === CATALOG_WORKFLOW_TYPE) return catalogWorkflow;
    if (workflowType === PURSE_WORKFLOW_TYPE) return purseWorkflow;
    if (this.#modules.has(workflowType)) return this.#modules.definition(workflowType);
    throw new Error(
      `this worker has no workflow "${workflowType}"; it has ${this.#modules.workflowTypes.join(', ')}. Deploy the file that defines it`,
    );
  }
}
