/**
 * The data folder as a kill right after a commit would leave it: a copy is taken before anybody is told of the commit, and
 * opened as a start would open it. Everything that was acknowledged by then has to be in it, all of it has to make sense,
 * and an engine has to go on from there.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedEngine } from '../../src/embedded/index.js';
import { checkDataFolder } from '../../src/embedded/store/check/check.js';
import { checkCommit } from '../../src/embedded/store/check/projection-check.js';
import { brokenInvariants, type Operations } from './operations.js';
import { Stored, type StoredRun } from './stored.js';

/** What is done with the engine on a copy, beside opening it; answers with what is wrong. */
export type GoOn = (engine: EmbeddedEngine, copy: string) => Promise<string[]>;

export class Copies {
  readonly problems: string[] = [];
  readonly #taken: { copy: string; known: Operations }[] = [];

  constructor(private readonly goOn: GoOn) {}

  get count(): number {
    return this.#taken.length;
  }

  /** Inside of a commit that has just been made. Only the files are copied, so that nobody notices. */
  take(dataDir: string, operations: Operations): void {
    const copy = mkdtempSync(join(tmpdir(), 'perdure-copy-'));
    cpSync(dataDir, copy, { recursive: true });
    this.#taken.push({ copy, known: operations.asOfNow() });
  }

  /** When what was copied is over. */
  async check(): Promise<void> {
    for (const [index, { copy, known }] of this.#taken.entries()) {
      const tell = (problem: string) => this.problems.push(`copy ${index + 1}: ${problem}`);
      try {
        (await this.#problemsOf(copy, known)).forEach(tell);
      } catch (error) {
        tell(String((error as Error).stack));
      }
      rmSync(copy, { recursive: true, force: true });
    }
  }

  async #problemsOf(copy: string, known: Operations): Promise<string[]> {
    const asFound = look(copy, known);
    const withInbox = Stored.look(copy, (stored) =>
      [...stored.runs()].filter(({ waiting }) => waiting.length > 0),
    );
    let fatal: Error | undefined;
    const engine = EmbeddedEngine.open({
      dataDir: copy,
      inspectCommit: checkCommit,
      onFatal: (error) => {
        fatal = error;
      },
    });
    const going = await untilTakenUp(engine, withInbox)
      .then(async (stuck) => [...stuck, ...(await this.goOn(engine, copy))])
      .finally(() => engine.close());
    if (fatal) going.push(`its engine has stopped: ${fatal.message}`);
    return [...asFound, ...going, ...look(copy, known)];
  }
}

/** What waited for a run comes into its history by itself: nobody may ever ask for it again. */
async function untilTakenUp(engine: EmbeddedEngine, runs: readonly StoredRun[]): Promise<string[]> {
  const stuck: string[] = [];
  for (const { row, events, waiting } of runs) {
    const ref = { workflowId: row.workflow_id, runId: row.run_id };
    // To wait for its history does not take the run up.
    const page = await engine.history(ref, { afterEventId: events.length, limit: 1, waitMs: TAKEN_UP_MS });
    if (page.events.length === 0) {
      stuck.push(`${waiting.map(({ type }) => type)} stays in the inbox of ${ref.workflowId}`);
    }
  }
  return stuck;
}

const TAKEN_UP_MS = 60_000;

/** From the files alone, and without changing them. */
function look(dataDir: string, known: Operations): string[] {
  const { problems } = checkDataFolder(dataDir);
  return [
    ...problems.map(({ workflowId, problem }) => `${workflowId ?? ''}: ${problem}`),
    ...Stored.look(dataDir, (stored) => [...known.problems(stored), ...brokenInvariants(stored)]),
  ];
}

/** Without workers: every run can be found and read, from its first event to its last. */
export const readEveryRun: GoOn = async (engine) => {
  const problems: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const { runs, nextCursor } = await engine.list({}, { limit: 500, cursor });
    for (const { workflowId, runId, status } of runs) {
      const { historyLength } = await engine.describe({ workflowId, runId });
      const { events } = await engine.history({ workflowId, runId }, { afterEventId: 0, limit: 10_000_000 });
      // Taking up a run may add to its history what waited for it.
      if (events.length < historyLength)
        problems.push(`${workflowId}: ${events.length} of ${historyLength} events`);
      if (status !== 'running' && !(await engine.outcome({ workflowId, runId }, { followChain: false })))
        problems.push(`${workflowId} is ${status} and has no outcome`);
    }
    if (nextCursor === null) return problems;
    cursor = nextCursor;
  }
};
