/** What `perdure dev` shows a person who has just started it: what runs, and lines to paste. */
import type { CatalogEntry } from '../../core/catalog.js';
import { DEFAULT_SERVER } from '../calls/connection.js';
import { out as colors } from '../colours.js';
import { sampleInput } from '../sample.js';

export interface Welcome {
  url: string;
  folder: string;
  /** Where state is kept. */
  place: string;
  hasToken: boolean;
  /** Whether the dashboard is served. */
  hasUi: boolean;
  workflows: CatalogEntry[];
}

/** More lines would push the first ones off the screen; the catalog has the rest. */
const MAX_TRIES = 5;

export function welcomeText({ url, folder, place, hasToken, hasUi, workflows }: Welcome): string {
  const width = Math.max(...workflows.map(({ name }) => name.length));
  const list = workflows.map(({ name, description }) => {
    return `  ${colors.bold(name.padEnd(width))}  ${colors.dim(description ?? '')}`.trimEnd();
  });
  const auth = authorization(hasToken);
  const server = url === DEFAULT_SERVER ? '' : ` --server ${url}`;
  const samples = workflows
    .filter(standsAlone)
    .slice(0, MAX_TRIES)
    .map(({ name, inputSchema }) => ({ name, input: sampleInput(inputSchema) }));
  const tries = samples.map(
    ({ name, input }) => `  npx perdure run ${name} ${shellQuote(JSON.stringify(input))}${server}`,
  );
  const calls = samples.slice(0, 1).map(({ name, input }) => {
    const body = JSON.stringify({ workflowName: name, input });
    return `  curl -X POST ${url}/workflow/run${auth} -H 'content-type: application/json' -d ${shellQuote(body)}`;
  });
  return [
    '',
    `${colors.bold(colors.green('perdure'))} runs the workflows of ${colors.bold(folder)} at ${colors.bold(colors.cyan(url))}`,
    ...(hasUi ? [`its dashboard, to see and to act: ${colors.cyan(`${url}/ui/`)}`] : []),
    `its API, to read and to try: ${colors.cyan(`${url}/docs`)}`,
    colors.dim(`state is kept in ${place}; files are loaded again when they change; Ctrl-C stops`),
    '',
    ...list,
    '',
    `Try, in another terminal${hasToken ? ', with API_AUTH_TOKEN set there too' : ''}`,
    ...tries,
    `  npx perdure list${server}`,
    ...(calls.length > 0 ? ['or, as a program would', ...calls] : []),
    '',
  ].join('\n');
}

/** The command that shows what the service has at a path. */
export function lookCommand(url: string, path: string, hasToken: boolean): string {
  return `curl${authorization(hasToken)} ${shellQuote(url + path)}`;
}

/** Without the token itself, which would stay on the screen and in the history of a shell. */
const authorization = (hasToken: boolean): string =>
  hasToken ? ` -H "authorization: Bearer $API_AUTH_TOKEN"` : '';

/** A workflow that is given an address calls somebody there, and nobody may be. */
function standsAlone({ inputSchema }: CatalogEntry): boolean {
  return !JSON.stringify(inputSchema).includes('"format":"uri"');
}

function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
