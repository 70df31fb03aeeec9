import { z } from 'perdure';

/** What both sides of the steps module need: plain data, so it stands in a plain module. */
export const message = z.object({ role: z.enum(['user', 'assistant', 'tool']), text: z.string() });
export type Message = z.infer<typeof message>;

export const decision = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('answer'), text: z.string() }),
  z.object({ kind: z.literal('tool'), tool: z.enum(['add', 'double']), argument: z.number() }),
]);
