/** `run` and `start`. */
import { outputOf } from '../../client/errors.js';
import { ConnectionError, type WorkflowHandle } from '../../client/index.js';
import { groundsForInput } from '../../http/schema/grounds.js';
import { shellWord } from '../shell-word.js';
import type { Connection } from './connection.js';
import { CommandError, EXIT } from './failure.js';
import { findWorkflow, type Given, readInput, requireFit } from './input.js';
import { printJson, say } from './screen.js';
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
  process.stdout.write(`${handle.workflowId}\n`);
  const id = shellWord(handle.workflowId);
  say(`started; \`perdure watch ${id}\` shows it, \`perdure result ${id}\` waits for it`);
}

export async function run(
  connection: Connection,
  name: string,
  given: Given,
  flags: StartFlags,
): Promise<void> {
  const handle = await begin(connection, name, given, flags);
  await watch(handle, { title: `${name} ${handle.workflowId}` });
  await printOutcome(handle, flags);
}

/** What a run that has ended returned. @throws what it failed with */
export async function printOutcome(
  handle: WorkflowHandle,
  { json, waitMs }: { json?: boolean; waitMs?: number },
): Promise<void> {
  const outcome = await handle.outcome({ waitMs });
  if (json) printJson(outcome);
  const output = outputOf(outcome);
  if (!json) printJson(output);
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
    requireFit({ published, grounds: groundsForInput({ entry, accepts }), whose }, input ?? null, 'input');
  }
  try {
    return await patient.workflow(name, { catalog }).start(input, {
      ...{ workflowId: id, budget },
      ...(idempotencyKey !== undefined && { idempotencyKey }),
    });
  } catch (error) {
    if (!(error instanceof ConnectionError) || error.isUnsent) throw error;
    throw new CommandError(
      EXIT.lost,
      `the connection broke while ${name} was started (${error.message}): it may be running, look with \`perdure list\` before you start it again`,
    );
  }
}
