/** Faults of machines, disks, clocks and code, by their numbers on the list of faults. */
import type { Row } from './row.js';

const SERVER = 'src/http/server.test.ts';
const ADMISSION = 'src/http/door/admission.test.ts';
const FORGED = 'test/security/forged.test.ts';
const LOAD = 'test/stream/load.test.ts';
const LIMITS = 'test/contract/cases/limits.ts';
const ISOLATION = 'test/contract/cases/isolation.ts';
const BLAME = 'src/worker/supervision/blame.test.ts';
const CRASH = 'test/crash/crash.test.ts';
const CRASH_ROWS = 'test/crash/rows.ts';
const LOST_COMMITS = 'src/embedded/whole/damaged/lost-commits.test.ts';
const DATABASE = 'src/embedded/store/folder/database.test.ts';
const SCENARIOS = 'test/overload/scenarios.ts';

export const FAULTS: Record<string, Row> = {
  F01: {
    attack: 'kill -9 at every named place',
    shown: [
      [CRASH, 'loses nothing, and each place is reached'],
      [CRASH_ROWS, 'C32 killed while the first catalog is registered'],
    ],
  },
  F02: {
    attack: 'kill -9 at any time, under load',
    shown: [[CRASH, 'nothing acknowledged is lost or applied twice']],
  },
  F03: { attack: 'kill -9 during recovery', shown: [['test/crash/campaign.ts', 'F03: twenty in a row']] },
  F04: {
    attack: 'power cuts',
    shown: [
      [CRASH, 'lose nothing that was acknowledged, and the server goes on'],
      [CRASH, 'lose acknowledged operations where the log is not synced'],
    ],
  },
  F05: {
    attack: 'a torn log',
    shown: [[LOST_COMMITS, 'are not suspected when a power cut has torn the last one']],
  },
  F06: {
    attack: 'bits flipped in the log',
    shown: [[LOST_COMMITS, 'wherever a bit of the write-ahead log has flipped']],
  },
  F07: {
    attack: 'bits flipped in the database',
    shown: [
      ['src/embedded/whole/damaged/damaged-page.test.ts', 'a page of the file that is damaged'],
      ['test/recovery/damage.test.ts', 'concerns nobody else: one run, and one catalog'],
    ],
  },
  F08: {
    attack: 'files that are removed, replaced or older',
    shown: [
      [LOST_COMMITS, 'are missed in an older copy of the database'],
      [
        'src/embedded/whole/damaged/file-taken-away.test.ts',
        'stops it, and nothing is written to another timeline',
      ],
    ],
  },
  F09: { attack: 'a sync that fails', shown: [[CRASH_ROWS, 'F09 sync']] },
  F10: {
    attack: 'a full disk',
    shown: [
      ['test/recovery/damage.test.ts', 'keeps the program neither from running nor from starting'],
      ['src/embedded/whole/damaged/full-disk.test.ts', 'starts and messages are refused, reads go on'],
    ],
  },
  F11: {
    attack: 'a folder that cannot be written to',
    shown: [[DATABASE, 'says in words why a folder cannot be opened']],
  },
  F12: {
    attack: 'somebody else who has the file',
    shown: [
      ['test/store-faults/engine.test.ts', 'that fails now and then is made again, and nobody notices'],
    ],
    because: 'the lock is exclusive, so no reader of another process can hold up a checkpoint',
  },
  F15: {
    attack: 'a second process',
    shown: [['test/recovery/recovery.test.ts', 'that a second process cannot take']],
  },
  F16: {
    attack: 'a second SQLite in the process',
    shown: [['test/architecture.test.ts', 'open the database with one library']],
  },
  F17: {
    attack: 'an SQLite with a known bug',
    shown: [[DATABASE, 'refuses an SQLite with a known corruption bug']],
  },
  F18: {
    attack: 'a clock that is set',
    shown: [
      ['src/embedded/upkeep/waking.test.ts', 'does not keep anything from becoming due'],
      ['src/embedded/upkeep/retention.test.ts', 'does not follow a jump forward'],
      ['test/temporal/engine.test.ts', 'a clock that is set back makes nobody wait longer'],
    ],
  },
  F19: { attack: 'a step that loops', shown: [[ISOLATION, 'a step that loops loses its time']] },
  F20: { attack: 'a step that loops by promises', shown: [[BLAME, "'microtasks'"]] },
  F21: { attack: 'a step that fills the heap', shown: [[ISOLATION, "'memory'"]] },
  F22: {
    attack: 'a step that fills memory outside of the heap',
    shown: [['src/worker/supervision/replacing.test.ts', 'buffers beyond the limit']],
  },
  F23: { attack: 'a step that ends its process', shown: [[ISOLATION, "'exitCleanly'"]] },
  F24: {
    attack: 'errors after the end of a step',
    shown: [[ISOLATION, 'an error after the step has returned']],
  },
  F25: {
    attack: 'output without end, forged messages',
    shown: [
      ['src/worker/supervision/supervisor.test.ts', 'may print without end'],
      [FORGED, 'changes nothing, and the honest worker goes on'],
    ],
  },
  F26: {
    attack: 'a step that takes processes, descriptors or files',
    because:
      'a step has the rights of the user that runs its worker; who does not trust it gives workers a user and limits of their own',
  },
  F27: {
    attack: 'a workflow that loops, or changes built-ins',
    shown: [
      [ISOLATION, 'a turn that never ends is given up'],
      ['test/contract/cases/meddling.ts', 'changes to what runs share do not reach another run'],
    ],
  },
  F29: { attack: 'workers that all hang', shown: [['test/recovery/hostile.test.ts', 'frozen process']] },
  F30: {
    attack: 'a thousand slow readers',
    shown: [
      [SCENARIOS, 'half of which are not read'],
      [LOAD, 'hold at most a frame each'],
    ],
  },
  F31: {
    attack: 'connections that come and go, and half of them',
    shown: [
      [SCENARIOS, 'whose callers hang up'],
      [SCENARIOS, 'callers who stop in the middle'],
      [LOAD, 'leave nothing behind when they hang up'],
    ],
  },
  F32: {
    attack: 'ten thousand synchronous runs',
    shown: [[SCENARIOS, 'synchronous runs of a second at once']],
  },
  F33: {
    attack: 'many open runs',
    shown: [['src/embedded/whole/memory.test.ts', 'holds no more of their inputs than it may']],
  },
  F34: {
    attack: 'bodies of every size',
    shown: [
      [SERVER, 'takes a body up to the limit'],
      [ADMISSION, 'beyond the bound are told to come back'],
      [SCENARIOS, 'starts of 2 MB at once'],
    ],
  },
  F35: {
    attack: 'a long history',
    shown: [
      ['src/embedded/whole/memory.test.ts', 'reads a history of large events in parts'],
      [LIMITS, 'a history that grows without end'],
    ],
  },
  F36: {
    attack: 'JSON of every kind',
    shown: [
      [SERVER, 'refuses bytes that are no UTF-8'],
      [SERVER, 'a number beyond a double'],
      ['test/temporal/ill-formed-texts.test.ts', 'in a result, an input and a signal'],
    ],
  },
  F38: {
    attack: 'files of other versions',
    shown: [
      ['src/embedded/store/folder/schema.test.ts', 'takes over the file of the version before'],
      [
        'src/embedded/whole/damaged/start-on-damage.test.ts',
        'says in words that a schema version of %d does not fit',
      ],
    ],
  },
  F39: {
    attack: 'a migration that is cut off',
    shown: [[CRASH_ROWS, 'C29 killed at each statement of the migrations']],
  },
  F40: {
    attack: 'a backup during writes',
    shown: [[CRASH_ROWS, 'F40 backup during writes, and its restore']],
  },
  F41: {
    attack: 'a cluster that comes and goes',
    shown: [['test/temporal/chaos.test.ts', 'loses and doubles nothing over']],
  },
  F42: {
    attack: 'engines that differ',
    shown: [['test/differential/differential.test.ts', 'come out the same on both engines']],
  },
  F44: {
    attack: 'an end under load',
    shown: [['test/stream/shutdown.test.ts', 'ends in order, and goes on after the next start']],
  },
  F45: {
    attack: 'little memory',
    shown: [
      [ADMISSION, 'beyond the bound keep others out'],
      ['test/overload/stage.ts', 'RSS_BUDGET_BYTES'],
    ],
    because:
      'what callers can make grow has bounds in bytes, whose sum is the budget of npm run overload; a cgroup is not tried',
  },
  F46: {
    attack: 'no descriptors left',
    shown: [
      ['test/overload/descriptors.test.ts', 'refuses connections before it runs out of descriptors'],
      [ADMISSION, 'connections beyond the bound are told to come back'],
    ],
  },
};
