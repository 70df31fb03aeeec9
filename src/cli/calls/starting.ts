/** `run` and `start`. */
import type { WorkflowHandle } from '../../client/index.js';
import { groundsForInput, inputAsTaken } from '../../http/schema/grounds.js';
import { lastWord } from '../shell-word.js';
import type { Connection } from './connection.js';
import { CommandError, EXIT, mayBeTaken } from './failure.js';
import { findWorkflow, type Given, readInput, requireFit } from './input.js';
import { Interruption } from './interruption.js';
import { plain, printJson, say } from './screen.js';
import { watch } from './watching.js';

export interface StartFlags {
  input?: string;
  id?: string;
  json?: boolean;
  check: boolean;
  idempotencyKey?: string;
  budget?: { amount: string; currency: string };
}

export async function start(
  connection: Connection,
  name: string,
  given: Given,
  flags: StartFlags,
): Promise<void> {
  const handle = await begin(connection, name, given, flags);
  if (flags.json) return printJson({ workflowId: handle.workflowId, runId: handle.startedRunId });
  const { workflowId } = handle;
  // A script gets it as it is.
  process.stdout.write(`${process.stdout.isTTY ? plain(workflowId) : workflowId}\n`);
  const id = plain(lastWord(workflowId));
  say(`started; \`perdure watch ${id}\` shows it, \`perdure result ${id}\` waits for it`);
}

export async function run(
  connection: Connection,
  name: string,
  given: Given,
  flags: StartFlags,
): Promise<void> {
  const handle = await begin(connection, name, given, flags);
  await watch(handle, { title: `${name} ${handle.workflowId}`, json: flags.json });
}

async function begin(
  { quick, patient, catalog }: Connection,
  name: string,
  given: Given,
  { id, check, idempotencyKey, budget }: StartFlags,
): Promise<WorkflowHandle> {
  const input = await readInput(given);
  const entry = await findWorkflow(quick, name, catalog);
  if (check) {
    const { inputSchema: published, accepts } = entry;
    const whose = `workflow "${entry.name}"`;
    const grounds = groundsForInput({ entry, accepts });
    requireFit({ published, grounds, whose }, inputAsTaken(input ?? null, grounds), 'input');
  }
  const interruption = new Interruption();
  try {
    return await patient.workflow(name, { catalog }).start(input, {
      ...{ workflowId: id, budget, signal: interruption.signal },
      ...(idempotencyKey !== undefined && { idempotencyKey }),
    });
  } catch (error) {
    const look = `it may be running, look with \`${id === undefined ? 'perdure list' : `perdure status ${lastWord(id)}`}\` before you start it again`;
    if (interruption.signal.aborted) throw interruption.toldAs(` while ${name} was started: ${look}`, error);
    if (!mayBeTaken(error)) throw error;
    throw new CommandError(
      EXIT.lost,
      `there was no answer when ${name} was started (${(error as Error).message}): ${look}`,
    );
  } finally {
    interruption.end();
  }
}
