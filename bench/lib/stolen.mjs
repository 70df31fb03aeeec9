// What a host takes of a virtual machine's processors while something is measured on it ("steal" in /proc/stat).
import { readFileSync } from 'node:fs';

/** More than this changes what a measurement says. */
export const MUCH_STOLEN = 0.05;

/** To be called once the measurement is over: the share of all processor time that others had. 0 where that is not told. */
export function watchStolen() {
  const before = ticks();
  return () => {
    const after = ticks();
    const all = after.all - before.all;
    return all > 0 ? (after.stolen - before.stolen) / all : 0;
  };
}

/**
 * Measures until little was taken meanwhile, `tries` times at most. Of these the one that least was taken from counts; what was
 * answered wrongly, or not at all, counts in all of them.
 */
export async function leastDisturbed(measure, tries, watch = watchStolen) {
  const all = [];
  do {
    const stolen = watch();
    all.push({ ...(await measure()), stolen: stolen() });
  } while (all.at(-1).stolen > MUCH_STOLEN && all.length < tries);
  const sum = (key) => all.reduce((total, each) => total + each[key], 0);
  return {
    ...all.reduce((best, each) => (each.stolen < best.stolen ? each : best)),
    wrongAnswers: sum('wrongAnswers'),
    unanswered: sum('unanswered'),
    firstWrongAnswer: all.find((each) => each.firstWrongAnswer)?.firstWrongAnswer,
  };
}

function ticks() {
  if (process.platform !== 'linux') return { all: 0, stolen: 0 };
  const fields = /^cpu +(.*)$/m.exec(readFileSync('/proc/stat', 'utf8'))[1].split(' ').map(Number);
  // user, nice, system, idle, iowait, irq, softirq, steal; what follows is in user already.
  return { all: fields.slice(0, 8).reduce((sum, each) => sum + each, 0), stolen: fields[7] ?? 0 };
}
