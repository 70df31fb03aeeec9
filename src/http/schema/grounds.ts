/** By what the door may refuse a value: nothing but a schema that is known to take all that the workflow takes. */
import type { Accepted, AcceptedInputs, HandlerEntry, JsonSchema } from '../../core/catalog.js';

export type MessageKind = 'signals' | 'queries' | 'updates';

export interface Grounds {
  schema: JsonSchema;
  /** Nothing at all is taken as well. */
  orNothing: boolean;
}

/** What is published of a workflow, and what is known of what it takes. */
export interface Takes {
  entry: { inputSchema: JsonSchema | null } & Record<MessageKind, HandlerEntry[]>;
  accepts?: AcceptedInputs;
}

/** Undefined where the worker alone can tell. */
export function groundsForInput({ entry, accepts }: Takes): Grounds | undefined {
  return groundsOf(accepts?.input, entry.inputSchema);
}

/** An input that is null is none where the workflow takes none: its caller cannot leave it out. */
export const inputAsTaken = (input: unknown, grounds: Grounds | undefined): unknown =>
  input === null && grounds?.orNothing ? undefined : input;

export function groundsForMessage(
  { entry, accepts }: Takes,
  kind: MessageKind,
  name: string,
): Grounds | undefined {
  const ofKind = accepts?.[kind];
  const accepted = ofKind && Object.hasOwn(ofKind, name) ? ofKind[name] : undefined;
  return groundsOf(accepted, entry[kind].find((handler) => handler.name === name)?.inputSchema);
}

function groundsOf(
  accepted: Accepted | undefined,
  published: JsonSchema | null | undefined,
): Grounds | undefined {
  const schema = accepted?.schema ?? published;
  return accepted && schema ? { schema, orNothing: accepted.orNothing === true } : undefined;
}
