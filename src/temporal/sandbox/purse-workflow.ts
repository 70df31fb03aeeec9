/**
 * The purse of a tree of runs: a workflow of the service itself that hears what is spent and says how much that is. It is
 * apart from the runs that spend, so that their histories have nothing of it, and one for all of them, so that the last
 * cent is spent once.
 */
import { budgetState, isMet } from '../../core/cost/budget.js';
import type { WorkflowDefinition } from '../../sdk/definition.js';
import { defineQuery, defineSignal, setHandler } from '../../sdk/messages.js';
import { callBuiltInStep } from '../../sdk/step.js';
import { condition } from '../../sdk/waiting.js';
import type { WorkflowContext } from '../../sdk/workflow.js';
import { PURSE, PURSE_WORKFLOW_TYPE, type Purse } from '../cluster/conventions.js';
import { tell } from '../kept/purse.js';

/** Asked before each attempt, mostly for the amounts alone; those who wait may be thousands. */
const get = defineQuery<object, [amountsAlone?: boolean]>(PURSE.query);
const TOLD = [PURSE.spent, PURSE.set, PURSE.waits, PURSE.woken];

/** A purse that failed would hold nobody back any more. */
const UNTIL_DONE = { retry: { maximumAttempts: 0 } };
/** How often it looks whether anybody is left who could spend. */
const LOOK_EVERY = '1 day';
/** A server that raises the budget wakes those who wait. Should it die half-way, the purse does so, after this time. */
const WAKE_AFTER = '10 s';
/** Messages after which it goes on as a new run: a history holds ten thousand signals at most. */
const MAX_MESSAGES = 2_000;

export const purseWorkflow: WorkflowDefinition = {
  name: PURSE_WORKFLOW_TYPE,
  aliases: [],
  stepDefaults: {},
  disableTrace: true,
  fn: async (purse: Purse, { control }: WorkflowContext) => {
    let messages = 0;
    setHandler(get, (amountsAlone) => {
      const { heard: _, ...answer } = purse;
      return { ...answer, ...(amountsAlone && { waiting: [] }), ...budgetState(purse, purse.spent) };
    });
    for (const name of TOLD) {
      setHandler(defineSignal<[unknown]>(name), (said) => {
        messages++;
        tell(purse, name, said);
      });
    }
    const isFull = () => messages >= MAX_MESSAGES;
    const isWaitedForInVain = () => purse.waiting.length > 0 && !isMet(purse.amount, purse.spent);
    while (!isFull()) {
      if (!(await condition(() => isFull() || isWaitedForInVain(), LOOK_EVERY))) {
        if (!(await callBuiltInStep(PURSE.isInUse, { workflowId: purse.root }, UNTIL_DONE))) return purse;
      } else if (!(await condition(() => isFull() || !isWaitedForInVain(), WAKE_AFTER))) {
        const woken = [...purse.waiting];
        await callBuiltInStep(PURSE.wake, woken, UNTIL_DONE);
        purse.waiting = purse.waiting.filter((run) => !woken.includes(run));
      }
    }
    return control.continueAsNew(purse);
  },
};
