/** `perdure check`: says what is wrong with a data folder. Exit code 0 when all is well, 1 when something is not. */
import { type CheckReport, checkDataFolder } from '../embedded/store/check/check.js';

export interface CheckSettings {
  data: string;
  json?: boolean;
  acceptLoss?: boolean;
}

export function check({ data, json, acceptLoss }: CheckSettings): number {
  const report = checkDataFolder(data, { acceptLoss });
  console.log(json ? JSON.stringify(report, null, 2) : describe(data, report));
  return report.problems.length === 0 ? 0 : 1;
}

function describe(data: string, { tip, runs, lost, isLossAccepted, problems }: CheckReport): string {
  const lines: string[] = [];
  if (lost && isLossAccepted) {
    lines.push(
      `The loss of ${lost.count} commits was accepted: the mark is set back from commit ${lost.mark.seq} to ${lost.tip.seq}.`,
    );
    if (lost.runIds.length > 0) {
      lines.push(`Runs they had saved${lost.hasMoreRuns ? ', and others' : ''}:`);
      for (const runId of lost.runIds) lines.push(`  ${runId}`);
    }
  }
  for (const { workflowId, runId, problem } of problems) {
    lines.push(runId === undefined ? problem : `workflow "${workflowId}", run ${runId}: ${problem}`);
  }
  const what = `${runs} runs in ${data}, up to commit ${tip.seq}`;
  lines.push(problems.length === 0 ? `${what}: all is well` : `${what}: ${problems.length} problems`);
  return lines.join('\n');
}
