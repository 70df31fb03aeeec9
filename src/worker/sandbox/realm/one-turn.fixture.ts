/** Sandboxes of workflows that end in their first turn, and what they end with. */
import { silentLog } from '../../../core/log.js';
import { firstTurn } from '../first-turn.fixture.js';
import { createSandbox, type Sandbox } from '../host.js';
import { plain } from '../scripted-run.fixture.js';

const NAMES = `const sdk = require('perdure'); const { z } = sdk; const proto = Object.getPrototypeOf;
  const gen = function* () { yield 1; }; const agen = async function* () {}; const AsyncFunction = proto(async () => {}).constructor;
  const TypedArray = proto(Uint8Array);`;

const workflowOf = (workflowType: string, body: string) => ({
  workflowType,
  filename: `${workflowType}/workflow.ts`,
  exportName: 'default',
  stateless: false,
  code: `"use strict"; ${NAMES} exports.default = sdk.workflow({ name: '${workflowType}', fn: async () => { ${body} } });`,
});

/** Of function bodies by the names of their workflows. */
export const boxOf = (bodies: Record<string, string>): Sandbox =>
  createSandbox({
    workflows: Object.entries(bodies).map(([type, body]) => workflowOf(type, body)),
    cacheSize: 10,
    log: silentLog,
  });

/** What the workflow returns, or else the last thing that it does. */
export function resultOf(box: Sandbox, workflowType: string): unknown {
  const answer = plain(box.runTurn(firstTurn(`run-of-${workflowType}`, workflowType)));
  const command = answer.kind === 'turnCompleted' ? answer.commands.at(-1) : undefined;
  return command?.kind === 'completeRun' ? JSON.parse(command.result ?? 'null') : (command ?? answer);
}
