import { z } from 'perdure';

export const Message = z.object({ role: z.enum(['user', 'assistant', 'tool']), text: z.string() });
export type Message = z.infer<typeof Message>;

/** What the model wants: a tool to be used, or to be done. */
export const Reply = z.union([
  z.object({ tool: z.enum(['lookUpPrice', 'addUp']), argument: z.string() }),
  z.object({ answer: z.string() }),
]);
export type Reply = z.infer<typeof Reply>;
