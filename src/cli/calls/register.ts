/** The commands that call a server: `perdure workflow run …`, and the same without `workflow`. */
import { type Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import type { RunFilter } from '../../client/index.js';
import { RUN_STATUSES } from '../../core/run/run.js';
import { err } from '../colours.js';
import { endWhenUnread } from '../unread.js';
import { notEmpty, wholeNumber } from '../values.js';
import { type Connection, calledServer, catalogOption, connect, connectionOptions } from './connection.js';
import { CommandError, EXIT, explain } from './failure.js';
import { filterOption } from './filters.js';
import { plain } from './screen.js';

type Flags = Record<string, never> & {
  input?: string;
  id?: string;
  run?: string;
  json?: boolean;
  check: boolean;
  wait: boolean;
  yes?: boolean;
  follow?: boolean;
  payloads?: boolean;
  all?: boolean;
  why?: boolean;
  limit: number;
  filter?: RunFilter;
  status?: string;
  workflow?: string;
  reason?: string;
  step?: string;
  occurrence?: number;
  toStart?: boolean;
  idempotencyKey?: string;
  budget?: { amount: string; currency: string };
};

const inputOption = () => new Option('--input <json>', 'JSON, @FILE, or - for standard input');
const runOption = () =>
  new Option('--run <id>', 'one run of the id, in place of the latest').argParser(notEmpty);
const noCheckOption = () => new Option('--no-check', 'leave the check of the input to the server');
const yesOption = () => new Option('--yes', 'do not ask');
const reasonOption = () => new Option('--reason <text>', 'kept in the history');

export function addCalls(program: Command): void {
  const group = program.command('workflow').description('run workflows and look after their runs');
  for (const [parent, heading] of [
    [group, undefined],
    [program, 'Workflows (short for "perdure workflow …"):'],
  ] as const) {
    const add = (syntax: string, description: string, options: Option[]) => {
      const command = parent.command(syntax).description(description);
      if (heading !== undefined) command.helpGroup(heading);
      for (const option of options) command.addOption(option);
      for (const option of connectionOptions()) command.addOption(option);
      return command.option('--json', "the API's answer as it is, and nothing else on standard output");
    };
    addStarting(add);
    addReading(add);
    addMessages(add);
    addActing(add);
  }
}

type Add = (syntax: string, description: string, options: Option[]) => Command;

/** The server says what is wrong with either part. */
function readBudget(text: string): { amount: string; currency: string } {
  const [amount = '', currency = 'USD', ...more] = text.trim().split(/\s+/);
  if (more.length > 0) throw new InvalidArgumentError('give an amount, or an amount and a currency.');
  return { amount, currency };
}

function addStarting(add: Add): void {
  const key = new Option(
    '--idempotency-key <key>',
    'the same key with the same input is the same run',
  ).argParser(notEmpty);
  const id = new Option('--id <id>', 'workflow id; one is made up otherwise').argParser(notEmpty);
  const budget = new Option(
    '--budget <amount>',
    'what it and its children may spend, such as 0.50 or "0.50 EUR"; paused beyond',
  ).argParser(readBudget);
  const options = () => [
    inputOption(),
    id,
    catalogOption('catalog of the workflow'),
    key,
    budget,
    noCheckOption(),
  ];
  add('run <workflow> [input]', 'start a workflow, show it and print what it returns', options()).action(
    calling(async (connection, flags, [name, argument]) =>
      (await import('./starting.js')).run(connection, name!, { argument, option: flags.input }, flags),
    ),
  );
  add('start <workflow> [input]', 'start a workflow and print its id', options()).action(
    calling(async (connection, flags, [name, argument]) =>
      (await import('./starting.js')).start(connection, name!, { argument, option: flags.input }, flags),
    ),
  );
}

function addReading(add: Add): void {
  add('status <id>', 'what a run is doing', [runOption()]).action(
    calling(async (connection, flags, [id]) =>
      (await import('./reading.js')).status(connection, { ...flags, id: id! }),
    ),
  );
  add('why <id>', 'why a run is where it is, and what to do about it', [runOption()]).action(
    calling(async (connection, { run, json }, [id]) =>
      (await import('./why.js')).why(connection, { id: id!, run, json }),
    ),
  );
  const noWait = new Option('--no-wait', 'do not wait for a run that is open');
  add('result <id>', 'what a run returned, when it has ended', [runOption(), noWait]).action(
    calling(async (connection, flags, [id]) =>
      (await import('./reading.js')).result(connection, { ...flags, id: id! }),
    ),
  );
  add('input <id>', 'what a run was started with', [runOption()]).action(
    calling(async (connection, flags, [id]) =>
      (await import('./reading.js')).input(connection, { ...flags, id: id! }),
    ),
  );
  add('trace <id>', 'the trace of a run that has ended', [runOption()]).action(
    calling(async (connection, flags, [id]) =>
      (await import('./reading.js')).trace(connection, { ...flags, id: id! }),
    ),
  );
  add('history <id>', 'the events of a run', [
    ...[runOption(), new Option('--follow', 'go on with events as they happen')],
    new Option('--payloads', 'with what user code gave and threw'),
  ]).action(
    calling(async (connection, flags, [id]) =>
      (await import('./reading.js')).history(connection, { ...flags, id: id! }),
    ),
  );
  add('watch <id>', 'show a run until it has ended', [runOption()]).action(
    calling(async (connection, flags, [id]) =>
      (await import('./reading.js')).watchRun(connection, { ...flags, id: id! }),
    ),
  );
  const scope = new Option('--scope <scope>', 'of the run, of its chain, or of its tree')
    .choices(['run', 'chain', 'tree'])
    .default('run');
  add('cost <id>', 'what a run has spent, by its steps', [runOption(), scope]).action(
    calling(async (connection, flags, [id]) =>
      (await import('./cost.js')).cost(connection, { ...flags, id: id! }),
    ),
  );
  add('list', 'runs, newest first', [
    ...[filterOption(), new Option('--status <status>', 'short for --filter status=…').choices(RUN_STATUSES)],
    new Option('--workflow <name>', 'short for --filter workflowType=…'),
    new Option('--limit <number>', 'how many').default(20).argParser(wholeNumber(1, 1_000_000)),
    new Option('--all', 'all of them').conflicts('limit'),
    new Option('--why', 'with a sentence on why each is where it is'),
  ]).action(
    calling(async (connection, flags) => {
      const { status, workflow, limit, all, why, json } = flags;
      const short = { ...(status && { status }), ...(workflow && { workflowType: workflow }) };
      const twice = Object.keys(flags.filter ?? {}).find((key) => Object.hasOwn(short, key));
      if (twice !== undefined) throw new CommandError(EXIT.wrongUse, `there are two filters by ${twice}`);
      const filter = { ...short, ...flags.filter } as RunFilter;
      await (await import('./reading.js')).list(connection, { filter, limit, all, why, json });
    }),
  );
  add('catalog [workflow]', 'the workflows there are, or one with its schemas', [
    catalogOption('catalog of the workflow'),
  ]).action(
    calling(async (connection, { json }, [name]) =>
      (await import('./reading.js')).catalog(connection, name, json),
    ),
  );
  add('workers', 'the workers that are connected, their code and how much they have to do', []).action(
    calling(async (connection, { json }) => (await import('./workers.js')).workers(connection, { json })),
  );
}

function addMessages(add: Add): void {
  for (const [kind, description] of [
    ['signal', 'send a signal to a workflow'],
    ['query', 'ask a workflow, and print the answer'],
    ['update', 'change a workflow, and print what its handler returns'],
  ] as const) {
    add(`${kind} <id> <name> [payload]`, description, [inputOption(), noCheckOption()]).action(
      calling(async (connection, flags, [id, name, argument]) => {
        const given = { argument, option: flags.input };
        await (await import('./messages.js')).message(connection, kind, name!, { ...flags, id: id!, given });
      }),
    );
  }
  add('feedback <id> [payload]', 'resume a workflow that waits for a callback', [inputOption()]).action(
    calling(async (connection, { input, json }, [id, argument]) => {
      const given = { argument, option: input };
      await (await import('./messages.js')).feedback(connection, { id: id!, given, json });
    }),
  );
}

function addActing(add: Add): void {
  const many = () => [runOption(), filterOption(), yesOption()];
  add('stop [id...]', 'cancel runs; their cleanup runs', many()).action(
    calling(async (connection, { run, filter, yes, json }, ids) => {
      const action = {
        verb: 'stop',
        past: 'asked to stop',
        perform: (handle) => handle.stop(),
      } satisfies Action;
      await (await import('./acting.js')).act(connection, action, { ids, run, filter, yes, json });
    }),
  );
  add('pause [id...]', 'start nothing new of runs until they are resumed', [
    ...[...many(), new Option('--reason <text>', 'for whoever finds them paused')],
  ]).action(
    calling(async (connection, { run, filter, yes, json, reason }, ids) => {
      const perform: Action['perform'] = (handle) => handle.pause({ reason });
      const action: Action = { verb: 'pause', past: 'paused', perform };
      await (await import('./acting.js')).act(connection, action, { ids, run, filter, yes, json });
    }),
  );
  add('resume [id...]', 'let paused runs go on', many()).action(
    calling(async (connection, { run, filter, yes, json }, ids) => {
      const perform: Action['perform'] = (handle) => handle.resume();
      const action: Action = { verb: 'resume', past: 'resumed', only: { paused: true }, perform };
      await (await import('./acting.js')).act(connection, action, { ids, run, filter, yes, json });
    }),
  );
  add('terminate [id...]', 'end runs at once, without cleanup', [...many(), reasonOption()]).action(
    calling(async (connection, { run, filter, yes, json, reason }, ids) => {
      const perform: Action['perform'] = (handle) => handle.terminate({ reason });
      await (await import('./acting.js')).act(
        ...([
          connection,
          { verb: 'terminate', past: 'terminated', perform },
          { ids, run, filter, yes, json },
        ] as const),
      );
    }),
  );
  add('budget <id> <amount>', 'change what a run may spend; one that waits for it goes on', [
    runOption(),
  ]).action(
    calling(async (connection, flags, [id, amount]) =>
      (await import('./cost.js')).setBudget(connection, amount!, { ...flags, id: id! }),
    ),
  );
  add('reset [id...]', 'start runs anew after a completed step, or from their beginning', [
    ...[...many(), reasonOption(), new Option('--step <name>', 'go on after this step').conflicts('toStart')],
    new Option('--occurrence <number>', 'which execution of the step')
      .argParser(wholeNumber(1, 1_000_000))
      .conflicts('toStart'),
    new Option('--to-start', 'begin anew'),
  ]).action(
    calling(async (connection, flags, ids, command) => {
      const { run, filter, yes, json, reason, step: stepName, occurrence, toStart } = flags;
      if (stepName === undefined && !toStart) command.error('say where to go on: --step NAME, or --to-start');
      const perform: Action['perform'] = async (handle) => {
        const point = stepName === undefined ? ({ toStart: true } as const) : { stepName, occurrence };
        const { workflowId, startedRunId: runId } = await handle.reset({ ...point, reason });
        return { workflowId, runId };
      };
      const action: Action = { verb: 'reset', past: 'reset', isOnce: true, perform };
      await (await import('./acting.js')).act(connection, action, { ids, run, filter, yes, json });
    }),
  );
}

type Action = import('./acting.js').Action;
type Call = (connection: Connection, flags: Flags, args: string[], command: Command) => Promise<void>;

/** Runs the call and leaves with the exit code that its end has. */
function calling(call: Call) {
  return async (...given: unknown[]): Promise<void> => {
    const command = given.at(-1) as Command;
    const args = command.args;
    await leaveWith(async () => {
      const connection = await connect(command);
      await call(connection, command.opts<Flags>(), args, command);
    });
  };
}

/** @throws what commander makes of wrong use */
export async function leaveWith(work: () => Promise<void>): Promise<void> {
  endWhenUnread();
  try {
    await work();
  } catch (error) {
    if (error instanceof CommanderError) throw error;
    const failure = explain(error, calledServer());
    if (!failure) throw error;
    process.exitCode = failure.exitCode;
    const lines = failure.message.split('\n').map(plain);
    process.stderr.write(`${err.red('perdure:')} ${lines.join('\n')}\n`);
  }
  // What is under way to a pipe has to get there.
  process.stdout.write('', () => process.exit());
}
