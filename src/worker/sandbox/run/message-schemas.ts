/**
 * The schemas of one message: those of its own definition, or what the workflow declares under its name. They parse at
 * once, since a message is delivered in the order it came and a query has to be answered now.
 */
import type { Payload } from '../../../core/values/json.js';
import type { HandlerDeclaration } from '../../../sdk/definition.js';
import { DefinitionError } from '../../../sdk/errors.js';
import type { HandlerOptions, MessageKind } from '../../../sdk/runtime.js';
import { parseNow, type Schema } from '../../../sdk/schema.js';
import { type MessageArguments, readArguments } from './message-arguments.js';

export class MessageSchemas {
  readonly #what: string;
  readonly #input: Schema | undefined;
  readonly #output: Schema | undefined;

  /** @throws DefinitionError when the two contradict each other */
  constructor(
    kind: MessageKind,
    name: string,
    own: Pick<HandlerOptions, 'inputSchema' | 'outputSchema'>,
    declared: HandlerDeclaration = {},
  ) {
    this.#what = `${kind} "${name}"`;
    for (const key of ['inputSchema', 'outputSchema'] as const) {
      if (own[key] && declared[key] && own[key] !== declared[key]) {
        throw new DefinitionError(
          `${this.#what} has an ${key} of its own, and the workflow declares another one for it: declare the definition itself, such as { ${name} }`,
        );
      }
    }
    this.#input = own.inputSchema ?? declared.inputSchema;
    this.#output = own.outputSchema ?? declared.outputSchema;
  }

  /** What the handler is called with, or why it is not. */
  read(input: Payload[]): MessageArguments {
    return readArguments(input, this.#input, this.#what);
  }

  /** @throws ValidationError, and what the schema throws */
  parseResult(value: unknown): unknown {
    return parseNow(this.#output, value, `result of ${this.#what}`);
  }
}
