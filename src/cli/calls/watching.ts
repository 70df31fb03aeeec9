/**
 * Shows a run while it goes on, on standard error, so that standard output has the result alone: as lines that are drawn
 * anew in a terminal, one line for each change elsewhere.
 */
import { setTimeout } from 'node:timers/promises';
import { type RunEvent, type Why, type WorkflowHandle, WorkflowOutcomeError } from '../../client/index.js';
import { canDraw, err } from '../colours.js';
import { lastWord } from '../shell-word.js';
import { CommandError, EXIT } from './failure.js';
import { Interruption } from './interruption.js';
import { printOutcome } from './outcome.js';
import { Progress } from './progress.js';
import { agoText, cut, durationText, plain, say } from './screen.js';

const REDRAW_MS = 200;
const EXPLAIN_MS = 1_000;
const EXPLAIN_WITHIN_MS = 10_000;

/**
 * Shows the run until it has ended, and prints what it returned. @throws what it failed with, and CommandError when it is lost or
 * interrupted while the run goes on
 */
export async function watch(
  handle: WorkflowHandle,
  { title, json }: { title: string; json?: boolean },
): Promise<void> {
  const interruption = new Interruption();
  const { signal } = interruption;
  try {
    const view = canDraw(process.stderr) ? new LiveView(title) : new LineView(title);
    const end = explainOpenSteps(handle, view);
    try {
      const history = handle.history({ follow: true, includePayloads: true, signal });
      for await (const event of history) view.take(event);
    } finally {
      end();
      view.end();
    }
    await printOutcome(handle, { json, signal });
  } catch (error) {
    const again = `perdure watch ${lastWord(handle.workflowId)}`;
    if (signal.aborted)
      throw interruption.toldAs(`; ${handle.workflowId} goes on. \`${again}\` shows it again`, error);
    if (error instanceof WorkflowOutcomeError) throw error;
    // Whatever it was that kept it from being seen: it was started, and another start would be a second one.
    const lost = `${handle.workflowId} was started, but watching it was lost (${(error as Error).message})`;
    throw new CommandError(EXIT.lost, `${lost}: do not start it again, \`${again}\` shows it`);
  } finally {
    interruption.end();
  }
}

interface View {
  readonly progress: Progress;
  explain(why: Why): void;
}

/** Attempts of steps are not in the history before they have ended, so they are asked for. Answers with what ends it. */
function explainOpenSteps(handle: WorkflowHandle, view: View): () => void {
  const over = new AbortController();
  const { signal } = over;
  void (async () => {
    for (;;) {
      await setTimeout(EXPLAIN_MS, undefined, { signal });
      if (!view.progress.hasOpenSteps) continue;
      // A server that is away is told of by what follows the history.
      const why = await handle.why({ signal, timeoutMs: EXPLAIN_WITHIN_MS }).catch(() => undefined);
      if (why && !signal.aborted) view.explain(why);
    }
  })().catch(() => {});
  return () => over.abort();
}

/** One line for each change. */
class LineView implements View {
  readonly progress = new Progress(err);

  constructor(title: string) {
    say(plain(title));
  }

  take(event: RunEvent): void {
    const line = this.progress.take(event);
    if (line !== undefined) say(`${event.eventTime.slice(11, 19)}  ${line}`);
  }

  explain(why: Why): void {
    for (const line of this.progress.explain(why, Date.parse(why.asOf)))
      say(`${why.asOf.slice(11, 19)}  ${line}`);
  }

  end(): void {}
}

const showCursor = () => void process.stderr.write('\u001b[?25h');

/** The run as it is at the moment. */
class LiveView implements View {
  readonly progress = new Progress(err);
  readonly #startedAt = Date.now();
  readonly #timer: NodeJS.Timeout;
  #drawn = 0;

  constructor(private readonly title: string) {
    process.stderr.write('\u001b[?25l');
    process.on('exit', showCursor);
    this.#draw();
    this.#timer = setInterval(() => this.#draw(), REDRAW_MS);
  }

  take(event: RunEvent): void {
    this.progress.take(event);
  }

  explain(why: Why): void {
    this.progress.explain(why, Date.now());
  }

  end(): void {
    clearInterval(this.#timer);
    this.#draw();
    showCursor();
    process.off('exit', showCursor);
  }

  #draw(): void {
    const { columns, rows } = process.stderr;
    const lines = screenOf(this.progress, {
      ...{ title: this.title, startedAt: this.#startedAt, now: Date.now() },
      // Of a terminal whose size nobody has set, both are 0.
      ...{ columns: columns || 80, rows: rows || 24 },
    });
    const up = this.#drawn > 0 ? `\u001b[${this.#drawn}A` : '';
    process.stderr.write(`${up}\r\u001b[J${lines.map((line) => `${line}\n`).join('')}`);
    this.#drawn = lines.length;
  }
}

interface Screen {
  title: string;
  startedAt: number;
  now: number;
  columns: number;
  rows: number;
}

/** No more than fits with the line that the cursor is on below: what has left the screen cannot be drawn over again. */
export function screenOf(progress: Progress, { title, startedAt, now, columns, rows }: Screen): string[] {
  const { closedBy, paused, items } = progress;
  const room = Math.max(1, rows - 4);
  const hidden = Math.max(0, items.size - room);
  const closing =
    closedBy === undefined ? err.dim(`  ${durationText(now - startedAt)}`) : closingLine(closedBy);
  const lines = [
    err.bold(plain(title)),
    ...(hidden > 0 ? [err.dim(`  … ${hidden} more`)] : []),
    ...progress.lines(now, room),
    ...(paused ? [err.yellow(`  paused ${agoText(paused.since)}: ${plain(paused.reason)}`)] : []),
    closing,
  ];
  return lines.slice(-Math.max(1, rows - 1)).map((line) => cut(line, columns));
}

function closingLine(closedBy: string): string {
  const colour = closedBy === 'completed' ? err.green : closedBy === 'continued_as_new' ? err.dim : err.red;
  return colour(`  ${closedBy.replaceAll('_', ' ')}`);
}
