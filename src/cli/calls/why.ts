/** `why`: what a run waits for, and what to do about it. */
import pc from 'picocolors';
import type { Connection } from './connection.js';
import { agoText, plain, printJson, statusText } from './screen.js';

export async function why(
  { quick }: Connection,
  { id, run, json }: { id: string; run?: string; json?: boolean },
): Promise<void> {
  const answer = await quick.handle(id, run).why();
  if (json) return printJson(answer);
  const { status, isStuck, since, reasons } = answer;
  const ago = since === null ? '' : pc.dim(` (${agoText(Date.parse(since))})`);
  const stuck = isStuck ? pc.red(', and does not go on unless somebody acts') : '';
  const lines = [`${plain(answer.workflowId)} is ${statusText(status)}${stuck}${ago}`];
  for (const { code, message, action } of reasons) {
    lines.push(`${pc.bold(code.padEnd(14))}  ${plain(message)}`);
    if (action !== null) lines.push(`${' '.repeat(14)}  ${pc.dim(plain(action))}`);
  }
  process.stdout.write(`${lines.join('\n')}\n`);
}
