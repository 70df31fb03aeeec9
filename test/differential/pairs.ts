/** The systems that are held against each other. */
import { fileURLToPath } from 'node:url';
import { startEmbedded } from '../contract/embedded.js';
import type { StartSystem, System } from '../contract/system.js';
import { Holds } from './holds.js';
import type { Pair } from './trial.js';

const SYSTEMS = {
  /** Workers that keep runs between turns. */
  embedded: { start: () => Promise.resolve(startEmbedded), cacheSize: 1000 },
  /** Workers that replay every turn from the first event. */
  replayed: { start: () => Promise.resolve(startEmbedded), cacheSize: 0 },
  /** Loaded only when it is asked for: its packages are optional. */
  temporal: {
    start: async (): Promise<StartSystem> => (await import('../contract/temporal.js')).startTemporal,
    cacheSize: 1000,
  },
} as const;

export type SystemName = keyof typeof SYSTEMS;
export const isSystemName = (name: string): name is SystemName => Object.hasOwn(SYSTEMS, name);

/** Held steps of all programs that are under way must fit. */
const STEP_SLOTS = 500;

export async function startPair(names: [SystemName, SystemName]): Promise<Pair & { stop(): Promise<void> }> {
  const directory = fileURLToPath(new URL('./workflows', import.meta.url));
  const holds = await Holds.start();
  const started: System[] = [];
  const stop = async () => {
    await Promise.all(started.map((system) => system.stop()));
    await holds.stop();
  };
  try {
    for (const name of names) {
      const { start, cacheSize } = SYSTEMS[name];
      const startSystem = await start();
      started.push(await startSystem({ directory, cacheSize, stepSlots: STEP_SLOTS }));
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return { names, systems: [started[0]!, started[1]!], holds, stop };
}
