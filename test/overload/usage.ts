/** What a process uses, as the system and its own metrics tell, and how long its health takes meanwhile. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Service } from '../recovery/service.js';

export interface Usage {
  rssBytes: number;
  fds: number;
  sockets: number;
  children: number;
  timers: number;
  walBytes: number;
  waitingCalls: number;
  openStreams: number;
}

export async function usageOf(service: Service): Promise<Usage> {
  const metrics = await service.metrics();
  const metric = (name: string) =>
    Number(new RegExp(`^${name.replace(/[{}"]/g, '\\$&')} (\\S+)$`, 'm').exec(metrics)?.[1] ?? 0);
  const links = readdirSync(`/proc/${service.pid}/fd`).map((fd) => linkOf(service.pid, fd));
  return {
    rssBytes: rssOf(service.pid),
    fds: links.length,
    sockets: links.filter((link) => link.startsWith('socket:')).length,
    children: service.workerPids().length,
    timers: metric('nodejs_active_resources{type="Timeout"}'),
    walBytes: sizeOf(join(service.options.dataDir, 'perdure.db-wal')),
    waitingCalls: metric('perdure_calls_waiting'),
    openStreams: metric('perdure_streams_open'),
  };
}

export function rssOf(pid: number): number {
  return 1024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);
}

/** Empty for one that is closed while it is looked at. */
function linkOf(pid: number, fd: string): string {
  try {
    return readlinkSync(`/proc/${pid}/fd/${fd}`);
  } catch {
    return '';
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

export interface HealthFigures {
  asked: number;
  unanswered: number;
  p99Ms: number;
  longestMs: number;
}

export interface Health {
  /** On a connection that is kept. */
  kept: HealthFigures;
  /** On new connections. */
  fresh: HealthFigures;
  /** On new connections to the port of probes. */
  apart: HealthFigures;
}

/** Asks for the health of a server from a process of its own, until it is told to stop. */
export class HealthProbe {
  readonly #printed: Promise<string>;

  private constructor(private readonly probe: ChildProcess) {
    this.#printed = text(probe.stdout!);
  }

  static async start(port: number, probePort: number): Promise<HealthProbe> {
    const program = fileURLToPath(new URL('health-probe.mjs', import.meta.url));
    const probe = spawn(process.execPath, [program, String(port), String(probePort)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    await once(probe, 'spawn');
    return new HealthProbe(probe);
  }

  async stop(): Promise<Health> {
    this.probe.stdin!.end();
    const times = JSON.parse(await this.#printed) as Record<keyof Health, (number | null)[]>;
    return { kept: figuresOf(times.kept), fresh: figuresOf(times.fresh), apart: figuresOf(times.apart) };
  }
}

function figuresOf(all: (number | null)[]): HealthFigures {
  const times = all.filter((ms) => ms !== null).sort((a, b) => a - b);
  const at = (share: number) =>
    times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? Number.NaN;
  return { asked: all.length, unanswered: all.length - times.length, p99Ms: at(0.99), longestMs: at(1) };
}

/** The most memory that the process had, looked at all the time. */
export class RssWatch {
  #most = 0;
  readonly #timer: NodeJS.Timeout;

  constructor(private readonly pid: number) {
    this.#look();
    this.#timer = setInterval(() => this.#look(), 50);
  }

  #look(): void {
    this.#most = Math.max(this.#most, rssOf(this.pid));
  }

  stop(): number {
    clearInterval(this.#timer);
    this.#look();
    return this.#most;
  }
}
