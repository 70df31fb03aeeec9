import { sleep, workflow } from 'perdure';

export default workflow({
  name: 'due',
  description: 'Sleeps until an instant: so many times "everyMs" after "from"',
  fn: async (input: { from: number; everyMs: number; number: string }) => {
    const at = input.from + Number(input.number) * input.everyMs;
    await sleep(Math.max(0, Math.ceil(at - Date.now())));
    return { at };
  },
});
