import { workflow, z } from 'perdure';
import { composeGreeting } from './steps.js';

export default workflow({
  name: 'greeting',
  description: 'Greets somebody: the smallest workflow with a step',
  aliases: ['hello'],
  inputSchema: z
    .object({ name: z.string().min(1), language: z.enum(['en', 'de', 'fr']).default('en') })
    .meta({ examples: [{ name: 'Ada' }] }),
  outputSchema: z.object({ greeting: z.string() }),
  fn: async (input) => ({ greeting: await composeGreeting(input) }),
});
