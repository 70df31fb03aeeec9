/** What `perdure dev` shows a person who has just started it: what runs, and lines to paste. */
import pc from 'picocolors';
import type { CatalogEntry } from '../core/catalog.js';
import { sampleInput } from './sample.js';

export interface Welcome {
  url: string;
  folder: string;
  /** Where state is kept. */
  place: string;
  hasToken: boolean;
  workflows: CatalogEntry[];
}

/** More lines would push the first ones off the screen; the catalog has the rest. */
const MAX_TRIES = 5;

export function welcomeText({ url, folder, place, hasToken, workflows }: Welcome): string {
  const width = Math.max(...workflows.map(({ name }) => name.length));
  const list = workflows.map(({ name, description }) => {
    return `  ${pc.bold(name.padEnd(width))}  ${pc.dim(description ?? '')}`.trimEnd();
  });
  const auth = hasToken ? ` -H "authorization: Bearer $API_AUTH_TOKEN"` : '';
  const tries = workflows
    .filter(standsAlone)
    .slice(0, MAX_TRIES)
    .map(({ name, inputSchema }) => {
      const body = JSON.stringify({ workflowName: name, input: sampleInput(inputSchema) });
      return `  curl -X POST ${url}/workflow/run${auth} -H 'content-type: application/json' -d ${shellQuote(body)}`;
    });
  return [
    '',
    `${pc.bold(pc.green('perdure'))} runs the workflows of ${pc.bold(folder)} at ${pc.bold(pc.cyan(url))}`,
    pc.dim(`state is kept in ${place}; files are loaded again when they change; Ctrl-C stops`),
    '',
    ...list,
    '',
    'Try',
    ...tries,
    `  curl ${url}/workflow/catalog${auth}`,
    '',
  ].join('\n');
}

/** A workflow that is given an address calls somebody there, and nobody may be. */
function standsAlone({ inputSchema }: CatalogEntry): boolean {
  return !JSON.stringify(inputSchema).includes('"format":"uri"');
}

function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
