// Owns every process that the benchmark starts, and ends each of them by its id, whatever way the benchmark itself ends.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const GENERATOR = fileURLToPath(new URL('../load/generator.mjs', import.meta.url));
const running = new Set();
const folders = new Set();

process.on('exit', () => {
  for (const started of running) signalGroup(started, 'SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
process.on('SIGINT', () => process.exit(130));
process.on('SIGTERM', () => process.exit(143));

/** Each process is started as the leader of its own group, so that a server's workers end with it. */
function signalGroup({ pid }, signal) {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

export function temporaryFolder(name) {
  const folder = mkdtempSync(join(tmpdir(), `perdure-bench-${name}-`));
  folders.add(folder);
  return folder;
}

export function removeFolder(folder) {
  rmSync(folder, { recursive: true, force: true });
  folders.delete(folder);
}

export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** Starts a server whose output goes to `logFile`; the end of it is shown when the server does not come up. */
export function startServer(command, args, { logFile, env = {}, stopSignal = 'SIGTERM', ...as }) {
  const log = openSync(logFile, 'a');
  const child = spawn(command, args, {
    ...as,
    detached: true,
    stdio: ['ignore', log, log],
    env: { ...process.env, ...env },
  });
  closeSync(log);
  const server = { pid: child.pid, logFile, child, stopSignal, exited: once(child, 'exit') };
  running.add(server);
  return server;
}

/** What was started and not stopped since `before`, which is what this answered then. */
export const runningServers = (before = []) => [...running].filter((server) => !before.includes(server));

/** Ends a server and everything it started; answers how long it took to leave on its own. */
export async function stopServer(server, signal = server.stopSignal) {
  const startedAt = performance.now();
  if (signal === 'SIGKILL') signalGroup(server, 'SIGKILL');
  else server.child.kill(signal);
  const forced = setTimeout(() => signalGroup(server, 'SIGKILL'), 20_000);
  if (server.child.exitCode === null && server.child.signalCode === null) await server.exited;
  clearTimeout(forced);
  signalGroup(server, 'SIGKILL');
  running.delete(server);
  return performance.now() - startedAt;
}

/** Repeats `attempt` until it answers something; gives up when the server has ended or the time is over. */
export async function until(server, what, attempt, timeoutMs = 60_000) {
  const deadline = performance.now() + timeoutMs;
  let lastError;
  while (performance.now() < deadline && server.child.exitCode === null && server.child.signalCode === null) {
    try {
      const answer = await attempt();
      if (answer) return answer;
    } catch (error) {
      lastError = error;
    }
    await delay(10);
  }
  const log = readFileSync(server.logFile, 'utf8').slice(-4_000);
  throw new Error(`${what} did not happen within ${timeoutMs / 1_000} s. The server's last words:\n${log}`, {
    cause: lastError,
  });
}

export async function post(url, body) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`POST ${url} answered ${response.status}: ${text.slice(0, 1_000)}`);
  return JSON.parse(text);
}

export async function get(url) {
  const response = await fetch(url);
  const text = await response.text();
  if (!response.ok) throw new Error(`GET ${url} answered ${response.status}: ${text.slice(0, 1_000)}`);
  return JSON.parse(text);
}

/** Runs a program of `load/` to its end and answers what it has measured. */
export async function runLoad(program, options) {
  const child = spawn(process.execPath, [program, JSON.stringify(options)], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  running.add(child);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    output += chunk;
  });
  const [code] = await once(child, 'close');
  running.delete(child);
  if (code !== 0) throw new Error(`The load generator ended with code ${code}`);
  return JSON.parse(output);
}

export const load = (options) => runLoad(GENERATOR, options);
