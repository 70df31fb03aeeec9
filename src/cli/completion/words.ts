/** What completions ask a server for: names of workflows, and ids of runs. */
import type { Connection } from '../calls/connection.js';
import { isPlain } from '../plain.js';
import type { WordKind } from './shells.js';

/** Somebody waits with a finger on the key. */
const MAX_MS = 1_500;
const MAX_IDS = 100;

/** One to a line. Says nothing where there is no server: whoever completes has not asked for one. */
export async function printWords({ quick, catalog }: Connection, kind: WordKind, prefix = ''): Promise<void> {
  const namesOfWorkflows = async () => {
    const { workflows } = await quick.catalog(catalog, { timeoutMs: MAX_MS });
    return workflows.flatMap(({ name, aliases }) => [name, ...aliases]);
  };
  const newestIds = async () => {
    const beginning = prefix === '' ? {} : { workflowIdPrefix: prefix };
    const { runs } = await quick.runsPage({ limit: MAX_IDS, ...beginning, timeoutMs: MAX_MS });
    return runs.map(({ workflowId }) => workflowId);
  };
  const found = await (kind === 'workflows' ? namesOfWorkflows : newestIds)();
  const words = [...new Set(found)].filter((word) => word.startsWith(prefix) && isWord(word));
  if (words.length > 0) process.stdout.write(`${words.join('\n')}\n`);
}

/** What begins with `-` would be an option, and others have chosen the ids. */
const isWord = (text: string): boolean => isPlain(text) && !text.startsWith('-');
