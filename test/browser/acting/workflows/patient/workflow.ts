/** Waits for the answer to a callback, as it comes by feedback. */
import { condition, defineSignal, setHandler, workflow } from 'perdure';

const resume = defineSignal<[unknown]>('resume');

export default workflow({
  name: 'patient',
  description: 'Waits for an answer',
  fn: async () => {
    const answers: unknown[] = [];
    setHandler(resume, (answer) => void answers.push(answer));
    await condition(() => answers.length > 0);
    return answers[0];
  },
});
