/**
 * The cases of the contract that cannot hold on Temporal, by name, each with the reason. docs/temporal.md tells users
 * about the same differences.
 */
export const TEMPORAL_DIFFERENCES: Readonly<Record<string, string>> = {};
