import { workflow } from 'perdure';
import type { Place } from '../shared/ledger.js';
import { note } from '../shared/steps/recording.js';

let moduleCounter = 0;
const moduleList: string[] = [];

/** Module state belongs to one run, and stays with it from turn to turn. */
export const moduleState = workflow({
  name: 'moduleState',
  fn: async (input) => {
    const place = input as Place;
    for (let turn = 0; turn < 3; turn++) {
      moduleCounter++;
      moduleList.push(place.key);
      await note({ ...place, value: moduleCounter });
    }
    return { moduleCounter, moduleList };
  },
});
