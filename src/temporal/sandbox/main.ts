/**
 * The entry of the bundle that runs inside Temporal's workflow sandbox (worker/bundle.ts): what `start` gives is what
 * Temporal's worker looks for there.
 */
import type { WorkflowInterceptorsFactory } from '@temporalio/workflow';
import { getActivator } from '@temporalio/workflow/lib/global-attributes.js';
import * as api from '@temporalio/workflow/lib/worker-interface.js';
import type { Deployment } from './deployment.js';
import { Sandbox } from './sandbox.js';
import { RunTurns } from './turns.js';

export function start(deployment: Deployment) {
  let sandbox: Sandbox;
  const interceptors: WorkflowInterceptorsFactory = () => ({
    internals: [new RunTurns(getActivator(), sandbox)],
  });
  return {
    api,
    /** Called once per sandbox, before any run. */
    preloadModules(): void {
      sandbox = new Sandbox(deployment);
    },
    importInterceptors: () => [{ interceptors }],
    /** Every type of workflow is accepted here; which of them there are is known to the turns, which never call this. */
    importWorkflows: () => ({ default: () => undefined }),
  };
}
