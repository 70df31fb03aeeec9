/** The benchmark is plain JavaScript without declarations; what the tests use of it is named here once. */
const at = (path: string) => new URL(`../../bench/${path}`, import.meta.url).href;

interface Table {
  head: string[];
  rows: (string | number)[][];
  group?: number;
}

interface Ratios {
  median: number;
  least: number;
  most: number;
  rounds: number;
}

export interface Section {
  title: string;
  source?: string;
  tables?: Table[];
  rows?: Record<string, unknown>[];
  notes?: string[];
  isUnsound?: boolean;
}

export interface Named {
  name: string;
  systems: string[];
}

export interface DocumentFiles {
  published: string;
  page: string;
  picture: string;
}

export const stolen: {
  leastDisturbed<T extends object>(
    measure: () => Promise<T>,
    tries: number,
    watch?: () => () => number,
    quiet?: () => Promise<void>,
  ): Promise<T & { stolen: number }>;
} = await import(at('lib/stolen.mjs'));

export const statistics: {
  median(values: number[]): number;
  quantile(sorted: number[], q: number): number;
  latencies(values: number[]): { p50Ms: number; p99Ms: number; p999Ms: number; maxMs: number };
  spread(values: number[]): number;
  ratios(values: Map<number, number>, of: Map<number, number>): Ratios;
} = await import(at('lib/statistics.mjs'));

export const table: {
  figure(value: number): string;
  ratioText(ratios: Ratios): string;
  textTable(table: Table): string;
  markdownTable(table: Table): string;
} = await import(at('lib/table.mjs'));

export const chart: {
  barChart(chart: {
    title: string;
    subtitle: string;
    note: string;
    groups: { name: string; bars: { label: string; value: number; text: string; isOurs?: boolean }[] }[];
  }): string;
} = await import(at('lib/chart.mjs'));

export const sideBySide: {
  compare(of: { cells: object[]; systems: { name: string }[]; samples: object[] }): {
    system: string;
    perSecond: number;
    spread: number;
    perdureTimes: Ratios;
  }[];
  soundness(of: { systems: { name: string }[]; samples: object[]; broken: string[] }): {
    what: string;
    met: boolean;
  }[];
  withoutOverloaded(samples: object[]): { sound: { system: string }[]; overloaded: string[] };
} = await import(at('lib/side-by-side.mjs'));

export const limit: {
  limitedByGenerator(samples: object[], mostPerSecond: number): string[];
} = await import(at('lib/generator-limit.mjs'));

export const documents: {
  FILES: DocumentFiles;
  fillPage(page: string, sections: Record<string, Section>): string;
  writeDocuments(
    results: { at: string; machine: object; isForShowing?: boolean; sections: Record<string, Section> },
    files: DocumentFiles,
  ): string[];
  renderDocuments(files: DocumentFiles): void;
} = await import(at('lib/documents.mjs'));

export const usage: { processorMs(servers: { pid: number }[]): number } = await import(at('lib/usage.mjs'));

export const plan: {
  readPlan(
    args: string[],
    scenarios: Named[],
    systems: { name: string }[],
  ): {
    scenarios: Named[];
    systems: { name: string }[];
    rounds: number;
    seconds: number;
    sized(count: number, least?: number): number;
  };
} = await import(at('plan.mjs'));

export const { SCENARIOS }: { SCENARIOS: Named[] } = await import(at('scenarios/index.mjs'));
export const { SYSTEMS }: { SYSTEMS: { name: string }[] } = await import(at('systems/index.mjs'));
