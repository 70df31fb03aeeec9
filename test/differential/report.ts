/** What people read: the two sides of a disagreement next to each other, and how much a campaign has really tried. */
import { isDetermined } from './budgets.js';
import { keyOf, stable } from './comparison.js';
import type { Observation, ObservedRun } from './observation.js';
import { type Block, blockOf, type Program, partsOf } from './program.js';
import type { Trial } from './trial.js';

const WIDTH = 170;

/** Both observations, event by event; a line that only one side has is marked. */
export function sideBySide(names: readonly [string, string], { observations }: Trial): string {
  const [one, other] = observations;
  if (!one || !other) return observations.map((each) => lines(each).join('\n')).join('\n');
  const left = lines(one);
  const right = lines(other);
  const only = (line: string, others: readonly string[], name: string) =>
    others.includes(line) ? `  ${line}` : `! ${line}   ← only on ${name}`;
  return [
    `--- ${names[0]}`,
    ...left.map((line) => only(line, right, names[0])),
    `--- ${names[1]}`,
    ...right.map((line) => only(line, left, names[1])),
  ].join('\n');
}

function lines({ runs, answers, met, budget }: Observation): string[] {
  return [
    ...(met.length > 0 ? [`spending: ${stable({ met, budget })}`] : []),
    ...answers.map(({ action, answer }, index) => `action ${index}: ${action} → ${stable(answer)}`),
    ...runs.flatMap(runLines),
  ];
}

function runLines(run: ObservedRun): string[] {
  return [
    `${run.who}: ${run.status} ${stable(run.result)}`,
    ...run.phases.flatMap((events, phase) =>
      events.map((event) => `  phase ${phase}: ${shortened(keyOf(event))}`),
    ),
  ];
}

/** The bodies of children repeat what the program says already. */
function shortened(line: string): string {
  return line.length <= WIDTH * 4 ? line : `${line.slice(0, WIDTH * 4)}…`;
}

type Counts = Map<string, number>;

/** How much a campaign has tried, so that one sees that it tried something. */
export class Coverage {
  #programs = 0;
  #events = 0;
  #runs = 0;
  #disturbed = 0;
  readonly #statements: Counts = new Map();
  readonly #actions: Counts = new Map();
  readonly #statuses: Counts = new Map();
  readonly #types: Counts = new Map();
  /** What was spent, by the events that tell of it. */
  readonly #costs: Counts = new Map();
  readonly #budgets: Counts = new Map();

  add(program: Program, trial: Trial): void {
    this.#programs++;
    if (trial.isDisturbed) this.#disturbed++;
    const count = (block: Block) => {
      for (const statement of block) {
        increment(this.#statements, statement.op);
        for (const part of partsOf(statement)) count(part.block);
      }
    };
    count(program.body);
    for (const action of program.script) count(blockOf(action));
    const [observation] = trial.observations;
    if (!observation) return;
    if (program.budget) increment(this.#budgets, isDetermined(program) ? 'determined' : 'side by side');
    for (const { raise } of observation.met) increment(this.#budgets, `met and raised ${raise}`);
    for (const { action } of observation.answers) increment(this.#actions, action.split(' ')[0]!);
    for (const run of observation.runs) {
      this.#runs++;
      increment(this.#statuses, run.status);
      for (const event of run.phases.flat()) {
        this.#events++;
        increment(this.#types, event.type);
        const { costs = [] } = event.meaning as { costs?: unknown[] };
        for (const _ of costs) increment(this.#costs, event.type);
      }
    }
  }

  toString(): string {
    return [
      `${this.#programs} programs, ${this.#runs} runs, ${this.#events} events compared${this.#disturbed > 0 ? `, ${this.#disturbed} programs disturbed by a busy machine` : ''}`,
      `statuses:   ${listed(this.#statuses)}`,
      `actions:    ${listed(this.#actions)}`,
      `statements: ${listed(this.#statements)}`,
      `events:     ${listed(this.#types)}`,
      `costs:      ${listed(this.#costs)}`,
      `budgets:    ${listed(this.#budgets)}`,
    ].join('\n');
  }
}

function increment(counts: Counts, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function listed(counts: Counts): string {
  return [...counts]
    .sort(([, one], [, other]) => other - one)
    .map(([key, count]) => `${key} ${count}`)
    .join(', ');
}
