/** `why`: what a run waits for, and what to do about it. */
import { out } from '../colours.js';
import type { Connection } from './connection.js';
import { agoText, plain, printJson, statusText } from './screen.js';

export async function why(
  { quick }: Connection,
  { id, run, json }: { id: string; run?: string; json?: boolean },
): Promise<void> {
  const answer = await quick.handle(id, run).why();
  if (json) return printJson(answer);
  const { status, isStuck, since, reasons } = answer;
  const ago = since === null ? '' : out.dim(` (${agoText(Date.parse(since))})`);
  const stuck = isStuck ? out.red(', and does not go on unless somebody acts') : '';
  const lines = [`${plain(answer.workflowId)} is ${statusText(status)}${stuck}${ago}`];
  for (const { code, message, action } of reasons) {
    lines.push(`${out.bold(code.padEnd(14))}  ${plain(message)}`);
    if (action !== null) lines.push(`${' '.repeat(14)}  ${out.dim(plain(action))}`);
  }
  process.stdout.write(`${lines.join('\n')}\n`);
}
