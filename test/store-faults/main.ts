/**
 * `npm run store-faults`: the whole contract suite on a store whose calls fail, then the loop that fails every call of the
 * scenario in every way, with a copy of the files after every commit of the first round.
 *
 *   --percent 5       how many of the calls fail under the contract
 *   --seed 1          which ones; a new seed when left out
 *   --copied 0.1      the share of the contract's commits after which the files are copied, to be opened at the end; when left
 *                     out one in a hundred, at most eight of one system
 *   --part contract   only that, or only `loop` or `copies`
 *   --stride 1        the loop fails one in so many calls
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { commandLine, count, countAboveZero, positive, WrongUse } from '../command-line.js';
import { FAULTS, type Fault } from './faulty-database.js';
import { failing, trial } from './loop.js';

const { values } = commandLine(import.meta.url, {
  percent: { type: 'string', default: '5' },
  seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
  copied: { type: 'string' },
  part: { type: 'string' },
  stride: { type: 'string', default: '1' },
});
const PARTS = ['contract', 'loop', 'copies'];
if (values.part !== undefined && !PARTS.includes(values.part)) {
  throw new WrongUse(`--part ${values.part}: there are ${PARTS.join(', ')}`);
}
positive('--percent', values.percent);
count('--seed', values.seed);
const stride = countAboveZero('--stride', values.stride);
if (values.copied !== undefined && !(Number(values.copied) >= 0 && Number(values.copied) <= 1)) {
  throw new WrongUse(`--copied ${values.copied}: a share from 0 to 1 is needed`);
}
const isWanted = (part: string) => values.part === undefined || values.part === part;
/** Trials side by side: most of their time they wait. */
const AT_ONCE = 8;
let isFine = true;

if (isWanted('contract')) isFine = (await contractSuite()) && isFine;
if (isWanted('copies')) {
  const { problems, copies, calls } = await trial(
    failing(Number.POSITIVE_INFINITY, 'busy', false),
    () => true,
  );
  tell('copies', `${copies} commits copied, opened and brought to their end, of ${calls} calls`, problems);
}
if (isWanted('loop')) {
  for (const fault of FAULTS) {
    for (const isSticky of [false, true]) await loop(fault, isSticky);
  }
}
process.exitCode = isFine ? 0 : 1;

async function contractSuite(): Promise<boolean> {
  console.log(`the contract suite with ${values.percent} % store faults, seed ${values.seed}`);
  const vitest = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url));
  const suite = spawn(process.execPath, [vitest, 'run', 'test/store-faults/contract.test.ts'], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    stdio: 'inherit',
    env: {
      ...process.env,
      PERDURE_STORE_FAULTS_PERCENT: values.percent,
      PERDURE_STORE_FAULTS_SEED: values.seed,
      ...(values.copied !== undefined && { PERDURE_STORE_FAULTS_COPIED: values.copied }),
      PERDURE_STORE_FAULTS_WHOLE: '1',
    },
  });
  const [code] = (await once(suite, 'close')) as [number | null];
  return code === 0;
}

async function loop(fault: Fault, isSticky: boolean): Promise<void> {
  const problems: string[] = [];
  let at = 1;
  let isOver = false;
  let trials = 0;
  let lives = 0;
  const lane = async () => {
    while (!isOver) {
      const number = at;
      at += stride;
      const result = await trial(failing(number, fault, isSticky));
      trials++;
      lives += result.lives;
      if (result.hit === undefined) isOver = true;
      for (const problem of result.problems) problems.push(`call ${number} (${result.hit}): ${problem}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  tell(`${isSticky ? 'sticky ' : ''}${fault}`, `${trials} trials, ${lives} lives`, problems);
}

function tell(what: string, extent: string, problems: readonly string[]): void {
  console.log(`${what.padEnd(20)} ${extent}: ${problems.length === 0 ? 'all well' : 'PROBLEMS'}`);
  for (const problem of problems) console.log(`    ${problem}`);
  if (problems.length > 0) isFine = false;
}
