/** `stop`, `pause`, `resume`, `terminate` and `reset`, on one run or on many: what is found is shown first, and has to be confirmed. */
import { createInterface } from 'node:readline/promises';
import { whenAborted } from '../../client/bounded.js';
import {
  ClientError,
  ConnectionError,
  type RunFilter,
  type Stopped,
  UnexpectedAnswerError,
  type WorkflowHandle,
} from '../../client/index.js';
import { canDraw } from '../colours.js';
import { lastWord } from '../shell-word.js';
import type { Connection } from './connection.js';
import { CommandError, EXIT } from './failure.js';
import { interruptible } from './interruption.js';
import { sentOnce } from './once.js';
import { plain, printJson, printJsonLine, say } from './screen.js';

export interface Action {
  /** `stop`, for messages. */
  verb: string;
  /** `stopped`. */
  past: string;
  /** Of what a filter finds, those that it can be done to. */
  only?: RunFilter;
  /** A second one would be another: a reset makes a run each time. */
  isOnce?: boolean;
  perform(handle: WorkflowHandle): Promise<object>;
}

export interface Targets {
  ids: string[];
  run?: string;
  filter?: RunFilter;
  yes?: boolean;
  json?: boolean;
}

const SHOWN = 5;

/** What a server says that would say so of every run. */
const TAKES_NONE = ['UnauthorizedError', 'TooManyRequestsError', 'StorageFullError'];

export async function act(connection: Connection, action: Action, targets: Targets): Promise<void> {
  const { ids, run, filter, json } = targets;
  if ((ids.length === 0) === (filter === undefined)) {
    throw new CommandError(
      EXIT.wrongUse,
      `say what to ${action.verb}: ids, or --filter KEY=VALUE, and not both`,
    );
  }
  if (run !== undefined && ids.length !== 1)
    throw new CommandError(EXIT.wrongUse, '--run names one run of one id');
  if (filter === undefined && ids.length === 1) {
    const answer = await performOne(action, connection.quick.handle(ids[0]!, run));
    if (json) return printJson(answer);
    return say(`${plain(ids[0]!)} ${endedBefore(answer) ?? `was ${action.past}`}`);
  }
  const handles = filter
    ? await found(connection, action, filter)
    : ids.map((id) => connection.quick.handle(id));
  if (handles.length === 0) return say('no run fits; nothing was done');
  if (filter) await confirm(action, handles, targets.yes);
  await performAll(action, handles, json);
}

async function performOne({ verb, isOnce, perform }: Action, handle: WorkflowHandle): Promise<object> {
  if (!isOnce) return perform(handle);
  // Whether anybody of ours is there, and the run, is told before something is sent that cannot be sent again.
  await handle.status();
  const look = `perdure status ${lastWord(handle.workflowId)}`;
  return sentOnce(verb, look, (signal) => Promise.race([perform(handle), whenAborted(signal)]));
}

/** A stop changes nothing of a run that has ended, and says what it is. */
function endedBefore(answer: Partial<Stopped>): string | undefined {
  const { status = 'running' } = answer;
  return status === 'running' ? undefined : `had ended before: ${status.replaceAll('_', ' ')}`;
}

async function found(
  { quick }: Connection,
  { verb, only: meant }: Action,
  filter: RunFilter,
): Promise<WorkflowHandle[]> {
  const handles: WorkflowHandle[] = [];
  // Only what is open can be ended or paused; a reset works on closed runs as well.
  const only: RunFilter = verb === 'reset' ? filter : { status: 'running', ...meant, ...filter };
  for await (const { workflowId, runId } of quick.runs(only)) handles.push(quick.handle(workflowId, runId));
  return handles;
}

async function confirm({ verb }: Action, handles: WorkflowHandle[], yes?: boolean): Promise<void> {
  const shown = handles.slice(0, SHOWN).map(({ workflowId }) => `  ${plain(workflowId)}`);
  const more = handles.length > SHOWN ? [`  and ${handles.length - SHOWN} more`] : [];
  say(
    [
      `this would ${verb} ${handles.length} ${handles.length === 1 ? 'run' : 'runs'}:`,
      ...shown,
      ...more,
    ].join('\n'),
  );
  if (yes) return;
  if (!process.stdin.isTTY) throw new CommandError(EXIT.wrongUse, 'nothing was done: confirm it with --yes');
  const answer = await ask('Go on? [y/N] ');
  if (answer === undefined) throw new CommandError(EXIT.interrupted, 'nothing was done');
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError(EXIT.wrongUse, 'nothing was done');
}

/** Undefined when there is no answer: Ctrl-C, or the end of the input. */
async function ask(question: string): Promise<string | undefined> {
  const dialog = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await dialog.question(question);
  } catch (error) {
    if ((error as Error).name !== 'AbortError') throw error;
    say('');
    return undefined;
  } finally {
    dialog.close();
  }
}

async function performAll(action: Action, handles: WorkflowHandle[], json?: boolean): Promise<void> {
  const { past } = action;
  const problems: string[] = [];
  let done = 0;
  const isLive = canDraw(process.stderr) && !json;
  let under = handles[0]!;
  let isRefused = false;
  let isCutShort = false;
  const soFar = () =>
    `${done} of ${handles.length} ${past}, ${under.workflowId} ${isRefused ? 'is not' : 'may be'}, and those after it are as they were`;
  try {
    await interruptible(
      () => `; ${soFar()}`,
      async (signal) => {
        const interrupted = whenAborted(signal);
        interrupted.catch(() => {});
        for (const [at, handle] of handles.entries()) {
          under = handle;
          try {
            const answer: Partial<Stopped> = await Promise.race([performOne(action, handle), interrupted]);
            if (json) printJsonLine(answer);
            // What was found is one run, and another has taken its place since.
            if (answer.status === 'continued_as_new')
              problems.push(`  ${plain(handle.workflowId)}: it was continued as new meanwhile, and goes on`);
            else done++;
          } catch (error) {
            // One that has ended meanwhile must not keep the others from being done.
            if (!(error instanceof ClientError) || typeof error.status !== 'number') throw error;
            // Nor would it be of use to ask another program for each of them, or one that takes none.
            isRefused = TAKES_NONE.includes(error.name);
            if (isRefused || (error instanceof UnexpectedAnswerError && at === 0)) throw error;
            problems.push(`  ${plain(handle.workflowId)}: ${error.message}`);
          }
          if (isLive) process.stderr.write(`\r\u001b[K${at + 1} of ${handles.length}`);
        }
      },
    );
  } catch (error) {
    isCutShort = isRefused ? under !== handles[0] : isLost(error);
    throw error;
  } finally {
    if (isLive) process.stderr.write('\r\u001b[K');
    if (isCutShort) say(plain(soFar()));
  }
  say(`${done} of ${handles.length} ${past}`);
  if (problems.length > 0)
    throw new CommandError(EXIT.failed, [`${problems.length} could not be:`, ...problems].join('\n'));
}

const isLost = (error: unknown): boolean =>
  error instanceof ConnectionError || (error instanceof CommandError && error.exitCode === EXIT.lost);
