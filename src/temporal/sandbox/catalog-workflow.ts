/** The registration of a catalog: a workflow that stays open and says what its input says. */
import type { WorkflowDefinition } from '../../sdk/definition.js';
import { defineQuery, setHandler } from '../../sdk/messages.js';
import { CancellationScope } from '../../sdk/scope.js';
import { condition } from '../../sdk/waiting.js';
import { CATALOG_QUERY, CATALOG_WORKFLOW_TYPE, type Registration } from '../cluster/conventions.js';

const get = defineQuery<object>(CATALOG_QUERY);

export const catalogWorkflow: WorkflowDefinition = {
  name: CATALOG_WORKFLOW_TYPE,
  aliases: [],
  stepDefaults: {},
  disableTrace: true,
  fn: async ({ workflows }: Registration) => {
    setHandler(get, () => ({ workflows: workflows.map(({ entry }) => entry) }));
    // Any workflow can ask another one to stop, and a catalog is not theirs to end.
    await CancellationScope.nonCancellable(() => condition(() => false));
  },
};
