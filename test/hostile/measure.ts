/**
 * The longest that healthy runs wait while one hostile program is at work: the real program with its worker processes,
 * callers that have short runs made all the time, and one run that does its worst.
 */
import { fileURLToPath } from 'node:url';
import { freePort, Service, temporaryFolder } from '../recovery/service.js';
import type { HostileProgram } from './programs.js';

const workflows = fileURLToPath(new URL('./workflows', import.meta.url));

export interface MeasureOptions {
  workers: number;
  /** Without and with the hostile program. */
  calmMs: number;
  hostileMs: number;
  callers?: number;
}

export interface Measurement {
  program: string;
  workers: number;
  runs: number;
  /** The longest that one healthy run took, from its call to its answer. */
  calmMs: number;
  hostileMs: number;
  /** What healthy runs failed with, if any did. */
  failures: string[];
}

export async function measure(program: HostileProgram, options: MeasureOptions): Promise<Measurement> {
  const { workers, calmMs, hostileMs, callers = 4 } = options;
  const data = temporaryFolder();
  const service = await Service.start({ workflows, dataDir: data.path, port: await freePort(), workers });
  try {
    await service.untilWorkers(workers + 1);
    const healthy = new HealthyRuns(service, callers);
    // The first runs find everything cold.
    await healthy.during(1_000);
    const calm = await healthy.during(calmMs);
    const endsLater = await program.begin(service);
    const hostile = await healthy.during(hostileMs);
    await endsLater?.();
    return {
      ...{ program: program.name, workers, runs: hostile.runs },
      ...{ calmMs: calm.longestMs, hostileMs: hostile.longestMs },
      failures: [...calm.failures, ...hostile.failures],
    };
  } catch (error) {
    throw new Error(`${program.name}, ${workers} workers: ${service.output.slice(-3_000)}`, { cause: error });
  } finally {
    await service.kill();
    data.remove();
  }
}

class HealthyRuns {
  constructor(
    private readonly service: Service,
    private readonly callers: number,
  ) {}

  /** Has runs made one after the other by each caller; those under way at the end are waited for. */
  async during(durationMs: number): Promise<{ runs: number; longestMs: number; failures: string[] }> {
    const end = performance.now() + durationMs;
    const found = { runs: 0, longestMs: 0, failures: [] as string[] };
    const call = async (caller: number) => {
      while (performance.now() < end) {
        const begunAt = performance.now();
        const { status, error } = await this.service
          .run('healthy', caller)
          .catch((cause: Error) => ({ status: 'no answer', error: String(cause) }));
        found.runs++;
        found.longestMs = Math.max(found.longestMs, performance.now() - begunAt);
        if (status !== 'completed') found.failures.push(`${status}: ${JSON.stringify(error)}`);
      }
    };
    await Promise.all(Array.from({ length: this.callers }, (_, caller) => call(caller)));
    return found;
  }
}

export function asTable(measurements: readonly Measurement[], allowedMs: number): string {
  const seconds = (ms: number) => (ms / 1_000).toFixed(2);
  const rows = measurements.map(({ program, workers, runs, calmMs, hostileMs, failures }) => {
    const isFine = hostileMs - calmMs <= allowedMs && failures.length === 0;
    const verdict = isFine ? 'yes' : `NO${failures.length > 0 ? ` (${failures.length} failed)` : ''}`;
    return [program, `${workers}`, `${runs}`, seconds(calmMs), seconds(hostileMs), verdict];
  });
  const head = ['program', 'workers', 'runs', 'longest without, s', 'longest with, s', 'fine'];
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]!.length)));
  const line = (cells: string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
