/** Queries that a cluster's own tools ask of every run. They tell of the process that runs it, and are no handlers of a workflow. */

/** Asks a run for its handlers. */
export const METADATA_QUERY = '__temporal_workflow_metadata';

export const isTemporalsQuery = (name: string): boolean =>
  /^__(temporal_|stack_trace$|enhanced_stack_trace$)/.test(name);
