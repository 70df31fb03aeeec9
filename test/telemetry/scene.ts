/** A service whose processes have the real SDK of OpenTelemetry loaded, and the spans that all of them made. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, vi } from 'vitest';
import type { Workplace } from '../../src/cli/program.fixture.js';

export const WORKFLOWS = fileURLToPath(new URL('workflows', import.meta.url));
const SDK = new URL('sdk.mjs', import.meta.url).href;

export interface MadeSpan {
  name: string;
  traceId: string;
  spanId: string;
  parent?: string;
  attributes: Record<string, unknown>;
  links: string[];
  pid: number;
}

/** Somebody who calls, as a part of a trace of theirs. */
export const caller = (digit: string) => {
  const traceId = digit.repeat(32);
  const spanId = digit.repeat(16);
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-01`, tracestate: 'vendor=a' } };
};

export class SpanFile {
  readonly #path: string;

  constructor({ folder }: Workplace) {
    this.#path = join(folder, 'spans.jsonl');
  }

  /** The environment of a process that tells of its spans. */
  get env(): Record<string, string> {
    return { NODE_OPTIONS: `--import ${SDK}`, SPANS_FILE: this.#path };
  }

  all(): MadeSpan[] {
    if (!existsSync(this.#path)) return [];
    const lines = readFileSync(this.#path, 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as MadeSpan);
  }

  named(name: string): MadeSpan[] {
    return this.all().filter((span) => span.name === name);
  }

  /** Waits until there are that many of a name. */
  async until(name: string, count: number): Promise<MadeSpan[]> {
    await vi.waitFor(() => expect(this.named(name).length).toBeGreaterThanOrEqual(count), 60_000);
    return this.named(name);
  }
}

export async function post(url: string, path: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
  return (await response.json()) as { workflowId: string; runId: string; status?: string };
}
