/** A server on a scripted engine, and calls to it, for the tests of this folder. One test has it at a time. */
import { connect } from 'node:net';
import { expect } from 'vitest';
import { ScriptedEngine } from './scripted-engine.fixture.js';
import { createServer, type HttpServer, type ServerOptions } from './server.js';

export let engine: ScriptedEngine;
export let server: HttpServer;

export async function serve(options: Partial<ServerOptions> = {}): Promise<void> {
  engine = new ScriptedEngine();
  server = createServer({ engine, ...options, limits: { closeGraceMs: 300, ...options.limits } });
  await server.listen({ host: '127.0.0.1', port: 0 });
}

export function call(path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(server.url + path, init);
}

export function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return call(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

/** Sends `request` as it is and answers with all that comes back until the server closes the connection. */
export function rawExchange(request: string): Promise<string> {
  const { hostname, port } = new URL(server.url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(request));
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk;
    });
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
  });
}

export async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!condition() && performance.now() < deadline) await new Promise(setImmediate);
  expect(condition()).toBe(true);
}
