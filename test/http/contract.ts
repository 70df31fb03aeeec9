/**
 * The wire contract, row by row, through `createServer` on a real engine with real workers. Each engine registers it
 * with the system that it brings.
 *
 * Every answer in these cases is also held against the OpenAPI document (client.ts), and at the end the document
 * against the answers: each error that an operation names must have been seen from it.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EmbeddedEngine } from '../../src/embedded/index.js';
import { type Skips, skipByName } from '../contract/skips.js';
import { callbacks } from './cases/callbacks.js';
import { control } from './cases/control.js';
import { conventions } from './cases/conventions.js';
import { cost } from './cases/cost.js';
import { history } from './cases/history.js';
import { legacy } from './cases/legacy.js';
import { messages } from './cases/messages.js';
import { pausing } from './cases/pausing.js';
import { reading } from './cases/reading.js';
import { starting } from './cases/starting.js';
import { unavailable } from './cases/unavailable.js';
import { workers } from './cases/workers.js';
import { Client, expectError } from './client.js';
import type { HttpSystem, StartHttp } from './system.js';

/** Seen elsewhere: test/http/door.test.ts (credentials, limits, an engine that is away), src/http/server.test.ts, src/http/ui, stream tests. */
const ELSEWHERE =
  /^(UnauthorizedError|InternalError|EngineUnavailableError|TooManyRequestsError|DataCorruptionError|StorageFullError)$/;
const OTHER_FILES = /^(get(Run)?TraceLog|.*[sS]tream.*|getMetrics|takeBackup|getDashboard.*)$/;

export function httpContract(start: StartHttp, skips: Skips = {}): void {
  let system: HttpSystem;
  let client: Client;

  skipByName(skips);
  beforeAll(async () => {
    system = await start({ engineLimits: { updatesInFlightPerRun: 10 } });
    client = await Client.connect(system.server.url);
  });
  afterAll(() => system.stop());

  describe('conventions', () => conventions(() => client));
  describe('starting', () => starting(() => client));
  describe('reading', () => reading(() => client));
  describe('history', () => history(() => client));
  describe('control', () => control(() => client));
  describe('pausing', () => pausing(() => client));
  describe('cost', () => cost(() => client));
  describe('workers', () => workers(() => client));
  describe('messages', () => messages(() => client));
  describe('callbacks', () =>
    callbacks(
      () => client,
      () => system.engine,
    ));

  it('gives a copy of everything where the engine has it, and says what to do where not', async () => {
    const reply = await client.post('/backup');
    if (system.engine instanceof EmbeddedEngine) expect(reply.status).toBe(200);
    else {
      expectError(reply, 501, 'NotSupportedByEngineError');
      expect(reply.body.message).toMatch(/cluster's database/);
    }
  });

  describe('the older form', () => legacy(start));
  describe('trouble', () => unavailable(start));

  describe('the OpenAPI document', () => {
    it('names no error that its operation was not seen to give', () => {
      const unseen: string[] = [];
      for (const methods of Object.values(client.conformance.document.paths)) {
        for (const { operationId, responses } of Object.values(methods)) {
          if (OTHER_FILES.test(operationId)) continue;
          for (const name of JSON.stringify(responses).matchAll(/schemas\/(\w+Error)"/g)) {
            const seen = client.conformance.seen.has(`${operationId} ${name[1]}`);
            if (!seen && !ELSEWHERE.test(name[1]!)) unseen.push(`${operationId} ${name[1]}`);
          }
        }
      }
      expect([...new Set(unseen)]).toEqual([]);
    });
  });
}
