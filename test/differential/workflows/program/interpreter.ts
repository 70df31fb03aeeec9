/** Does what a program says, and keeps what came of each statement, errors as the code sees them. */
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  createCallback,
  defineQuery,
  defineSignal,
  defineUpdate,
  deprecatePatch,
  executeInParallel,
  getExternalWorkflowHandle,
  patched,
  type Step,
  setHandler,
  sleep,
  uuid4,
  type Workflow,
  type WorkflowContext,
  workflowInfo,
  z,
} from 'perdure';
import type { Block, ChildWorkflow, ErrorSpec, ProgramInput, Statement } from '../../program.js';
import { described, errorOf } from './errors.js';
import {
  act,
  actLater,
  actListed,
  actOnce,
  holdAbandon,
  holdTry,
  holdWait,
  silent,
  slow,
  strict,
} from './steps.js';
import { valueFrom } from './values.js';
import { Waiters } from './waiters.js';

type Of<Op extends Statement['op']> = Extract<Statement, { op: Op }>;
/** How a block ends when it ends the whole workflow. */
type Ending = { kind: 'return'; value: unknown } | { kind: 'continue'; statement: Of<'continue'> };
interface Message {
  site: number;
  body: Block;
  refuse?: ErrorSpec;
}
interface TraceEntry {
  site: number;
  value?: unknown;
  error?: unknown;
}

const Posted = z.object({ ok: z.boolean(), times: z.number().default(7) });
const goSignal = defineSignal<[unknown]>('go');
const noteSignal = defineSignal<[unknown]>('note');
const runSignal = defineSignal<[Message]>('run');
const runUpdate = defineUpdate<unknown, [Message]>('run');
const steps = { act, actLater, actListed, actOnce, silent, slow, strict };
const holdSteps = { try: holdTry, wait: holdWait, abandon: holdAbandon };

export class Interpreter {
  readonly #trace: TraceEntry[] = [];
  readonly #waiters = new Waiters();
  #notes = 0;

  constructor(
    private readonly input: ProgramInput,
    private readonly context: WorkflowContext,
    private readonly children: Record<ChildWorkflow, Workflow>,
  ) {}

  async run(): Promise<unknown> {
    this.#listen();
    try {
      const ending = await this.#block(this.input.body);
      if (ending?.kind === 'continue') {
        const { site, body } = ending.statement;
        return this.context.control.continueAsNew({ ...this.input, site, body });
      }
      return ending ? ending.value : { trace: this.#sorted() };
    } finally {
      await this.#letHandlersEnd();
    }
  }

  /** A cancelled run cancels its handlers as well. Which of them ends first is a matter of time, so all are waited for. */
  async #letHandlersEnd(): Promise<void> {
    if (!CancellationScope.current().consideredCancelled) return;
    await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
  }

  #listen(): void {
    setHandler(goSignal, () => this.#waiters.go());
    setHandler(noteSignal, () => {
      this.#notes++;
    });
    setHandler(runSignal, async ({ body }) => {
      await this.#block(body);
    });
    setHandler(
      runUpdate,
      async ({ body }) => {
        const ending = await this.#block(body);
        return ending?.kind === 'return' ? ending.value : this.#sorted().length;
      },
      {
        validator: ({ refuse }) => {
          if (refuse) throw errorOf(refuse);
        },
      },
    );
    setHandler(defineQuery<unknown>('state'), () => ({
      trace: this.#sorted(),
      notes: this.#notes,
      ...this.#waiters.received,
    }));
    setHandler(defineQuery<unknown>('throw'), () => {
      throw Object.assign(new RangeError('no answer'), { code: 'E_QUERY' });
    });
    setHandler(defineQuery<unknown>('act'), () => {
      void sleep(1);
      return 'acted';
    });
  }

  /** Where branches run side by side the order of entries is a matter of time; the statements' order is not. */
  #sorted(): TraceEntry[] {
    return [...this.#trace].sort((one, other) => one.site - other.site);
  }

  async #block(block: Block): Promise<Ending | undefined> {
    for (const statement of block) {
      const ending = await this.#traced(statement);
      if (ending) return ending;
    }
    return undefined;
  }

  async #traced(statement: Statement): Promise<Ending | undefined> {
    const site = statement.site!;
    if (statement.op === 'return') return { kind: 'return', value: valueFrom(statement.value) };
    if (statement.op === 'continue') return { kind: 'continue', statement };
    try {
      const value = await this.#perform(statement);
      if (value instanceof Ended) return value.ending;
      this.#trace.push({ site, value });
      return undefined;
    } catch (error) {
      this.#trace.push({ site, error: described(error) });
      throw error;
    }
  }

  async #perform(statement: Exclude<Statement, Of<'return' | 'continue'>>): Promise<unknown> {
    const site = statement.site!;
    switch (statement.op) {
      case 'step':
        return (steps[statement.step] as Step)({
          ...{ site, does: statement.does, spends: statement.spends },
          ...this.#ledger,
        });
      case 'hold':
        return holdSteps[statement.cancellation]({
          site,
          holds: this.input.holds,
          spends: statement.spends,
          ...this.#ledger,
        });
      case 'sleep':
        return sleep(statement.ms!);
      case 'wait':
        return this.#waiters.untilGo(site, statement.ms);
      case 'never':
        return condition(() => false);
      case 'callback': {
        const id = `c${site}`;
        // Made up, each is another one; what it looks like is the same everywhere.
        const generated = createCallback().id.replace(/[0-9a-f]/g, 'x');
        const { result } = statement.checked
          ? createCallback({ id, schema: Posted })
          : createCallback({ id });
        const posted = await result;
        return { generated, ...(posted !== undefined && { posted }) };
      }
      case 'child':
        return this.#child(statement);
      case 'partner':
        return this.#partner(statement);
      case 'external':
        return this.#external(statement);
      case 'gather':
        return this.#gather(statement);
      case 'decide':
        return this.#decide(statement);
      case 'scope':
        return this.#scope(statement);
      case 'limit':
        return this.#ended(CancellationScope.withTimeout(statement.ms!, () => this.#block(statement.body)));
      case 'try':
        return this.#try(statement);
      case 'throw':
        if (workflowInfo().attempt < (statement.untilAttempt ?? Number.POSITIVE_INFINITY)) {
          throw errorOf(statement.error);
        }
        return 'not this time';
      case 'leave':
        // Not awaited on purpose: the workflow ends before its child does.
        this.#start(statement, 'program', { detached: statement.detached }).catch(() => {});
        await this.#waiters.untilGo(site);
        return new Ended({ kind: 'return', value: 'left' });
      case 'patch':
        if (statement.deprecated) deprecatePatch(`p${site}`);
        return patched(`p${site}`) && patched(`p${site}`);
      case 'random':
        return [uuid4().replace(/[0-9a-f]/g, 'x'), Math.random() < 1, typeof Date.now()];
    }
  }

  #start(
    { site, body }: { site?: number; body: Block },
    type: ChildWorkflow,
    options: { workflowId?: string; detached: boolean },
  ): Promise<unknown> {
    return this.children[type]({ ...this.input, site, body }, options);
  }

  get #ledger(): { ledger?: string } {
    return this.input.isBudgeted ? { ledger: this.input.holds } : {};
  }

  #childId(site: number): string {
    return `${this.input.root}/${site}`;
  }

  async #child(statement: Of<'child'>): Promise<unknown> {
    const { workflow, id, detached } = statement;
    if (id === 'generated') return this.#start(statement, workflow, { detached });
    const workflowId = id === 'taken' ? this.input.root : this.#childId(statement.site!);
    const first = await this.#start(statement, workflow, { workflowId, detached });
    return id === 'twice' ? this.#start(statement, workflow, { workflowId, detached }) : first;
  }

  async #partner(statement: Of<'partner'>): Promise<unknown> {
    const workflowId = this.#childId(statement.site!);
    this.#start(statement, 'program', { workflowId, detached: true }).catch(() => {});
    await this.#waiters.untilGo(statement.site!);
    const handle = getExternalWorkflowHandle(workflowId);
    if (statement.sends === 'signal') return handle.signal(goSignal, { site: statement.site });
    if (statement.sends === 'cancel') return handle.cancel();
    return 'left alone';
  }

  async #external({ site, target, act }: Of<'external'>): Promise<unknown> {
    const { workflowId, parent } = workflowInfo();
    const nobody = `${this.#childId(site!)}-nobody`;
    const handle = getExternalWorkflowHandle(
      target === 'self' ? workflowId : target === 'parent' ? (parent?.workflowId ?? nobody) : nobody,
    );
    return act === 'signal' ? handle.signal(noteSignal, { site }) : handle.cancel();
  }

  async #gather({ how, concurrency, branches }: Of<'gather'>): Promise<unknown> {
    const jobs = branches.map((branch) => async () => (await this.#block(branch))?.kind ?? 'done');
    if (how === 'jobs') {
      const results = await executeInParallel({ jobs, concurrency });
      return results.map((each) => (each.ok ? each : { ...each, error: described(each.error) }));
    }
    const outcomes = await Promise.allSettled(jobs.map((job) => job()));
    return outcomes.map((each) => (each.status === 'fulfilled' ? each.value : described(each.reason)));
  }

  async #decide({ site, how, led, decider, others }: Of<'decide'>): Promise<unknown> {
    const first = async () => {
      if (led) await this.#waiters.untilGo(site!);
      return this.#block(decider);
    };
    const deciding = first();
    const branches = [deciding, ...others.map((other) => this.#block(other))];
    try {
      if (how === 'race') return await this.#ended(Promise.race(branches));
      await Promise.all(branches);
      return 'all';
    } catch (error) {
      // When all are cancelled, the others end at once; what comes next must not run beside the decider's cleaning up.
      await deciding.catch(() => {});
      throw error;
    }
  }

  async #scope({ site, shielded, cancel, body }: Of<'scope'>): Promise<unknown> {
    const scope = new CancellationScope({ cancellable: !shielded });
    let done = false;
    const ending = scope.run(() => this.#block(body));
    ending.then(
      () => {
        done = true;
      },
      () => {
        done = true;
      },
    );
    // When the scope around this one is cancelled meanwhile, so is this one: what counts is how its body ends.
    if (cancel === 'led') await this.#waiters.untilGo(site!, undefined, () => done).catch(() => {});
    if (cancel !== 'never') scope.cancel();
    return this.#ended(ending);
  }

  async #try(statement: Of<'try'>): Promise<unknown> {
    const { body, caught, cleanup, shielded } = statement;
    const run = (block: Block) =>
      shielded ? CancellationScope.nonCancellable(() => this.#block(block)) : this.#block(block);
    let ending: Ending | undefined;
    try {
      ending = await this.#block(body);
    } catch (error) {
      if (!caught) throw error;
      ending = await run(caught);
    } finally {
      if (cleanup) await run(cleanup);
    }
    return ending ? new Ended(ending) : 'tried';
  }

  async #ended(block: Promise<Ending | undefined>): Promise<unknown> {
    const ending = await block;
    return ending ? new Ended(ending) : 'done';
  }
}

class Ended {
  constructor(readonly ending: Ending) {}
}
