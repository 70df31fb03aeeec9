// What one run of the benchmark is to measure, from its flags.
import { parseArgs } from 'node:util';

/** One run of everything takes this many rounds and seconds a cell; `--quick` is for seeing that it works. */
const FULL = { rounds: 3, seconds: 4, size: 1 };
const QUICK = { rounds: 1, seconds: 1, size: 0.01 };

export class WrongUse extends Error {}

function positive(name, text) {
  const value = Number(text);
  if (!(value > 0)) throw new WrongUse(`--${name} ${text}: a positive number is needed`);
  return value;
}

function parse(args) {
  try {
    return parseArgs({
      args,
      options: {
        quick: { type: 'boolean', default: false },
        list: { type: 'boolean', default: false },
        only: { type: 'string', default: '' },
        seconds: { type: 'string' },
        rounds: { type: 'string' },
        size: { type: 'string' },
        temporal: { type: 'string' },
        'write-docs': { type: 'boolean', default: false },
        from: { type: 'string' },
        out: { type: 'string' },
      },
    }).values;
  } catch (error) {
    throw new WrongUse(error.message);
  }
}

export function readPlan(args, scenarios, systems) {
  const flags = parse(args);
  const only = flags.only.split(',').filter((name) => name !== '');
  const known = [...scenarios, ...systems].map(({ name }) => name);
  const unknown = only.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new WrongUse(`--only ${unknown.join(',')}: choose from ${known.join(', ')}`);
  if (flags.from !== undefined && !flags['write-docs']) {
    throw new WrongUse('--from FILE is for --write-docs: it takes the results from a file');
  }
  const named = (of) => of.filter(({ name }) => only.includes(name));
  const chosenSystems = named(systems).length > 0 ? named(systems) : systems;
  const wanted = named(scenarios).length > 0 ? named(scenarios) : scenarios;
  const has = (scenario) => scenario.systems.some((name) => chosenSystems.some((s) => s.name === name));
  const standard = flags.quick ? QUICK : FULL;
  const size = positive('size', flags.size ?? standard.size);
  // The titles say how much was measured, and a comparison is one only with everybody in it.
  const isForShowing = !flags.quick && size === 1 && named(systems).length === 0;
  if (flags['write-docs'] && !isForShowing) {
    throw new WrongUse(
      '--write-docs: what is measured with --quick, with another --size or with some of the systems is not for showing',
    );
  }
  return {
    isList: flags.list,
    isQuick: flags.quick,
    isForShowing,
    writesDocs: flags['write-docs'],
    from: flags.from,
    out: flags.out,
    temporal: flags.temporal,
    scenarios: wanted.filter(has),
    systems: chosenSystems,
    rounds: Math.ceil(positive('rounds', flags.rounds ?? standard.rounds)),
    seconds: positive('seconds', flags.seconds ?? standard.seconds),
    size,
    /** A number of runs, readers or the like, made smaller with `--size`; at least `least`, so that it means something. */
    sized: (count, least = 1) => Math.max(least, Math.round(count * size)),
  };
}
