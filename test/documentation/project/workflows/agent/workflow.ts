import { defineQuery, FatalError, setHandler, uuid4, workflow, z } from 'perdure';
import { type Message, message } from './conversation.js';
import { callTool, think } from './steps.js';

const transcript = defineQuery<Message[]>('transcript');

/** A loop of a model and its tools, bounded, that can be looked at while it goes on. */
export default workflow({
  name: 'agent',
  inputSchema: z.object({
    goal: z.number(),
    maxTurns: z.number().int().default(20),
    messages: z.array(message).default([]),
  }),
  outputSchema: z.object({ answer: z.string(), turns: z.number(), conversation: z.string() }),
  fn: async ({ goal, maxTurns, messages: earlier }, context) => {
    const messages: Message[] = [...earlier];
    const conversation = uuid4();
    setHandler(transcript, () => [...messages]);
    for (let turn = 1; turn <= maxTurns; turn++) {
      const next = await think({ goal, messages });
      if (next.kind === 'answer') {
        messages.push({ role: 'assistant', text: next.text });
        return { answer: next.text, turns: turn, conversation };
      }
      const result = await callTool({ tool: next.tool, argument: next.argument });
      messages.push({ role: 'tool', text: String(result) });
      if (context.control.isContinueAsNewSuggested()) {
        return context.control.continueAsNew({ goal, maxTurns: maxTurns - turn, messages });
      }
    }
    throw new FatalError(`no answer within ${maxTurns} turns`);
  },
});
