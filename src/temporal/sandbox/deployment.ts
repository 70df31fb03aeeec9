/** What the worker puts into the sandbox beside its code (worker/bundle.ts). Plain data, except for the bodies. */

import type { TurnLimits } from '../../core/bounds/turn-limits.js';
import type { WorkflowSettings } from '../../core/catalog.js';
import type { CallbackSettings } from '../../core/run/callback.js';
import type { ResultFormat } from '../../core/run/run.js';
import type { TracePlan } from '../../engine.js';
import type { WorkflowBundle } from '../../worker/loading/bundle.js';
import type { ModuleBody } from '../../worker/sandbox/realm/modules.js';

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
  /** What addresses of callbacks are made of. */
  callbacks: CallbackSettings;
  /** By workflow type. */
  workflowSettings: Record<string, WorkflowSettings>;
}

/** The body of the packages that workflows share. */
export const LIBRARY = 'packages';

/**
 * Globals that Temporal gives to its sandbox from the thread around it, and that cannot be replaced there. Modules get
 * their own, or none, as parameters of these names.
 */
export const SHADOWED = [
  'URL',
  'URLSearchParams',
  'TextEncoder',
  'TextDecoder',
  'AbortController',
  'AsyncLocalStorage',
  'assert',
] as const;

/** Marks places in authors' files in a stack trace, of which Temporal has already turned lines of the bundle into lines of sources. */
export const AUTHORED = 'author:///';

/** The sink by which log lines leave the sandbox, and that a run is about to close. Fields travel as JSON, since a sink's arguments have to be copied. */
export const SINK = 'perdure';
