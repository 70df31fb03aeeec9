/** `perdure doctor`: whether this machine, its settings and its workflows are fit to be served. Exit code 1 if something is not. */
import type { ServerSettings } from '../options.js';
import { exitCodeOf, onSignal } from '../shutdown.js';
import type { TemporalOptions } from '../temporal-options.js';
import { type Finding, findingText } from './finding.js';
import { nodeFinding, storageFindings } from './machine.js';
import { portFinding, tokenFinding, workflowsFinding } from './service.js';
import { temporalFindings } from './temporal.js';

export type DoctorOptions = Pick<
  ServerSettings,
  'engine' | 'data' | 'minFreeSpace' | 'port' | 'host' | 'token' | 'tokenFile'
> &
  TemporalOptions & { json?: boolean };

export async function doctor(folder: string | undefined, settings: DoctorOptions): Promise<number> {
  // What it has made to look at things by is taken away at the exit.
  onSignal((signal) => process.exit(exitCodeOf(signal)));
  const findings: Finding[] = [];
  const tell = (found: Finding[]) => {
    findings.push(...found);
    if (!settings.json) for (const finding of found) process.stdout.write(`${findingText(finding)}\n`);
  };
  tell([nodeFinding()]);
  tell(await storageFindings(settings));
  tell([await portFinding(settings), tokenFinding(settings)]);
  tell([await workflowsFinding(folder)]);
  tell(await temporalFindings(settings));
  const failed = findings.filter(({ status }) => status === 'fail').length;
  const isFit = failed === 0;
  if (settings.json) process.stdout.write(`${JSON.stringify({ ok: isFit, checks: findings })}\n`);
  return isFit ? 0 : 1;
}
