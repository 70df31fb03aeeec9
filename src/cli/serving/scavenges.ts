import { setFlagsFromString } from 'node:v8';

/**
 * Lets the thread that serves collect its new objects alone. What is still alive among them is so little that V8 spends more
 * on handing it out to helpers than they save, and the helpers take the cores that the workers need.
 */
export function scavengeAlone(): void {
  setFlagsFromString('--no-parallel-scavenge');
}
