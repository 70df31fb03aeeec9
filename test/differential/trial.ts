/** One program on two systems: run, observed, compared. */
import type { System } from '../contract/system.js';
import { differences } from './comparison.js';
import { drive } from './driver.js';
import type { Holds } from './holds.js';
import { Numbering } from './numbering.js';
import { type Observation, observe } from './observation.js';
import type { Program } from './program.js';

export interface Pair {
  names: [string, string];
  systems: [System, System];
  holds: Holds;
}

export interface Trial {
  differences: string[];
  observations: Observation[];
  /** The machine was too busy for the trial to mean anything. */
  isDisturbed: boolean;
}

/** Trials of one program that may be disturbed before that is taken for a difference. */
const TRIALS = 4;

let count = 0;

/** Runs the program on both systems; again, where a busy machine has kept a worker from its work. */
export async function tryOut(pair: Pair, program: Program): Promise<Trial> {
  let trial = await tryOnce(pair, program);
  for (let count = 1; count < TRIALS && trial.isDisturbed && trial.differences.length > 0; count++) {
    trial = await tryOnce(pair, program);
  }
  return trial;
}

async function tryOnce(pair: Pair, program: Program): Promise<Trial> {
  const numbering = new Numbering(program);
  // The same id on both systems, so that what contains it is the same as well.
  const workflowId = `program-${process.pid}-${Date.now().toString(36)}-${++count}`;
  const outcomes = await Promise.allSettled(
    pair.systems.map(async (system) => {
      const happened = await drive(system, pair.holds, program, numbering, workflowId);
      return observe(happened, program, numbering, system.catalog);
    }),
  );
  const observations = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  const failed = outcomes.flatMap((outcome, index) =>
    outcome.status === 'rejected' ? [`on ${pair.names[index]}: ${String(outcome.reason)}`] : [],
  );
  const isDisturbed = observations.some(({ disturbances }) => disturbances.length > 0);
  if (failed.length > 0) return { differences: failed, observations, isDisturbed };
  return {
    differences: differences(observations[0]!, observations[1]!, numbering),
    observations,
    isDisturbed,
  };
}
