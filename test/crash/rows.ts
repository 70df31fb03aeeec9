/** The other rows of the table of faults: each makes its fault while clients are at work, and says what must hold then. */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { EmbeddedEngine } from '../../src/embedded/index.js';
import { checkDataFolder } from '../../src/embedded/store/check/check.js';
import { openDatabase } from '../../src/embedded/store/folder/database.js';
import { MIGRATIONS } from '../../src/embedded/store/folder/schema.js';
import { freePort, Service } from '../recovery/service.js';
import { checkDisk, isFine } from './checks.js';
import { readDisk } from './disk.js';
import { monotonicMs } from './operations.js';
import { crashingAt } from './points.js';
import { shimmed } from './shim/build.js';
import { Trial, WORKFLOWS } from './trial.js';
import { until } from './until.js';

const WAIT_MS = 60_000;

export interface Row {
  name: string;
  needsShim: boolean;
  /** Clocks that are set cannot be held against what steps wrote down. */
  setsClock?: boolean;
  flags?: string[];
  /** Makes the fault; the trial is settled and judged afterwards. Answers with what was seen, for the table. */
  make(trial: Trial): Promise<string>;
}

/** Clients are at work while `during` goes on. */
async function underLoad(trial: Trial, during: () => Promise<void>): Promise<void> {
  let isOver = false;
  const load = trial.load.run(() => isOver);
  try {
    await during();
  } finally {
    isOver = true;
    await load;
  }
}

const require = (holds: boolean, what: string): void => {
  if (!holds) throw new Error(what);
};

/** The process ends by itself; its exit code, null when it was killed. */
async function ends(service: Service): Promise<number | null> {
  await until('the server ends by itself', WAIT_MS, () => service.isGone).catch(async (error: Error) => {
    await service.kill();
    throw new Error(`${error.message}: ${service.output.slice(-300)}`);
  });
  return service.exit();
}

/** Places of the shim: where it writes that it struck, and what arms it. */
function faulty(trial: Trial, fault: string) {
  const reached = join(trial.folder.path, 'shim-reached');
  const armed = join(trial.folder.path, 'shim-armed');
  rmSync(reached, { force: true });
  return {
    env: shimmed(trial.dataDir, { FAULT: fault, REACHED: reached, ARMED: armed }),
    arm: () => writeFileSync(armed, ''),
    disarm: () => rmSync(armed, { force: true }),
    strikes: () => (existsSync(reached) ? readFileSync(reached, 'utf8').split('\n').length - 1 : 0),
  };
}

/** I19: after a sync has failed nothing is acknowledged, and the process ends by itself with an error. */
function failedSync(nth: number, isSticky: boolean): Row {
  return {
    name: `F09 sync ${nth} fails${isSticky ? ', and all later ones' : ' once'}`,
    needsShim: true,
    async make(trial) {
      const fault = faulty(trial, `sync:-wal:${nth}:EIO${isSticky ? ':sticky' : ''}`);
      const service = await trial.start(fault.env);
      await service.untilWorkers(1);
      let struckAt = 0;
      await underLoad(trial, async () => {
        await until('there is work', WAIT_MS, () => trial.operations.count('acknowledged') > 20);
        fault.arm();
        await until('the sync fails', WAIT_MS, () => fault.strikes() > 0);
        struckAt = monotonicMs();
        await until('the server has ended', WAIT_MS, () => service.isGone);
      });
      const endedMs = monotonicMs() - struckAt;
      fault.disarm();
      const code = await service.exit();
      trial.ended();
      require(code !== 0 && code !== null, `it ended with ${code}`);
      const told = trial.operations.all.filter(
        ({ sentAt, outcome }) => sentAt > struckAt && outcome === 'acknowledged',
      );
      require(told.length === 0, `acknowledged after the failure: ${told.map(({ id }) => id).join(', ')}`);
      trial.lookAtDisk();
      return `exit code ${code} after ${Math.round(endedMs)} ms, nothing acknowledged after it`;
    },
  };
}

/** F10: a write finds no space, for a while. */
function fullDisk(nth: number): Row {
  return {
    name: `F10 no space from write ${nth} on, for a while`,
    needsShim: true,
    async make(trial) {
      const fault = faulty(trial, `write:-wal:${nth}:ENOSPC:sticky`);
      const service = await trial.start(fault.env);
      await service.untilWorkers(1);
      let refused = 0;
      await underLoad(trial, async () => {
        await until('there is work', WAIT_MS, () => trial.operations.count('acknowledged') > 20);
        const { workflowId: known } = trial.operations.all.find(({ outcome }) => outcome === 'acknowledged')!;
        fault.arm();
        try {
          const isReady = async (status: number) => (await trial.wire.get('/ready')).status === status;
          await until('it is not ready', WAIT_MS, () => isReady(503));
          const start = { workflowName: 'book', workflowId: 'no-space', input: { effects: trial.effects } };
          const { status, text } = await trial.wire.send('POST', '/workflow/start', start);
          require(status === 507, `a start on a full disk is answered with ${status} ${text}`);
          const read = await trial.wire.get(`/workflow/${known}/status`);
          require(read.status === 200, `a read on a full disk is answered with ${read.status}`);
          fault.disarm();
          await until('it is ready again', WAIT_MS, () => isReady(200));
        } finally {
          fault.disarm();
        }
        refused = trial.operations.count('refused');
      });
      require(!service.isGone, 'it has ended');
      await trial.kill();
      trial.lookAtDisk();
      return `507 while full, reads went on, ready again without a restart; ${refused} refused, ${fault.strikes()} writes failed`;
    },
  };
}

/** C08 and C28: the process ends between two writes of SQLite, or in the middle of one. */
function killedInSqlite(row: string, fault: string, atStart = false): Row {
  return {
    name: `${row} killed at ${fault}`,
    needsShim: true,
    async make(trial) {
      await trial.start();
      await underLoad(trial, async () => {
        await trial.service!.untilWorkers(1);
        await new Promise((resolve) => setTimeout(resolve, 500));
        await trial.kill();
      });
      const shim = faulty(trial, fault);
      if (atStart) {
        shim.arm();
        await ends(trial.launch(shim.env));
        trial.ended();
      } else {
        const service = await trial.start(shim.env);
        await underLoad(trial, async () => {
          shim.arm();
          await until('the write is reached', WAIT_MS, () => service.isGone);
        });
        trial.ended();
      }
      trial.kills++;
      shim.disarm();
      require(shim.strikes() === 1, `it was reached ${shim.strikes()} times`);
      trial.lookAtDisk();
      return 'reached, everything is there';
    },
  };
}

const HOUR_MS = 3_600_000;

/** F18: somebody sets the clock. */
function clockJump(name: string, offsetMs: number): Row {
  return {
    name: `F18 the clock is set ${name}, and right again`,
    needsShim: true,
    setsClock: true,
    async make(trial) {
      const clock = join(trial.folder.path, 'clock');
      writeFileSync(clock, '0');
      const service = await trial.start(shimmed(trial.dataDir, { CLOCK: clock }));
      await service.untilWorkers(1);
      await underLoad(trial, async () => {
        for (const offset of [offsetMs, 0]) {
          const before = trial.operations.count('acknowledged');
          writeFileSync(clock, String(offset));
          await until(
            'calls are answered',
            WAIT_MS,
            () => trial.operations.count('acknowledged') > before + 30,
          );
          // Node makes that text once a second.
          await until('the server shows the time that was set', WAIT_MS, async () => {
            const { headers } = await fetch(`http://127.0.0.1:${service.options.port}/health`);
            const shownMs = new Date(headers.get('date')!).getTime() - Date.now();
            return Math.abs(shownMs - offset) < 60_000;
          });
        }
      });
      return 'calls went on, no time in a history goes back, no timer was early';
    },
  };
}

/** A process that is stopped and goes on, as when the machine was asleep. */
function frozen(who: 'server' | 'worker'): Row {
  return {
    name: `the ${who} is frozen for three seconds`,
    needsShim: false,
    async make(trial) {
      const service = await trial.start();
      await service.untilWorkers(1);
      await underLoad(trial, async () => {
        await until('there is work', WAIT_MS, () => trial.operations.count('acknowledged') > 30);
        const pids = who === 'server' ? [service.pid] : service.workerPids();
        for (const pid of pids) process.kill(pid, 'SIGSTOP');
        await new Promise((resolve) => setTimeout(resolve, 3_000));
        for (const pid of pids) if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGCONT');
        const before = trial.operations.count('acknowledged');
        await until(
          'calls are answered',
          WAIT_MS,
          () => trial.operations.count('acknowledged') > before + 20,
        );
      });
      return 'calls went on';
    },
  };
}

const secondProcess: Row = {
  name: 'F15 a second server on the same data',
  needsShim: false,
  async make(trial) {
    await trial.start();
    await underLoad(trial, async () => {
      await until('there is work', WAIT_MS, () => trial.operations.count('acknowledged') > 20);
      const { workflows } = trial.service!.options;
      const second = Service.launch({ workflows, dataDir: trial.dataDir, port: await freePort() });
      const code = await ends(second);
      require(code === 1 &&
        second.output.includes('in use'), `the second one ended with ${code}: ${second.output}`);
      const before = trial.operations.count('acknowledged');
      await until('the first goes on', WAIT_MS, () => trial.operations.count('acknowledged') > before + 20);
    });
    return 'refused, the first one undisturbed';
  },
};

/** C27: what is removed is removed whole, and nothing else with it. */
const retention: Row = {
  name: 'C27 killed while retention removes runs',
  needsShim: false,
  async make(trial) {
    await trial.start();
    const ids = Array.from({ length: 8 }, (_, index) => `old-${index}`);
    const input = { effects: trial.effects, plan: [] };
    for (const workflowId of ids) {
      await trial.wire.send('POST', '/workflow/run', { workflowName: 'chores', workflowId, input });
    }
    await trial.kill();
    const crash = crashingAt(trial, 'retention', 'before', 3);
    await ends(trial.launch(crash.env, trial.dataDir, ['--retention', '1s']));
    trial.ended();
    trial.kills++;
    require(crash.hasStruck(), 'it was not reached');
    const left = readDisk(trial.dataDir);
    const found = left.runs.filter(({ row }) => ids.includes(row.workflow_id)).length;
    require(found ===
      ids.length, `${found} of ${ids.length} runs are left of a removal that was not committed`);
    trial.lookAtDisk();
    return 'reached within the transaction, nothing half removed';
  },
};

/** C32: a catalog is known as a whole or not at all. */
const catalog: Row = {
  name: 'C32 killed while the first catalog is registered',
  needsShim: false,
  async make(trial) {
    for (const variant of ['before', 'inside', 'after'] as const) {
      rmSync(trial.dataDir, { recursive: true, force: true });
      const crash = crashingAt(trial, 'catalog', variant);
      await ends(trial.launch(crash.env));
      trial.ended();
      trial.kills++;
      require(crash.hasStruck(), `${variant}: it was not reached`);
    }
    await trial.start();
    return 'reached before, inside and after its commit; registered again';
  },
};

/** F05, F06, F07: a damaged file is refused or reported, or nothing is missing; never silently another state. */
const damage: Row = {
  name: 'F05-F07 the log cut off at 40 places, 40 bits flipped in the log and 40 in the database',
  needsShim: false,
  async make(trial) {
    await trial.start();
    await underLoad(trial, async () => {
      await trial.service!.untilWorkers(1);
      await until(
        'there is something to damage',
        WAIT_MS,
        () => trial.operations.count('acknowledged') > 100,
      );
      await trial.kill();
    });
    const cutOff = await damaged(trial, 'perdure.db-wal', (file, at) => truncateSync(file, at));
    const flippedInLog = await damaged(trial, 'perdure.db-wal', (file, at) => flipBit(trial, file, at));
    // An orderly end moves everything from the log into the database; before that its pages are not the ones in force.
    await trial.start();
    await trial.stop();
    const flipped = await damaged(trial, 'perdure.db', (file, at) => flipBit(trial, file, at));
    return `log cut off: ${cutOff}; bits in the log: ${flippedInLog}; bits in the database: ${flipped}; none silent`;
  },
};

const DAMAGES = 40;

/** Damages copies of the folder at places by chance, and sees to it that each is noticed where anything is missing. */
async function damaged(
  trial: Trial,
  name: string,
  damage: (file: string, at: number) => void,
): Promise<string> {
  const copy = join(trial.folder.path, 'damaged');
  const seen = { refused: 0, reported: 0, intact: 0 };
  for (let time = 0; time < DAMAGES; time++) {
    rmSync(copy, { recursive: true, force: true });
    cpSync(trial.dataDir, copy, { recursive: true });
    const file = join(copy, name);
    damage(file, trial.random.below(statSync(file).size));
    seen[await whatBecomesOf(copy, trial)]++;
  }
  require(seen.refused + seen.reported > 0, `${DAMAGES} damages of ${name} and nothing was noticed`);
  return `${seen.refused} refused, ${seen.reported} reported, ${seen.intact} intact`;
}

function flipBit(trial: Trial, file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes[at]! ^= 1 << trial.random.below(8);
  writeFileSync(file, bytes);
}

async function whatBecomesOf(dataDir: string, trial: Trial): Promise<'refused' | 'reported' | 'intact'> {
  try {
    if (checkDataFolder(dataDir).problems.length > 0) return 'reported';
    await EmbeddedEngine.open({ dataDir }).close();
  } catch (error) {
    if ((error as Error).name === 'DataFolderError') return 'refused';
    throw error;
  }
  const found = checkDisk(readDisk(dataDir), trial.operations, trial.load.servedBefore(Infinity));
  require(isFine(found), `damage that nobody noticed: ${JSON.stringify(found).slice(0, 500)}`);
  return 'intact';
}

/** C29: a migration that is killed at any of its statements is made anew by the next start. */
const migration: Row = {
  name: 'C29 killed at each statement of the migrations; F-schema: older is migrated, newer refused',
  needsShim: false,
  async make(trial) {
    const dataDir = join(trial.folder.path, 'old');
    const child = fileURLToPath(new URL('points/migrate.mjs', import.meta.url));
    let statements = 0;
    for (let nth = 1; ; nth++) {
      rmSync(dataDir, { recursive: true, force: true });
      const { signal, status, stderr } = spawnSync(process.execPath, [child, dataDir, String(nth)], {
        encoding: 'utf8',
      });
      if (status === 0) break;
      require(signal === 'SIGKILL', `the child ended with ${status}: ${stderr}`);
      statements++;
      const db = openDatabase(dataDir);
      const version = db.pragma('user_version', { simple: true });
      const integrity = db.pragma('integrity_check', { simple: true });
      db.close();
      require(version === MIGRATIONS.length &&
        integrity === 'ok', `after statement ${nth}: ${version}, ${integrity}`);
    }
    require(statements > MIGRATIONS.length, `only ${statements} statements`);
    const newer = new Database(join(dataDir, 'perdure.db'));
    newer.pragma(`user_version = ${MIGRATIONS.length + 1}`);
    newer.close();
    const refused = Service.launch({ workflows: WORKFLOWS, dataDir, port: await freePort() });
    await ends(refused);
    require(/made by a newer perdure/.test(refused.output), `a newer schema: ${refused.output}`);
    return `${statements} statements, each migrated by the next start; a newer schema is refused`;
  },
};

/** F40: a backup that is made during writes is a whole state, with all that was acknowledged before it began. */
const backup: Row = {
  name: 'F40 backup during writes, and its restore',
  needsShim: false,
  async make(trial) {
    const engine = EmbeddedEngine.open({ dataDir: trial.dataDir });
    const acknowledged: string[] = [];
    let isOver = false;
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let count = 0; !isOver; count++) {
        const workflowId = `backed-up-${writer}-${count}`;
        await engine.start({ workflowType: 'book', catalog: 'default', input: ['{}'], workflowId });
        acknowledged.push(workflowId);
      }
    });
    await until('there is something to copy', WAIT_MS, () => acknowledged.length > 300);
    const before = [...acknowledged];
    const restored = join(trial.folder.path, 'restored');
    mkdirSync(restored);
    await engine.backupTo(join(restored, 'perdure.db')).finally(() => {
      isOver = true;
    });
    const during = acknowledged.length - before.length;
    await Promise.all(writers);
    await engine.close();
    require(checkDataFolder(restored).problems.length === 0, 'the copy has problems');
    const copy = EmbeddedEngine.open({ dataDir: restored });
    try {
      for (const workflowId of before) await copy.describe({ workflowId });
    } finally {
      await copy.close();
    }
    rmSync(trial.dataDir, { recursive: true, force: true });
    return `${before.length} runs before it and ${during} during it; the copy is whole and starts`;
  },
};

const BACKUP_TRIES = 20;

/** C30: what dies over a backup has lost nothing, and what was made of the copy is not taken for one. */
const killedInBackup: Row = {
  name: 'C30 killed while a backup is made',
  needsShim: false,
  async make(trial) {
    const halfMade = () => readdirSync(trial.dataDir).filter((name) => name.startsWith('backup-'));
    for (let tries = 1; ; tries++) {
      const service = await trial.start();
      require(halfMade().length === 0, 'what was made of a copy is still there after a start');
      await service.untilWorkers(1);
      let isComplete = false;
      await underLoad(trial, async () => {
        const before = trial.operations.count('acknowledged');
        await until('there is work', WAIT_MS, () => trial.operations.count('acknowledged') > before + 50);
        const url = `http://127.0.0.1:${service.options.port}/backup`;
        const taking = fetch(url, { method: 'POST' })
          .then(async (response) => response.arrayBuffer())
          .then(() => {
            isComplete = true;
          })
          .catch(() => {});
        await until('a copy is begun', WAIT_MS, () => isComplete || halfMade().length > 0);
        await trial.kill();
        await taking;
      });
      if (!isComplete && halfMade().length > 0) break;
      require(tries < BACKUP_TRIES, 'it was not reached');
    }
    await trial.start();
    require(halfMade().length === 0, 'what was made of a copy is still there after a start');
    return 'reached, what was made of the copy is gone, everything else is there';
  },
};

export const ROWS: readonly Row[] = [
  ...[1, 5, 12].flatMap((nth) => [failedSync(nth, false), failedSync(nth, true)]),
  ...[1, 7].map(fullDisk),
  ...[1, 2, 5, 9].flatMap((nth) => [
    killedInSqlite('C08', `write:-wal:${nth}:kill`),
    killedInSqlite('C08', `write:-wal:${nth}:torn`),
  ]),
  killedInSqlite('C08', 'sync:-wal:3:kill'),
  killedInSqlite('C28', 'write:.db:1:kill', true),
  killedInSqlite('C28', 'write:.db:6:torn', true),
  killedInSqlite('C28', 'sync:.db:1:kill', true),
  killedInSqlite('C28', 'truncate:-wal:1:kill', true),
  clockJump('an hour ahead', HOUR_MS),
  clockJump('an hour back', -HOUR_MS),
  clockJump('ten years back', -10 * 365 * 24 * HOUR_MS),
  frozen('worker'),
  frozen('server'),
  secondProcess,
  retention,
  catalog,
  damage,
  migration,
  backup,
  killedInBackup,
];

/** One row on a folder of its own. */
export async function tryRow(row: Row, seed: number): Promise<{ trial: Trial; seen: string }> {
  const trial = await Trial.prepare({ seed, flags: row.flags, setsClock: row.setsClock });
  let seen: string;
  try {
    seen = await row.make(trial);
    await trial.settle();
  } catch (error) {
    trial.verdict.broken.push((error as Error).message);
    seen = 'FAILED';
  } finally {
    await trial.remove();
  }
  return { trial, seen };
}
