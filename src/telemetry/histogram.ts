/**
 * A histogram that Prometheus can collect and that costs next to nothing to write to. Several durations are observed for
 * every run, and prom-client's own histogram checks, sorts and joins the labels anew for each of them: twenty times the
 * work. What is collected is the same.
 */
import type { Metric, Registry } from 'prom-client';

/** How often values fell between two bounds, for one set of labels. */
class Series {
  /** One for each bound, and one for what is above all of them. */
  readonly counts: number[];
  sum = 0;

  constructor(
    readonly labels: Readonly<Record<string, string>>,
    private readonly bounds: readonly number[],
  ) {
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  add(value: number): void {
    const { bounds, counts } = this;
    let at = 0;
    while (at < bounds.length && value > bounds[at]!) at++;
    counts[at]!++;
    this.sum += value;
  }
}

/** By the first label, then by the second, and so on. */
type Tree = Map<string, Tree | Series>;

export interface HistogramOptions {
  name: string;
  help: string;
  /** Upper bounds, in order. */
  bounds: readonly number[];
  labelNames: readonly string[];
}

/** As prom-client's registry reads it. */
interface Sample {
  metricName: string;
  labels: Record<string, string | number>;
  value: number;
}

export class Histogram {
  readonly name: string;
  /** Without labels the one series itself. */
  readonly #root: Tree | Series;
  readonly #series: Series[] = [];

  constructor(
    registry: Registry,
    private readonly options: HistogramOptions,
  ) {
    this.name = options.name;
    // Without labels there is something to collect from the beginning.
    this.#root = options.labelNames.length === 0 ? this.#newSeries([]) : new Map();
    // It needs of a metric no more than a name and `get`, and has no type for that.
    registry.registerMetric(this as unknown as Metric);
  }

  /** `labels`: their values, in the order of `labelNames`. */
  observe(labels: readonly string[], value: number): void {
    this.#seriesOf(labels).add(value);
  }

  #seriesOf(labels: readonly string[]): Series {
    let node: Tree | Series = this.#root;
    for (let i = 0; i < labels.length; i++) {
      const tree = node as Tree;
      let below = tree.get(labels[i]!);
      if (!below) {
        below = i === labels.length - 1 ? this.#newSeries(labels) : new Map();
        tree.set(labels[i]!, below);
      }
      node = below;
    }
    return node as Series;
  }

  #newSeries(labels: readonly string[]): Series {
    const { labelNames, bounds } = this.options;
    const series = new Series(Object.fromEntries(labelNames.map((name, i) => [name, labels[i]!])), bounds);
    this.#series.push(series);
    return series;
  }

  /** For the registry. */
  get(): { name: string; help: string; type: 'histogram'; aggregator: 'sum'; values: Sample[] } {
    const { name, help } = this.options;
    const values = this.#series.flatMap((series) => this.#samplesOf(series));
    return { name, help, type: 'histogram', aggregator: 'sum', values };
  }

  #samplesOf({ labels, counts, sum }: Series): Sample[] {
    const { name, bounds } = this.options;
    let count = 0;
    const buckets = counts.map((each, i) => {
      count += each;
      return { metricName: `${name}_bucket`, labels: { le: bounds[i] ?? '+Inf', ...labels }, value: count };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels: { ...labels }, value: sum },
      { metricName: `${name}_count`, labels: { ...labels }, value: count },
    ];
  }
}
