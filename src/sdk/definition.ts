/**
 * What `workflow({…})` and `step({…})` hold, and how a process that loads files finds it.
 *
 * Definitions are found by a registered symbol rather than by class, since two instances of this package can be
 * loaded side by side (the service's own and the project's).
 */

import { isPauseSignal, PAUSED_BY_CALL } from '../core/run/pause.js';
import type { RetryPolicy } from '../core/run/retry.js';
import { isMessageName, isName, MAX_MESSAGE_NAME_LENGTH, MAX_NAME_LENGTH } from '../core/values/names.js';
import { DefinitionError } from './errors.js';
import { checkOptions, described } from './options.js';
import type { MessageKind, StepDefaults } from './runtime.js';
import { isSchema, type Schema } from './schema.js';

const WORKFLOW = Symbol.for('perdure.workflow');
const STEP = Symbol.for('perdure.step');

export interface HandlerDeclaration {
  description?: string;
  inputSchema?: Schema;
  outputSchema?: Schema;
}
export type HandlerDeclarations = Record<string, HandlerDeclaration>;

export interface StepDefinition {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: Schema;
  readonly outputSchema?: Schema;
  readonly options: StepDefaults;
  /** Absent in a reference: the workflow side of a step knows its name and options only. */
  readonly fn?: (input: never) => unknown;
}

export interface WorkflowDefinition {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: Schema;
  readonly outputSchema?: Schema;
  readonly aliases: readonly string[];
  /** Undefined when the definition declares none, so that any name is accepted. */
  readonly signals?: HandlerDeclarations;
  readonly queries?: HandlerDeclarations;
  readonly updates?: HandlerDeclarations;
  readonly stepDefaults: StepDefaults;
  readonly executionTimeoutMs?: number;
  readonly retry?: RetryPolicy;
  readonly disableTrace: boolean;
  readonly fn: (input: never, context: never) => unknown;
}

/** The definition that `value` carries, when it came from `workflow({…})`. */
export function workflowDefinition(value: unknown): WorkflowDefinition | undefined {
  return carried(value, WORKFLOW) as WorkflowDefinition | undefined;
}

/** The definition that `value` carries, when it came from `step({…})`. */
export function stepDefinition(value: unknown): StepDefinition | undefined {
  return carried(value, STEP) as StepDefinition | undefined;
}

function carried(value: unknown, brand: symbol): unknown {
  return typeof value === 'function' ? (value as unknown as Record<symbol, unknown>)[brand] : undefined;
}

export function brandWorkflow<F extends object>(callable: F, definition: WorkflowDefinition): F {
  return brand(callable, WORKFLOW, definition);
}

export function brandStep<F extends object>(callable: F, definition: StepDefinition): F {
  return brand(callable, STEP, definition);
}

function brand<F extends object>(callable: F, symbol: symbol, definition: { name: string }): F {
  Object.defineProperty(callable, symbol, { value: Object.freeze(definition) });
  Object.defineProperty(callable, 'name', { value: definition.name });
  return Object.freeze(callable);
}

/** `kind` is what has the name, with its article. */
export function checkName(kind: string, name: unknown): asserts name is string {
  if (isName(name)) return;
  throw new DefinitionError(
    `${JSON.stringify(name) ?? String(name)} is not a name for ${kind}: use letters, digits and _, not starting with a digit, at most ${MAX_NAME_LENGTH} characters`,
  );
}

/** `kind` is the function that was called, such as `step`. */
export function checkDefinition(kind: string, given: unknown): void {
  if (typeof given !== 'object' || given === null) {
    throw new DefinitionError(`${kind}() needs its definition: ${kind}({ name, fn })`);
  }
}

export function checkFn(what: string, fn: unknown): void {
  if (typeof fn !== 'function') throw new DefinitionError(`${what} needs fn, a function`);
}

/** The catalog of a server takes nothing but a text, and without it none of a worker's workflows. */
export function checkDescription(what: string, description: unknown): void {
  if (description === undefined || description === null || typeof description === 'string') return;
  throw new DefinitionError(`description of ${what} must be a text, and is ${described(description)}`);
}

/** Of a switch, where `'no'` would be taken for yes or do nothing. */
export function checkSwitch(what: string, value: unknown): void {
  if (value === undefined || typeof value === 'boolean') return;
  throw new DefinitionError(`${what} must be true or false, and is ${described(value)}`);
}

export function checkSchemas(
  what: string,
  definition: { inputSchema?: unknown; outputSchema?: unknown },
): void {
  for (const key of ['inputSchema', 'outputSchema'] as const) {
    const schema = definition[key];
    if (schema !== undefined && !isSchema(schema)) {
      throw new DefinitionError(
        `${key} of ${what} is not a schema: pass a zod schema or another Standard Schema`,
      );
    }
  }
}

/** What a declaration of a message may say. */
const DECLARATION = ['description', 'inputSchema', 'outputSchema'] as const;

/**
 * The messages of one kind that a workflow declares. What `defineSignal` and its like give is a declaration as well, and
 * then stands under its own name.
 */
export function checkDeclarations(
  what: string,
  kind: MessageKind,
  declarations: HandlerDeclarations | undefined,
): void {
  if (declarations === undefined) return;
  if (typeof declarations !== 'object' || declarations === null || Array.isArray(declarations)) {
    throw new DefinitionError(
      `the ${kind}s of ${what} must be an object: name to { ${DECLARATION.map((key) => `${key}?`).join(', ')} }`,
    );
  }
  for (const [name, declaration] of Object.entries(declarations)) {
    const label = `${kind} "${name}" of ${what}`;
    const { kind: definedKind, name: definedName } = (declaration ?? {}) as {
      kind?: unknown;
      name?: unknown;
    };
    if (definedKind === undefined) {
      checkOptions(`the declaration of ${label}`, declaration, DECLARATION);
    } else if (definedKind !== kind || definedName !== name) {
      throw new DefinitionError(
        `${label} is declared by the definition of ${String(definedKind)} "${String(definedName)}": they must be the same`,
      );
    }
    checkMessageName(kind, name);
    checkDescription(label, declaration.description);
    checkSchemas(label, declaration);
  }
}

export function checkMessageName(kind: MessageKind, name: unknown): asserts name is string {
  // A run that could send it would pause those of others, and one that had a handler for it would wait in vain.
  if (isMessageName(name) && isPauseSignal(name))
    throw new DefinitionError(`"${name}" is not a name for a ${kind}: ${PAUSED_BY_CALL}`);
  if (isMessageName(name)) return;
  throw new DefinitionError(
    `${JSON.stringify(name) ?? String(name)} is not a name for a ${kind}: use 1 to ${MAX_MESSAGE_NAME_LENGTH} characters, without halves of surrogate pairs`,
  );
}
