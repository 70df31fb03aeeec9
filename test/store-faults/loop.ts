/**
 * The loop that SQLite is tested with: the scenario runs with its first call to the store failing, then with its second,
 * and so on, until it comes to its end before the call that would have failed.
 */
import { Copies } from './copies.js';
import type { Fault } from './faulty-database.js';
import { connecting } from './faulty-database.js';
import { Lives } from './lives.js';
import { PatientClient } from './patient-client.js';
import { NthCallFails } from './plans.js';
import { ReplayingWorker } from './replaying-worker.js';
import { scenario, toTheEnd, untilNothingIsLeft } from './scenario.js';

/** What hangs for so long hangs for good. */
const PATIENCE_MS = 60_000;

export interface Trial {
  /** The call that failed; undefined when there were fewer. */
  hit: string | undefined;
  lives: number;
  calls: number;
  copies: number;
  problems: string[];
}

/** Sticky: the calls after it fail too, those of the next start among them, until the disk is mended. */
export function failing(at: number, fault: Fault, isSticky: boolean): NthCallFails {
  // An engine tries again once a second on a full disk.
  const length = fault === 'full' ? 2 : fault === 'delay' ? 10 : 40;
  return new NthCallFails(at, fault, isSticky ? length : 1);
}

/** With `isCopied`, a copy is taken after the commits for which it says so. */
export async function trial(plan: NthCallFails, isCopied: () => boolean = () => false): Promise<Trial> {
  const undisturbed = <T>(look: () => T): T => {
    plan.isOn = false;
    try {
      return look();
    } finally {
      plan.isOn = true;
    }
  };
  const copies = new Copies((engine) => {
    new ReplayingWorker(engine);
    return toTheEnd(engine);
  });
  const lives: Lives = new Lives({
    connect: connecting(plan),
    undisturbed,
    committed: (dataDir) => {
      // Retention takes away what was acknowledged, and should.
      if (!lives.hasRetention && isCopied()) copies.take(dataDir, lives.operations);
    },
  });
  const client = new PatientClient(lives, lives.operations);
  let waitsFor = '';
  const step = (what: string) => {
    waitsFor = what;
  };
  const script = async () => {
    await scenario(client, step);
    step('a start after it');
    await lives.restart({ retentionMs: 1 });
    await untilNothingIsLeft(client, step);
  };
  try {
    await within(PATIENCE_MS, script(), () => waitsFor);
  } catch (error) {
    lives.problems.push(`${waitsFor}: ${(error as Error).message}`);
  }
  plan.isOn = false;
  await lives.close().catch((error: Error) => lives.problems.push(`the end: ${error.message}`));
  lives.remove();
  await copies.check();
  lives.problems.push(...copies.problems);
  const { hit } = plan;
  return {
    copies: copies.count,
    hit: hit && `${hit.kind} ${hit.sql}`,
    lives: lives.count,
    calls: plan.calls,
    problems: lives.problems,
  };
}

function within<T>(ms: number, work: Promise<T>, what: () => string): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`nothing came of ${what()} in ${ms} ms`)), ms);
    work.then(resolve, reject).finally(() => clearTimeout(late));
  });
}
