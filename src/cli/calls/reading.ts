/** `status`, `result`, `input`, `history`, `trace`, `watch`, `list` and `catalog`. */

import type { HistoryPage, RunEvent, RunFilter, RunListEntry, WorkflowHandle } from '../../client/index.js';
import { out } from '../colours.js';
import { plainJson } from '../plain.js';
import { lastWord } from '../shell-word.js';
import type { Connection } from './connection.js';
import { interruptible } from './interruption.js';
import { printOutcome } from './outcome.js';
import { Progress } from './progress.js';
import { agoText, durationText, plain, printJson, printJsonLine, statusText, table } from './screen.js';
import { watch } from './watching.js';

interface Target {
  id: string;
  run?: string;
  json?: boolean;
}

/** What a run waits for, of one that waits for many things. */
const MOST_REASONS = 5;

const EVENTS_AT_A_TIME = 500;

const print = (text: string) => process.stdout.write(`${text}\n`);

export async function status({ quick }: Connection, { id, run, json }: Target): Promise<void> {
  const handle = quick.handle(id, run);
  const record = await handle.status();
  if (json) return printJson(record);
  const { startedAt, completedAt, heldBack, paused } = record;
  const rows: [string, string][] = [
    ['workflow', plain(record.workflowType)],
    ['id', plain(record.workflowId)],
    ['run', record.runId],
    ['status', statusText(record.status)],
    ['catalog', plain(record.catalog)],
    ['started', `${agoText(startedAt)} ${out.dim(new Date(startedAt).toISOString())}`],
    [
      'took',
      completedAt === null
        ? `${durationText(Date.now() - startedAt)} so far`
        : durationText(completedAt - startedAt),
    ],
    ['events', String(record.historyLength)],
  ];
  if (heldBack)
    rows.push([
      'held back',
      `${out.red(plain(heldBack.reason))} ${out.dim(agoText(Date.parse(heldBack.since)))}`,
    ]);
  if (paused)
    rows.push([
      'paused',
      `${out.yellow(plain(paused.reason))} ${out.dim(`by ${paused.by}, ${agoText(Date.parse(paused.since))}`)}`,
    ]);
  if (record.status === 'running') {
    // A server of an older version does not say.
    const { reasons = [] } = (await handle.why().catch(() => undefined)) ?? {};
    for (const { message } of reasons.slice(0, MOST_REASONS)) rows.push(['now', plain(message)]);
    if (reasons.length > MOST_REASONS) rows.push(['', out.dim(`and ${reasons.length - MOST_REASONS} more`)]);
  }
  print(rows.map(([name, value]) => `${out.bold(name.padEnd(9))}  ${value}`).join('\n'));
}

export async function result(
  { patient, quick }: Connection,
  target: Target & { wait: boolean },
): Promise<void> {
  const { id, run, json, wait } = target;
  // Asked once without waiting: whether the run is there is told at once.
  await quick.handle(id, run).status();
  if (!wait) return printOutcome(quick.handle(id, run), { json, waitMs: 0 });
  await interruptible(goesOn('result', id, 'waits for it'), (signal) =>
    printOutcome(patient.handle(id, run), { json, signal }),
  );
}

/** Of a run that does not end with this program. */
const goesOn = (command: string, id: string, does: string): string =>
  `; ${id} goes on. \`perdure ${command} ${lastWord(id)}\` ${does} again`;

export async function input({ quick }: Connection, { id, run, json }: Target): Promise<void> {
  const body = await quick.handle(id, run).input();
  printJson(json ? body : body.input);
}

export async function trace({ quick }: Connection, { id, run, json }: Target): Promise<void> {
  const body = await quick.handle(id, run).traceLog({ inline: true });
  if (json || body.source === 'remote') return printJson(json ? body : body.data);
  if (body.data === undefined) return void print(plain(body.localPath));
  printJson(body.data);
}

export async function history(
  { quick, patient }: Connection,
  { id, run, json, follow, payloads }: Target & { follow?: boolean; payloads?: boolean },
): Promise<void> {
  const { runId } = await quick.handle(id, run).status();
  const events = (follow ? patient : quick).handle(id, run ?? (follow ? undefined : runId));
  const options = { includePayloads: payloads ?? false };
  if (json && !follow) return printJson(await wholeHistory(events, options));
  const progress = new Progress(out);
  const show = (event: RunEvent) => {
    if (json) return printJsonLine(event);
    const line = progress.take(event);
    const time = out.dim(event.eventTime.slice(11, 23));
    print(`${event.eventId.padStart(5)}  ${time}  ${event.eventTypeName}${line ? `  ${out.dim(line)}` : ''}`);
    if (payloads) print(plainJson(JSON.stringify(event, null, 2)).replaceAll(/^/gm, '       '));
  };
  if (!follow) {
    for await (const event of events.history(options)) show(event);
    return;
  }
  await interruptible(goesOn('history --follow', id, 'shows it'), async (signal) => {
    for await (const event of events.history({ ...options, follow, signal })) show(event);
  });
}

/** As the API would give it on one page. */
async function wholeHistory(
  handle: WorkflowHandle,
  options: { includePayloads: boolean },
): Promise<HistoryPage> {
  const pageSize = EVENTS_AT_A_TIME;
  const whole = await handle.historyPage({ ...options, pageSize });
  for (let pageToken = whole.nextPageToken; pageToken; ) {
    const page = await handle.historyPage({ ...options, pageSize, pageToken });
    whole.events.push(...page.events);
    pageToken = page.nextPageToken;
  }
  return { ...whole, nextPageToken: null };
}

export async function watchRun({ quick, patient }: Connection, { id, run, json }: Target): Promise<void> {
  const { workflowType } = await quick.handle(id, run).status();
  await watch(patient.handle(id, run), { title: `${workflowType} ${id}`, json });
}

export interface ListFlags {
  filter: RunFilter;
  limit: number;
  all?: boolean;
  /** With a sentence on why each is where it is. */
  why?: boolean;
  json?: boolean;
}

const LARGEST_PAGE = 1_000;
const LARGEST_EXPLAINED_PAGE = 100;

export async function list({ quick }: Connection, flags: ListFlags): Promise<void> {
  const { filter, limit, all, why, json } = flags;
  const largest = why ? LARGEST_EXPLAINED_PAGE : LARGEST_PAGE;
  const most = all ? Number.POSITIVE_INFINITY : limit;
  const runs: RunListEntry[] = [];
  let cursor: string | undefined;
  let nextCursor: string | null = null;
  do {
    const page = await quick.runsPage({
      ...filter,
      ...(why && { why }),
      limit: Math.min(largest, most - runs.length),
      cursor,
    });
    runs.push(...page.runs);
    nextCursor = page.nextCursor;
    cursor = nextCursor ?? undefined;
  } while (cursor !== undefined && runs.length < most);
  if (json) return printJson({ runs, count: runs.length, nextCursor });
  if (runs.length === 0) return void print('no runs');
  const rows = runs.map((run) => [...listRow(run), ...(why ? [plain(run.summary ?? '')] : [])]);
  print(table(['ID', 'WORKFLOW', 'STATUS', 'STARTED', 'TOOK', ...(why ? ['WHY'] : [])], rows));
  if (nextCursor !== null) print(out.dim('there are more: --all shows them'));
}

function listRow(run: RunListEntry): string[] {
  const { workflowId, workflowType, status, startedAt, completedAt, paused } = run;
  const from = Date.parse(startedAt);
  const took = (completedAt === null ? Date.now() : Date.parse(completedAt)) - from;
  const state = paused ? `${statusText(status)}, ${out.yellow('paused')}` : statusText(status);
  return [plain(workflowId), plain(workflowType), state, agoText(from), durationText(took)];
}

export async function catalog(
  connection: Connection,
  name: string | undefined,
  json?: boolean,
): Promise<void> {
  const { quick } = connection;
  if (name === undefined) {
    const body = await quick.catalog(connection.catalog);
    if (json) return printJson(body);
    if (body.workflows.length === 0)
      return void print(`the catalog "${plain(body.catalog)}" has no workflows yet`);
    const rows = body.workflows.map((entry) => [
      plain(entry.name),
      messagesOf(entry),
      plain(entry.description ?? ''),
    ]);
    return void print(table(['WORKFLOW', 'MESSAGES', 'DESCRIPTION'], rows));
  }
  const { findWorkflow } = await import('./input.js');
  const entry = await findWorkflow(quick, name, connection.catalog);
  printJson(entry);
}

function messagesOf({
  signals,
  queries,
  updates,
}: Record<'signals' | 'queries' | 'updates', { name: string }[]>): string {
  return [...signals, ...queries, ...updates].map(({ name }) => plain(name)).join(', ');
}
