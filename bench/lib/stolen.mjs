// What a host takes of a virtual machine's processors while something is measured on it ("steal" in /proc/stat).
import { readFileSync } from 'node:fs';

/** More than this changes what a measurement says. */
export const MUCH_STOLEN = 0.05;
/** A host that is busy is so for minutes: measuring again at once would find it as it was. */
const PROBE_MS = 250;
const PROBE_AGAIN_MS = 5_000;
const MOST_PROBES = 24;

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
 * Measures until little was taken meanwhile, `tries` times at most, each when the host takes little. Of these the one that
 * least was taken from counts; what was answered wrongly, or not at all, counts in all of them.
 */
export async function leastDisturbed(measure, tries, watch = watchStolen, quiet = untilQuiet) {
  const all = [];
  do {
    if (all.length > 0) await quiet();
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

/** Waits while the host takes much, for two minutes at most. What nobody wants cannot be taken, so it wants some each time. */
async function untilQuiet() {
  for (let probes = 0; probes < MOST_PROBES; probes++) {
    const stolen = watchStolen();
    for (const end = performance.now() + PROBE_MS; performance.now() < end; );
    if (stolen() <= MUCH_STOLEN) return;
    await new Promise((resolve) => setTimeout(resolve, PROBE_AGAIN_MS));
  }
}

function ticks() {
  if (process.platform !== 'linux') return { all: 0, stolen: 0 };
  const fields = /^cpu +(.*)$/m.exec(readFileSync('/proc/stat', 'utf8'))[1].split(' ').map(Number);
  // user, nice, system, idle, iowait, irq, softirq, steal; what follows is in user already.
  return { all: fields.slice(0, 8).reduce((sum, each) => sum + each, 0), stolen: fields[7] ?? 0 };
}
