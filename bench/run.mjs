// npm run bench: every measurement in one run. See README.md beside this file.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { measureLongRun } from './long-run.mjs';
import { printChecks, saveResults } from './report.mjs';
import { measureSleeping } from './sleeping.mjs';
import { SYSTEMS } from './systems.mjs';
import { measureTemporal } from './temporal.mjs';
import { measureThroughput } from './throughput.mjs';

const SECTIONS = ['throughput', 'long', 'sleeping'];
/** Measured only when they are asked for. */
const MORE_SECTIONS = ['temporal'];

function readPlan() {
  const { values: flags } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
      seconds: { type: 'string' },
      rounds: { type: 'string' },
      sleepers: { type: 'string', default: '100000' },
      temporal: { type: 'string' },
    },
  });
  const positive = (name, text) => {
    const value = Number(text);
    if (!(value > 0)) throw new Error(`--${name} ${text}: a positive number is needed`);
    return value;
  };

  const only = flags.only.split(',').filter((name) => name !== '');
  const known = [...SECTIONS, ...MORE_SECTIONS, ...SYSTEMS.map((system) => system.name)];
  const unknown = only.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new Error(`--only ${unknown.join(',')}: choose from ${known.join(', ')}`);
  const chosenSystems = SYSTEMS.filter((system) => only.includes(system.name));
  const chosenSections = [...SECTIONS, ...MORE_SECTIONS].filter((section) => only.includes(section));
  const defaultSections = flags.quick || chosenSystems.length > 0 ? ['throughput'] : SECTIONS;

  return {
    sections: chosenSections.length > 0 ? chosenSections : defaultSections,
    systems: chosenSystems.length > 0 ? chosenSystems : SYSTEMS,
    rounds: positive('rounds', flags.rounds ?? (flags.quick ? '1' : '3')),
    seconds: positive('seconds', flags.seconds ?? (flags.quick ? '2' : '4')),
    sleepers: positive('sleepers', flags.sleepers),
    temporal: flags.temporal,
  };
}

/** A section that breaks counts as not met and does not take the others with it. */
async function measure(section, plan) {
  try {
    if (section === 'throughput') return await measureThroughput(plan);
    if (section === 'long') return await measureLongRun();
    if (section === 'temporal') return await measureTemporal(plan);
    return await measureSleeping({ count: plan.sleepers });
  } catch (error) {
    const cause = error.cause === undefined ? '' : `\n${error.cause}`;
    return { checks: [{ what: `${section} broke off: ${error.message}${cause}`, met: false }] };
  }
}

async function main() {
  const plan = readPlan();
  const isPerdureMeasured = plan.sections.join() !== 'throughput' || plan.systems.includes(SYSTEMS[0]);
  if (isPerdureMeasured && !existsSync(fileURLToPath(new URL('../dist/cli/main.js', import.meta.url)))) {
    throw new Error('perdure is not built: run `npm run build` first');
  }
  const results = {};
  let allMet = true;
  for (const section of plan.sections) {
    console.log(`\n── ${section} ──`);
    results[section] = await measure(section, plan);
    allMet = printChecks(results[section].checks) && allMet;
  }
  console.log(`\nAll samples: ${saveResults(results)}`);
  return allMet ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error.message);
  process.exitCode = 2;
}
