// What is made of samples. The median of the rounds counts, and how far the rounds lie apart is always told with it.

export function median(values) {
  if (values.length === 0) return Number.NaN;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The smallest value that at least the share `q` of all is not above; the values must be in order. */
export function quantile(sorted, q) {
  if (sorted.length === 0) return Number.NaN;
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(q * sorted.length) - 1))];
}

/** Quantiles of durations as every table shows them. */
export function latencies(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return {
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    p999Ms: quantile(sorted, 0.999),
    maxMs: sorted.at(-1) ?? Number.NaN,
  };
}

/** How far values lie apart, as a share of their median: 0.1 is from 5 % below to 5 % above, or the like. */
export function spread(values) {
  if (values.length === 0) return Number.NaN;
  return (Math.max(...values) - Math.min(...values)) / median(values);
}

/**
 * How many times `of` a value is, round by round: what disturbs a round disturbs both. Rounds that lack one of the two are
 * left out.
 */
export function ratios(values, of) {
  const all = [...values].map(([round, value]) => value / of.get(round)).filter(Number.isFinite);
  return { median: median(all), least: Math.min(...all), most: Math.max(...all), rounds: all.length };
}
