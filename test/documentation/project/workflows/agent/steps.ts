import { step, stepContext, z } from 'perdure';
import { decision, message } from './conversation.js';

/** Stands for a call of a model: it doubles until it is content. */
export const think = step({
  name: 'think',
  inputSchema: z.object({ goal: z.number(), messages: z.array(message) }),
  outputSchema: decision,
  options: { startToCloseTimeout: '2m', heartbeatTimeout: '30s', retry: { maximumAttempts: 5 } },
  fn: async ({ goal, messages }) => {
    const { heartbeat } = stepContext();
    heartbeat({ messages: messages.length });
    const last = [...messages].reverse().find(({ role }) => role === 'tool');
    const value = last === undefined ? 1 : Number(last.text);
    if (value >= goal) return { kind: 'answer' as const, text: `it is ${value}` };
    return { kind: 'tool' as const, tool: 'double' as const, argument: value };
  },
});

export const callTool = step({
  name: 'callTool',
  inputSchema: z.object({ tool: z.enum(['add', 'double']), argument: z.number() }),
  outputSchema: z.number(),
  fn: async ({ tool, argument }) => (tool === 'double' ? argument * 2 : argument + 1),
});
