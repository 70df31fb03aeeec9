/** What a worker registers and the API lists: the workflows of one catalog with their schemas. */

import type { RetryPolicy } from './run/retry.js';
import type { CodeVersion } from './run/version.js';
import type { Duration } from './values/duration.js';

/** A JSON Schema 2020-12 document. */
export type JsonSchema = Record<string, unknown>;

export interface HandlerEntry {
  name: string;
  description?: string;
  inputSchema?: JsonSchema;
  outputSchema?: JsonSchema;
}

export interface StepEntry {
  name: string;
  description: string | null;
  inputSchema: JsonSchema | null;
  outputSchema: JsonSchema | null;
}

export interface CatalogEntry {
  name: string;
  description: string | null;
  /** Of the workflow's file, relative to the folder that was loaded. */
  path: string;
  inputSchema: JsonSchema | null;
  outputSchema: JsonSchema | null;
  aliases: string[];
  steps: StepEntry[];
  signals: HandlerEntry[];
  queries: HandlerEntry[];
  updates: HandlerEntry[];
}

/** What the engine needs to know of a workflow to start it, beside what the API shows. */
export interface WorkflowSettings {
  executionTimeoutMs?: number;
  retry?: RetryPolicy;
  disableTrace?: boolean;
}

/**
 * What of callers' values is wrong for certain, so that it can be refused before a worker has seen it: what does not fit
 * the schema. Without one, the schema that the entry shows is exact.
 */
export interface Accepted {
  schema?: JsonSchema;
  /** A message without a payload is taken as well. */
  orNothing?: true;
}

/** By what it is for; the schemas of those that are missing are left to the worker. */
export interface AcceptedInputs {
  input?: Accepted;
  signals?: Record<string, Accepted>;
  queries?: Record<string, Accepted>;
  updates?: Record<string, Accepted>;
}

/** How old what is known of a catalog may be where a start is judged by it and made as it says. */
export const RECENT_CATALOG_MS = 1_000;

export interface RegisteredWorkflow {
  entry: CatalogEntry;
  settings: WorkflowSettings;
  /** Missing where the schemas only describe what is expected, as those of other makers' workers do. */
  accepts?: AcceptedInputs;
  /** Whether the definition declares its signals, so that an undeclared name can be refused. */
  declaresSignals: boolean;
  /**
   * All steps that the worker can run for it: those of the entry, those that shared code brings along, and the built-in
   * ones. Without it the worker is taken to have whatever the workflow asks for.
   */
  stepNames?: string[];
  /** Of the code that it was registered with; set by the engine. */
  version?: CodeVersion;
}

export interface Catalog {
  catalog: string;
  /** Each of the newest code that has it. */
  workflows: RegisteredWorkflow[];
  /** What older code has under the same names, newest first; its runs are still made by it. */
  older?: RegisteredWorkflow[];
}

/** A workflow as each code has it that its runs may be made by, the newest first. */
export function variantsOf(catalog: Catalog | undefined, workflowType: string): RegisteredWorkflow[] {
  const { workflows = [], older = [] } = catalog ?? {};
  return [...workflows, ...older].filter(({ entry }) => entry.name === workflowType);
}

/** The signals that the workflow may have handlers for; undefined where some of its code does not declare them. */
export function declaredSignals(variants: readonly RegisteredWorkflow[]): string[] | undefined {
  if (variants.length === 0 || variants.some(({ declaresSignals }) => !declaresSignals)) return undefined;
  return [...new Set(variants.flatMap(({ entry }) => entry.signals.map(({ name }) => name)))];
}

/** How an author writes a retry policy. */
export interface RetryOptions {
  initialInterval?: Duration;
  backoffCoefficient?: number;
  maximumInterval?: Duration;
  maximumAttempts?: number;
  nonRetryableErrorTypes?: string[];
}
