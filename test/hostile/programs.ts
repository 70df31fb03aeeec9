/** What one run can do to the service. Each begins, and may answer with what has to be done at the end. */
import { readFileSync } from 'node:fs';
import type { Service } from '../recovery/service.js';

export interface HostileProgram {
  name: string;
  begin(service: Service): Promise<(() => Promise<void>) | undefined>;
}

const starts = (name: string, workflow: string): HostileProgram => ({
  name,
  async begin(service) {
    await service.startRun(workflow, null);
    return undefined;
  },
});

const says = (name: string, path: string): HostileProgram => ({
  name,
  async begin(service) {
    const workflowId = await service.startRun('messages', null);
    const answer = service.post(`/workflow/${workflowId}/${path}`, null);
    return async () => {
      const { status } = await answer;
      if (status < 400 || status >= 500) throw new Error(`${path} was answered with ${status}`);
    };
  },
});

export const HOSTILE_PROGRAMS: readonly HostileProgram[] = [
  starts('endless turn', 'turn_loops'),
  starts('endless step', 'step_loops'),
  starts('endless step, by promises', 'step_loopsLater'),
  says('endless query', 'query/endless'),
  says('endless validator', 'update/endless'),
  starts('step that exits', 'step_exits'),
  starts('step that is killed', 'step_isKilled'),
  starts('step that fills the heap', 'step_fillsHeap'),
  starts('turn that fills the heap', 'turn_fills_heap'),
  {
    name: 'frozen process',
    async begin(service) {
      // The one with the most behind it is the one that works.
      const [busiest] = service.workerPids().sort((a, b) => processorTime(b) - processorTime(a));
      process.kill(busiest!, 'SIGSTOP');
      return undefined;
    },
  },
  starts('long message of a step', 'step_throwsLongMessage'),
  starts('long message of a turn', 'turn_throws_long_message'),
  starts('replaced built-ins', 'step_replacesBuiltIns'),
  starts('tree of children', 'tree'),
  starts('chain without end', 'chain'),
  {
    name: 'hostile pattern',
    async begin(service) {
      const body = { workflowName: 'pattern', input: { text: `${'a'.repeat(32)}!` } };
      const answer = service.post('/workflow/start', body).catch(() => undefined);
      return async () => void (await answer);
    },
  },
];

function processorTime(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}
