/** From the definitions of a folder to what the engine and the API know of its workflows. */

import { schemaProblem } from '../../core/bounds/catalog-bounds.js';
import type {
  Accepted,
  AcceptedInputs,
  CatalogEntry,
  HandlerEntry,
  JsonSchema,
  RegisteredWorkflow,
  StepEntry,
} from '../../core/catalog.js';
import { acceptedInput, takesNothing } from '../../sdk/accepted.js';
import type { HandlerDeclarations, StepDefinition, WorkflowDefinition } from '../../sdk/definition.js';
import { jsonSchemaOf, type Schema } from '../../sdk/schema.js';
import type { LoadProblem } from './load-error.js';

/** A workflow as it was found. */
export interface FoundWorkflow {
  /** Relative to the folder. */
  file: string;
  exportName: string;
  definition: WorkflowDefinition;
}

/** A step as it was found, and where. */
export interface FoundStep {
  file: string;
  definition: StepDefinition;
}

/** Workflows whose names or aliases clash with each other's: every problem names both files. */
export function clashes(found: readonly FoundWorkflow[]): LoadProblem[] {
  const problems: LoadProblem[] = [];
  const owners = new Map<string, FoundWorkflow>();
  for (const workflow of found) {
    const { file, definition } = workflow;
    const owner = owners.get(definition.name);
    if (!owner) owners.set(definition.name, workflow);
    else {
      problems.push({
        file,
        message: `the workflow "${definition.name}" is also defined in ${owner.file}. Give one of them another name`,
      });
    }
  }
  const names = new Set(owners.keys());
  for (const workflow of found) {
    const { file, definition } = workflow;
    for (const alias of definition.aliases) {
      const owner = owners.get(alias);
      if (!owner) owners.set(alias, workflow);
      else {
        const what = names.has(alias) ? 'the name' : 'an alias';
        problems.push({
          file,
          message: `the alias "${alias}" of workflow "${definition.name}" is ${what} of workflow "${owner.definition.name}" in ${owner.file}. Remove it from one of them`,
        });
      }
    }
  }
  return problems;
}

/** Steps of one workflow by name. The same step met twice, such as over a re-export, is one. */
export function stepsByName(
  workflow: FoundWorkflow,
  steps: readonly FoundStep[],
  problems: LoadProblem[],
): Map<string, StepDefinition> {
  const byName = new Map<string, FoundStep>();
  for (const step of steps) {
    const { name } = step.definition;
    const known = byName.get(name);
    if (!known) byName.set(name, step);
    // The same code with other options, as `with` gives it, is the same step.
    else if (known.definition.fn !== step.definition.fn) {
      const where = known.file === step.file ? 'twice in this file' : `in ${known.file} as well`;
      problems.push({
        file: step.file,
        message: `the workflow "${workflow.definition.name}" has two steps named "${name}": it is defined ${where}. Give one of them another name`,
      });
    }
  }
  return new Map([...byName].map(([name, { definition }]) => [name, definition]));
}

const SMALLER =
  'A part that is used several times is written out each time unless it has a name, such as .meta({ id: "Address" })';

export function register(
  { file, definition }: FoundWorkflow,
  steps: Iterable<StepDefinition>,
  problems: LoadProblem[],
): RegisteredWorkflow {
  const what = `workflow "${definition.name}"`;
  const schema = (of: string, given: Schema | undefined, io: 'input' | 'output'): JsonSchema | null => {
    if (!given) return null;
    try {
      const described = jsonSchemaOf(given, io);
      const problem = described ? schemaProblem(described) : undefined;
      if (problem !== undefined) throw new Error(`the ${io} schema ${problem}. ${SMALLER}`);
      return described;
    } catch (error) {
      problems.push({ file, message: `${of}: ${(error as Error).message}` });
      return null;
    }
  };
  const handlers = (kind: string, declared: HandlerDeclarations = {}): HandlerEntry[] =>
    Object.entries(declared).map(([name, { description, inputSchema, outputSchema }]) => {
      const input = schema(`${kind} "${name}" of ${what}`, inputSchema, 'input');
      const output = schema(`${kind} "${name}" of ${what}`, outputSchema, 'output');
      return {
        name,
        ...(description === undefined ? {} : { description }),
        ...(input ? { inputSchema: input } : {}),
        ...(output ? { outputSchema: output } : {}),
      };
    });
  const stepEntries = [...steps].map(
    (step): StepEntry => ({
      name: step.name,
      description: step.description ?? null,
      inputSchema: schema(`step "${step.name}" of ${what}`, step.inputSchema, 'input'),
      outputSchema: schema(`step "${step.name}" of ${what}`, step.outputSchema, 'output'),
    }),
  );
  const entry = {
    name: definition.name,
    description: definition.description ?? null,
    path: file,
    inputSchema: schema(what, definition.inputSchema, 'input'),
    outputSchema: schema(what, definition.outputSchema, 'output'),
    aliases: [...definition.aliases],
    steps: stepEntries,
    signals: handlers('signal', definition.signals),
    queries: handlers('query', definition.queries),
    updates: handlers('update', definition.updates),
  };
  return {
    entry,
    accepts: acceptedInputs(definition, entry),
    settings: {
      ...(definition.executionTimeoutMs === undefined
        ? {}
        : { executionTimeoutMs: definition.executionTimeoutMs }),
      ...(definition.retry === undefined ? {} : { retry: definition.retry }),
      ...(definition.disableTrace ? { disableTrace: true } : {}),
    },
    declaresSignals: definition.signals !== undefined,
  };
}

/** What the door may refuse by, beside what the entry shows. */
function acceptedInputs(definition: WorkflowDefinition, entry: CatalogEntry): AcceptedInputs {
  const ofHandlers = (kind: 'signals' | 'queries' | 'updates') => {
    const accepted = entry[kind].flatMap(({ name, inputSchema }) => {
      const one = acceptedOf(definition[kind]?.[name]?.inputSchema, inputSchema);
      return one ? [[name, one] as const] : [];
    });
    return accepted.length > 0 ? { [kind]: Object.fromEntries(accepted) } : {};
  };
  const input = acceptedOf(definition.inputSchema, entry.inputSchema);
  return {
    ...(input && { input }),
    ...ofHandlers('signals'),
    ...ofHandlers('queries'),
    ...ofHandlers('updates'),
  };
}

function acceptedOf(
  given: Schema | undefined,
  published: JsonSchema | null | undefined,
): Accepted | undefined {
  if (!given || !published) return undefined;
  const schema = acceptedInput(given);
  if (!schema || schemaProblem(schema) !== undefined) return undefined;
  const isAsPublished = JSON.stringify(schema) === JSON.stringify(published);
  return { ...(!isAsPublished && { schema }), ...(takesNothing(given) && { orNothing: true as const }) };
}
