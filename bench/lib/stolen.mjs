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

/** The measurement of several that least was taken from; it is not repeated where there is nothing to hope for. */
export async function leastDisturbed(measure, tries) {
  let best;
  for (let left = tries; left > 0; left--) {
    const stolen = watchStolen();
    const measured = { ...(await measure()), stolen: stolen() };
    if (best === undefined || measured.stolen < best.stolen) best = measured;
    if (best.stolen <= MUCH_STOLEN) break;
  }
  return best;
}

function ticks() {
  if (process.platform !== 'linux') return { all: 0, stolen: 0 };
  const fields = /^cpu +(.*)$/m.exec(readFileSync('/proc/stat', 'utf8'))[1].split(' ').map(Number);
  // user, nice, system, idle, iowait, irq, softirq, steal; what follows is in user already.
  const [stolen = 0] = fields.slice(7, 8);
  return { all: fields.slice(0, 8).reduce((sum, each) => sum + each, 0), stolen };
}
