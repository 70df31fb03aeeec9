/** What a worker registers and the API lists: the workflows of one catalog with their schemas. */
import type { Duration } from './duration.js';
import type { RetryPolicy } from './retry.js';

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

export interface RegisteredWorkflow {
  entry: CatalogEntry;
  settings: WorkflowSettings;
  /** Whether the definition declares its signals, so that an undeclared name can be refused. */
  declaresSignals: boolean;
}

export interface Catalog {
  catalog: string;
  workflows: RegisteredWorkflow[];
}

/** How an author writes a retry policy. */
export interface RetryOptions {
  initialInterval?: Duration;
  backoffCoefficient?: number;
  maximumInterval?: Duration;
  maximumAttempts?: number;
  nonRetryableErrorTypes?: string[];
}
