import { condition, defineQuery, defineSignal, defineUpdate, setHandler, workflow } from 'perdure';

const add = defineSignal<[number]>('add');
const addAndTell = defineUpdate<{ total: number }, [number]>('addAndTell');
const current = defineQuery<{ total: number }>('total');

export default workflow({
  name: 'counter',
  description: 'Adds up what it is told, for ever',
  fn: async () => {
    let total = 0;
    setHandler(add, (amount) => {
      total += amount;
    });
    setHandler(addAndTell, (amount) => {
      total += amount;
      return { total };
    });
    setHandler(current, () => ({ total }));
    await condition(() => total < 0);
  },
});
