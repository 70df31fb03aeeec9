/** Options that the chosen engine has no use for. Whoever gives one expects something that would not happen. */
import type { Command } from 'commander';
import { temporalOptions } from './temporal-options.js';

interface Meaningless {
  because: string;
  /** Machines have these variables set for other programs and commands; then nobody expects anything of this one. */
  isVariableFine?: boolean;
}

type Table = Record<string, Meaningless>;

const WORKER_TOKEN: Meaningless = {
  because: 'workers present an API key or a certificate to the cluster',
  isVariableFine: true,
};
const SPARES: Table = { spareWorkers: { because: 'the cluster gives tasks to every worker that asks' } };
const OF_THE_CLUSTER: Table = {
  ...SPARES,
  retention: { because: 'the retention of the namespace counts' },
  minFreeSpace: { because: 'the runs are on the disks of the cluster' },
};
const ON_TEMPORAL: Record<string, Table> = {
  dev: OF_THE_CLUSTER,
  serve: OF_THE_CLUSTER,
  doctor: { minFreeSpace: OF_THE_CLUSTER.minFreeSpace! },
  worker: {
    ...SPARES,
    server: { because: 'workers connect to the cluster, with --temporal-address' },
    token: WORKER_TOKEN,
    tokenFile: WORKER_TOKEN,
  },
};

const FOR_TEMPORAL = tableOf(
  temporalOptions().map((option) => option.attributeName()),
  'it is for --engine temporal',
);
const TRACES = tableOf(
  ['data', 'traces', 'traceBucket', 'traceRegion', 'traceEndpoint'],
  'the server writes the traces',
);
const ON_EMBEDDED: Record<string, Table> = {
  dev: FOR_TEMPORAL,
  serve: FOR_TEMPORAL,
  doctor: FOR_TEMPORAL,
  worker: { ...FOR_TEMPORAL, ...TRACES },
};

/** The first that was given, in words. */
export function meaninglessOption(command: Command): string | undefined {
  const { engine } = command.opts<{ engine: string }>();
  const table = (engine === 'temporal' ? ON_TEMPORAL : ON_EMBEDDED)[command.name()] ?? {};
  for (const option of command.options) {
    const { because, isVariableFine } = table[option.attributeName()] ?? {};
    if (because === undefined) continue;
    const source = command.getOptionValueSource(option.attributeName());
    const given =
      source === 'cli' ? option.long : source === 'env' && !isVariableFine ? option.envVar : undefined;
    if (given) return `${given} means nothing with the ${engine} engine: ${because}`;
  }
  return undefined;
}

function tableOf(names: string[], because: string): Table {
  return Object.fromEntries(names.map((name) => [name, { because, isVariableFine: true }]));
}
