/** Takes every kind of message, and waits until it is told to end. */
import { condition, defineQuery, defineSignal, defineUpdate, setHandler, workflow, z } from 'perdure';

const say = defineSignal<[{ text: string }]>('say');
const end = defineSignal('end');
const said = defineQuery<string[]>('said');
const count = defineQuery<number, [{ containing: string }]>('count');
const replace = defineUpdate<string, [{ index: number; text: string }]>('replace');

export default workflow({
  name: 'talker',
  description: 'Keeps what it is told',
  inputSchema: z.object({ greeting: z.string().default('hello') }),
  outputSchema: z.array(z.string()),
  signals: {
    say: { description: 'Something to keep', inputSchema: z.object({ text: z.string().min(1) }) },
    end: { description: 'Ends it' },
  },
  queries: {
    said: { description: 'All that was kept', outputSchema: z.array(z.string()) },
    count: { inputSchema: z.object({ containing: z.string() }), outputSchema: z.number() },
  },
  updates: {
    replace: {
      description: 'Something else in place of what was kept',
      inputSchema: z.object({ index: z.int().min(0), text: z.string() }),
      outputSchema: z.string(),
    },
  },
  fn: async ({ greeting }) => {
    const kept = [greeting];
    let isOver = false;
    setHandler(say, ({ text }) => void kept.push(text));
    setHandler(end, () => {
      isOver = true;
    });
    setHandler(said, () => kept);
    setHandler(count, ({ containing }) => kept.filter((text) => text.includes(containing)).length);
    setHandler(replace, ({ index, text }) => {
      const before = kept[index];
      if (before === undefined) throw new Error(`There is nothing at ${index}`);
      kept[index] = text;
      return before;
    });
    await condition(() => isOver);
    return kept;
  },
});
