import { defineQuery, FatalError, setHandler, workflow, z } from 'perdure';
import type { Message } from './conversation.js';
import { addUp, lookUpPrice, think } from './steps.js';

const conversationSoFar = defineQuery<Message[]>('conversation');
const TOOLS = { lookUpPrice, addUp };

export default workflow({
  name: 'agent',
  description: 'Answers a question with a model and tools, and says what that costs',
  inputSchema: z.object({
    question: z.string(),
    /** Where the model is: `node examples/agent/model.mjs` runs one that costs nothing. */
    modelUrl: z.url().default('http://127.0.0.1:4010'),
    maxTurns: z.number().int().positive().default(20),
  }),
  outputSchema: z.object({ answer: z.string(), turns: z.number() }),
  fn: async ({ question, modelUrl, maxTurns }) => {
    const conversation: Message[] = [{ role: 'user', text: question }];
    setHandler(conversationSoFar, () => conversation);
    for (let turns = 1; turns <= maxTurns; turns++) {
      const reply = await think({ modelUrl, conversation });
      if ('answer' in reply) return { answer: reply.answer, turns };
      conversation.push({ role: 'assistant', text: `${reply.tool}: ${reply.argument}` });
      conversation.push({ role: 'tool', text: await TOOLS[reply.tool](reply.argument) });
    }
    throw new FatalError(`there is no answer after ${maxTurns} turns`);
  },
});
