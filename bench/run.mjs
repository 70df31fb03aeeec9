// npm run bench: every measurement in one run. See README.md beside this file.
import { NotForShowing, writeDocuments } from './lib/documents.mjs';
import { machine, machineText, readResults, saveResults } from './lib/results.mjs';
import { number, textTable } from './lib/table.mjs';
import { readPlan, WrongUse } from './plan.mjs';
import { SCENARIOS } from './scenarios/index.mjs';
import { SYSTEMS } from './systems/index.mjs';
import { Unavailable } from './systems/unavailable.mjs';

function list() {
  const line = ({ name, title, what, minutes }) =>
    `  ${name.padEnd(14)} ${title ?? what}${minutes ? ` (about ${number(minutes)} min)` : ''}`;
  console.log(`scenarios\n${SCENARIOS.map(line).join('\n')}\n\nsystems\n${SYSTEMS.map(line).join('\n')}`);
}

/** The systems that can be had here. One that cannot is left out by name, with what to install. */
function available(systems) {
  const missing = [];
  const there = systems.filter((system) => {
    try {
      system.prepare?.();
      return true;
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      missing.push(`${system.name} is LEFT OUT: ${error.message}`);
      return false;
    }
  });
  for (const line of missing) console.error(`\n!! ${line}`);
  return { there, missing };
}

/** A scenario that breaks counts as not met and does not take the others with it. */
async function measure(scenario, plan) {
  try {
    const systems = plan.systems.filter(({ name }) => scenario.systems.includes(name));
    if (systems.length === 0) throw new Error('none of its systems can be had here');
    return await scenario.measure({ ...plan, systems });
  } catch (error) {
    const cause = error.cause === undefined ? '' : `\n${error.cause}`;
    return { checks: [{ what: `${scenario.name} broke off: ${error.message}${cause}`, met: false }] };
  }
}

/** Whether it is about a system that the scenario would have had. */
const isOf = (scenario, line) => scenario.systems.some((name) => line.startsWith(`${name} `));

function show({ tables = [], notes = [], checks }) {
  for (const { caption, ...table } of tables) {
    console.log(`\n${caption ? `${caption}:\n\n` : ''}${textTable(table)}`);
  }
  console.log();
  for (const note of notes) console.log(`note: ${note}`);
  for (const { what, met } of checks) console.log(`${met ? '✔' : '✘'} ${what}`);
}

async function main() {
  const plan = readPlan(process.argv.slice(2), SCENARIOS, SYSTEMS);
  if (plan.isList) {
    list();
    return 0;
  }
  if (plan.from !== undefined) {
    const written = writeDocuments(readResults(plan.from));
    console.log(`docs/performance.md now has: ${written.join(', ')}`);
    return 0;
  }
  const wanted = plan.systems.filter(({ name }) =>
    plan.scenarios.some(({ systems }) => systems.includes(name)),
  );
  const { there, missing } = available(wanted);
  const sections = {};
  const source = `${new Date().toISOString().slice(0, 10)}: ${machineText(machine())}`;
  for (const scenario of plan.scenarios) {
    console.log(`\n── ${scenario.name}: ${scenario.title} ──`);
    const startedAt = Date.now();
    const section = await measure(scenario, { ...plan, systems: there });
    sections[scenario.name] = {
      title: scenario.title,
      source: plan.isQuick ? `${source}; a quick run, not a result` : source,
      tookSeconds: Math.round((Date.now() - startedAt) / 1_000),
      ...section,
      notes: [...(section.notes ?? []), ...missing.filter((line) => isOf(scenario, line))],
    };
    show(sections[scenario.name]);
  }
  // Systems that could not be had are no reason to fail, but nobody should overlook them.
  for (const line of missing) console.error(`\n!! ${line}`);
  const files = saveResults(sections, {
    systems: there,
    isForShowing: plan.isForShowing,
    folder: plan.out,
  });
  console.log(`\nEverything that was measured:\n  ${files.join('\n  ')}`);
  if (plan.writesDocs) {
    const written = writeDocuments({
      at: new Date().toISOString(),
      machine: machine(),
      isForShowing: plan.isForShowing,
      sections,
    });
    console.log(`docs/performance.md now has the figures of: ${written.join(', ') || 'nothing'}`);
  }
  return Object.values(sections).every(({ checks }) => checks.every(({ met }) => met)) ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof WrongUse || error instanceof NotForShowing ? error.message : error);
  process.exitCode = 2;
}
