/** What the worker puts into the sandbox beside its code (worker/bundle.ts). Plain data, except for the bodies. */
import type { WorkflowSettings } from '../../core/catalog.js';
import type { ResultFormat } from '../../core/run.js';
import type { TurnLimits } from '../../core/turn-limits.js';
import type { TracePlan } from '../../engine.js';
import type { WorkflowBundle } from '../../worker/bundle.js';
import type { ModuleBody } from '../../worker/sandbox/modules.js';

export interface Deployment {
  /** Their code is in `bodies`, by their file names. */
  workflows: WorkflowBundle[];
  bodies: Record<string, ModuleBody>;
  settings: DeploymentSettings;
}

export interface DeploymentSettings {
  catalog: string;
  /** The form of results of runs that do not say which one they have. */
  resultFormat: ResultFormat;
  limits: TurnLimits;
  /** After so long without a sign of life of its worker a step is tried again, unless its author says otherwise. */
  livenessMs: number;
  /** Which runs get a trace from this worker, and where. */
  traces?: TracePlan;
  /** By workflow type. */
  workflowSettings: Record<string, WorkflowSettings>;
}

/** The body of the packages that workflows share. */
export const LIBRARY = 'packages';

/** Marks places in authors' files in a stack trace, of which Temporal has already turned lines of the bundle into lines of sources. */
export const AUTHORED = 'author:///';

/** The sink by which log lines leave the sandbox, and that a run is about to close. Fields travel as JSON, since a sink's arguments have to be copied. */
export const SINK = 'perdure';
