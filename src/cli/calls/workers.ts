/** `workers`: who is connected, with which code, and how much each has to do. */
import type { Workers } from '../../client/index.js';
import { out } from '../colours.js';
import type { Connection } from './connection.js';
import { agoText, plain, printJson, table } from './screen.js';

type Worker = Workers['workers'][number];

export async function workers({ quick }: Connection, { json }: { json?: boolean }): Promise<void> {
  const body = await quick.workers();
  if (json) return printJson(body);
  if (body.workers.length === 0) {
    process.stdout.write('no workers are connected: runs wait. `perdure worker` starts some\n');
    return;
  }
  // Ids last: nothing is done by them, and they are long.
  const load = ['CATALOG', 'STATE', 'TURNS', 'STEPS'];
  const head = [...load, 'VERSION', 'HOST', 'CONNECTED', 'SEEN', 'WORKFLOWS', 'ID'];
  process.stdout.write(`${table(head, body.workers.map(workerRow))}\n`);
}

/** What the engine does not know. */
const UNKNOWN = '-';

function workerRow(worker: Worker): string[] {
  const { id, catalog, turns, steps, version, host, pid, connectedAt, lastSeenAt, workflows } = worker;
  return [
    ...[plain(catalog), stateText(worker.state), slotsText(turns), slotsText(steps)],
    plain(version?.name ?? version?.id.slice(0, SHOWN_OF_HASH) ?? UNKNOWN),
    host === null ? UNKNOWN : plain(pid === null ? host : `${host}:${pid}`),
    connectedAt === null ? UNKNOWN : agoText(Date.parse(connectedAt)),
    agoText(Date.parse(lastSeenAt)),
    workflows === null ? UNKNOWN : plain(workflows.join(', ')),
    plain(id),
  ];
}

/** Enough to tell versions apart. */
const SHOWN_OF_HASH = 12;

const slotsText = (slots: Worker['turns']): string =>
  slots === null ? UNKNOWN : `${slots.running} of ${slots.slots}`;

const STATES: Record<NonNullable<Worker['state']>, string> = {
  working: out.green('working'),
  standingBy: 'standing by',
  draining: out.yellow('draining'),
  blocked: out.red('blocked'),
};

const stateText = (state: Worker['state']): string =>
  state === null ? UNKNOWN : (STATES[state] ?? plain(state));
