import { setFlagsFromString } from 'node:v8';

/**
 * Lets the thread that serves collect its new objects alone. What is still alive among them is so little that V8 spends more
 * on handing it out to helpers than they save, and the helpers take the cores that the workers need.
 */
export function scavengeAlone(): void {
  setFlagsFromString('--no-parallel-scavenge');
}

/**
 * Keeps V8 from making objects old at once where most of those before them have lived long. At the beginning of a load most do,
 * since much waits then; afterwards nearly all are of calls that end within milliseconds. One that was made old by mistake stays
 * until the next full collection, and keeps alive what its call was about: of all that was under way at a scavenge everything
 * was copied twice and became old, which was half of what scavenges cost.
 */
export function startAllYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
}
