import { sleep, workflow } from 'perdure';

export default workflow({
  name: 'sleeping',
  description: 'Sleeps for the given time',
  fn: async (input: { ms: number }) => {
    await sleep(input.ms);
    return { slept: input.ms };
  },
});
