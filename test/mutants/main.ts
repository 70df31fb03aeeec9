/**
 * `npm run mutants`: puts each bug of the set into a copy of the checkout and runs the tests that should find it.
 *
 *   --area embedded       only bugs of this area
 *   --only NAME,OTHER     only bugs whose name contains one of these
 *   --part 1/4            only the first of four parts of them
 *   --jobs 2              how many at a time
 *   --skip-baseline       trust the tests to be green without any bug
 *   --check               only see whether the patches apply
 *
 * Ends with 1 when a patch does not apply, when a bug survives that has to be found, and when one is found that is said
 * to survive.
 */
import { commandLine, countAboveZero, WrongUse } from '../command-line.js';
import { AREAS, CHECKOUT, type Mutant, readMutants, whyNotApplicable } from './patches.js';
import { runTests } from './trial.js';
import { Workshop } from './workshop.js';

type Outcome =
  | 'found'
  | 'survived'
  | 'survives, as said'
  | 'found, though said to survive'
  | 'does not apply';

interface Result {
  mutant: Mutant;
  outcome: Outcome;
  seconds: number;
  by: string;
}

const { values } = commandLine(import.meta.url, {
  area: { type: 'string' },
  only: { type: 'string', default: '' },
  part: { type: 'string', default: '1/1' },
  jobs: { type: 'string', default: '2' },
  'skip-baseline': { type: 'boolean', default: false },
  check: { type: 'boolean', default: false },
});

const names = values.only.split(',');
const [part = 1, parts = 1] = values.part.split('/').map(Number);
const mutants = readMutants()
  .filter(
    ({ area, name }) =>
      (values.area === undefined || area === values.area) && names.some((each) => name.includes(each)),
  )
  .filter((_, index) => index % parts === part - 1);
if (mutants.length === 0) throw new WrongUse('there is no such mutant');

const unfit = mutants.flatMap((mutant) => {
  const why = whyNotApplicable(mutant, CHECKOUT);
  return why === undefined ? [] : [{ mutant, outcome: 'does not apply', seconds: 0, by: why } as Result];
});
for (const { mutant, by } of unfit) console.error(`${nameOf(mutant)} does not apply:\n${by}`);
if (values.check) {
  console.log(`${mutants.length - unfit.length} of ${mutants.length} patches apply`);
  process.exitCode = unfit.length === 0 ? 0 : 1;
} else {
  const results = await tryAll(mutants.filter((mutant) => !unfit.some((each) => each.mutant === mutant)));
  report([...unfit, ...results]);
}

async function tryAll(applicable: readonly Mutant[]): Promise<Result[]> {
  const results: Result[] = [];
  const left = [...applicable];
  const workshops = Array.from({ length: countAboveZero('--jobs', values.jobs) }, () => new Workshop());
  const removeAll = () => {
    for (const workshop of workshops) workshop.remove();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      removeAll();
      process.exit(1);
    });
  }
  try {
    // A test that is red anyway finds nothing.
    if (!values['skip-baseline']) await requireGreen(workshops[0]!, applicable);
    await Promise.all(
      workshops.map(async (workshop) => {
        for (let mutant = left.shift(); mutant; mutant = left.shift()) {
          const result = await tryOut(workshop, mutant);
          results.push(result);
          console.log(line(result));
        }
      }),
    );
  } finally {
    removeAll();
  }
  return results;
}

async function requireGreen(workshop: Workshop, applicable: readonly Mutant[]): Promise<void> {
  const files = [...new Set(applicable.flatMap(({ foundBy }) => foundBy))].sort();
  console.log(`${files.length} test files without any bug`);
  const { isGreen, by } = await runTests(workshop, files);
  if (!isGreen) throw new Error(`a test fails without any bug: ${by}`);
}

async function tryOut(workshop: Workshop, mutant: Mutant): Promise<Result> {
  const begun = performance.now();
  const refusal = await workshop.put(mutant);
  try {
    if (refusal !== undefined) return { mutant, outcome: 'does not apply', seconds: 0, by: refusal };
    const { isGreen, by } = await runTests(workshop, mutant.foundBy);
    const seconds = (performance.now() - begun) / 1000;
    const isSaid = mutant.survives !== undefined;
    if (isGreen)
      return { mutant, outcome: isSaid ? 'survives, as said' : 'survived', seconds, by: mutant.what };
    return { mutant, outcome: isSaid ? 'found, though said to survive' : 'found', seconds, by };
  } finally {
    workshop.restore();
  }
}

function nameOf({ area, name }: Mutant): string {
  return `${area}/${name}`;
}

function line({ mutant, outcome, seconds, by }: Result): string {
  return `${nameOf(mutant).padEnd(52)} ${outcome.padEnd(17)} ${seconds.toFixed(1).padStart(6)} s  ${by.slice(0, 140)}`;
}

function report(results: readonly Result[]): void {
  const byName = [...results].sort((a, b) => nameOf(a.mutant).localeCompare(nameOf(b.mutant)));
  console.log(`\n${byName.map(line).join('\n')}\n`);
  for (const area of AREAS) {
    const ofArea = results.filter(({ mutant }) => mutant.area === area);
    if (ofArea.length === 0) continue;
    const found = ofArea.filter(({ outcome }) => outcome === 'found').length;
    const share = ((100 * found) / ofArea.length).toFixed(0);
    console.log(`${area.padEnd(10)} ${String(found).padStart(3)} of ${ofArea.length} found (${share} %)`);
  }
  const found = results.filter(({ outcome }) => outcome === 'found').length;
  console.log(`${'in all'.padEnd(10)} ${String(found).padStart(3)} of ${results.length} found`);
  for (const { mutant, outcome } of byName) {
    if (outcome === 'survives, as said')
      console.log(`not to be found: ${nameOf(mutant)}: ${mutant.survives}`);
  }
  const isFine = ({ outcome }: Result) => outcome === 'found' || outcome === 'survives, as said';
  process.exitCode = results.every(isFine) ? 0 : 1;
}
