/** `signal`, `query`, `update` and `feedback`. */
import type { CatalogEntry } from '../../client/index.js';
import { nearestName } from '../../core/values/nearest.js';
import { groundsForMessage } from '../../http/schema/grounds.js';
import { lastWord } from '../shell-word.js';
import type { Connection } from './connection.js';
import { CommandError, EXIT } from './failure.js';
import { type Given, readInput, requireFit } from './input.js';
import { interruptible } from './interruption.js';
import { sentOnce } from './once.js';
import { plain, printJson, say } from './screen.js';

export interface Message {
  id: string;
  given: Given;
  json?: boolean;
  check: boolean;
}

/** What has come in is in the history. */
const lookAt = (id: string): string => `perdure history ${lastWord(id)}`;

const PLURAL = { signal: 'signals', query: 'queries', update: 'updates' } as const;

export async function message(
  connection: Connection,
  kind: keyof typeof PLURAL,
  name: string,
  { id, given, json, check }: Message,
): Promise<void> {
  const payload = await readInput(given);
  const handle = connection.quick.handle(id);
  const { workflowType, catalog } = await handle.status();
  if (check) await requireHandler(connection, { workflowType, catalog }, kind, name, payload);
  // What queries and updates do takes as long as the author's code does.
  if (kind === 'query')
    return printJson(await interruptible('', (signal) => handle.query(name, payload, { signal })));
  const send = (signal: AbortSignal) => handle[kind](name, payload, { signal });
  const answer = await sentOnce(kind, lookAt(id), send);
  if (json || kind === 'update') return printJson(answer);
  say(`${plain(name)} was sent to ${plain(id)}`);
}

/** A declared one is held against its schema; one that is not declared may be there all the same. */
async function requireHandler(
  { quick }: Connection,
  { workflowType, catalog }: { workflowType: string; catalog: string },
  kind: keyof typeof PLURAL,
  name: string,
  payload: unknown,
): Promise<void> {
  const { workflows } = await quick.catalog(catalog).catch(() => ({ workflows: [] as CatalogEntry[] }));
  const entry = workflows.find((each) => each.name === workflowType);
  const declared = entry?.[PLURAL[kind]] ?? [];
  const handler = declared.find((each) => each.name === name);
  if (entry && handler) {
    const whose = `${kind} "${name}" of workflow "${workflowType}"`;
    const grounds = groundsForMessage({ entry, accepts: entry.accepts }, PLURAL[kind], name);
    requireFit({ published: handler.inputSchema, grounds, whose }, payload, 'payload');
    return;
  }
  const nearest = nearestName(
    name,
    declared.map((each) => each.name),
  );
  if (nearest === undefined) return;
  throw new CommandError(
    EXIT.notFound,
    `workflow "${workflowType}" declares no ${kind} "${name}": did you mean "${nearest}"? --no-check sends it all the same`,
  );
}

export async function feedback(
  { quick }: Connection,
  { id, given, json }: Omit<Message, 'check'>,
): Promise<void> {
  const payload = await readInput(given);
  const handle = quick.handle(id);
  // Whether anybody of ours is there is told before something is sent that cannot be sent again.
  await handle.status();
  const answer = await sentOnce('feedback', lookAt(id), (signal) => handle.feedback(payload, { signal }));
  if (json) return printJson(answer);
  say(`the feedback was sent to ${plain(answer.workflowId)}`);
}
