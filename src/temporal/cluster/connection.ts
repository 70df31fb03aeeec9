/**
 * The way to the cluster: every call to Temporal goes through `Cluster.call`.
 *
 * 1. Every call has a deadline, and ends at once when its caller leaves.
 * 2. A call that was not answered is made again, unchanged, for a bounded time. Callers make their requests so that
 *    the cluster sees a repeat as the same request (request ids, update ids).
 * 3. After a cluster has been away for that time, calls fail after one try, until one is answered. It has not been
 *    away for longer than since it last answered anybody, or since the connection was last lost.
 * 4. Every text that leaves is well-formed; see translate/well-formed.ts.
 */

import { hostname } from 'node:os';
import type { Connection } from '@temporalio/client';
import type { Abort } from '../../core/abort.js';
import { PerdureError } from '../../core/errors.js';
import { type Log, silentLog } from '../../core/log.js';
import {
  CODE,
  detailsOf,
  type GrpcError,
  isClosing,
  isGrpcError,
  RefusedCall,
  unavailable,
} from './errors.js';
import { loadPeer } from './peers.js';
import { type Protos, type Try, type WorkflowService, workflowService } from './service.js';

export type { WorkflowService };

export interface TemporalSettings {
  /** `host:port`. */
  address: string;
  namespace: string;
  apiKey?: string;
  /** Contents of the files, not their paths. */
  tls?: boolean | { serverRootCa?: Buffer; clientCert?: Buffer; clientKey?: Buffer; serverName?: string };
  /** The largest gRPC message that is sent or taken. */
  maxMessageBytes?: number;
}

export const DEFAULT_TEMPORAL_SETTINGS: TemporalSettings = {
  address: '127.0.0.1:7233',
  namespace: 'default',
};

export interface CallOptions {
  /** How long one try may take. */
  timeoutMs?: number;
  /** How long tries are repeated, while the cluster cannot be reached or is too busy. */
  retryMs?: number;
  abort?: Abort;
  /** That nothing came within `timeoutMs` is an answer: a RefusedCall by its deadline. */
  isPoll?: boolean;
}

/** Most calls take milliseconds; one that takes this long is lost. */
const TIMEOUT_MS = 5_000;
const RETRY_MS = 10_000;
/** Whoever waits frees its place within seconds, now and then. */
const BUSY_RETRY_MS = 2_000;
const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 500;
/** A history page of the largest payloads. */
const MAX_MESSAGE_BYTES = 128 * 1024 * 1024;

/** Of gRPC's connectivity states. */
const CONNECTED = 2;
/** A connection that was there for so long led to the cluster; one that ends sooner may have led to nobody. */
const HELD_MS = 1_000;

/** The cluster did not do what was asked, and may do it when asked again. */
const TRANSIENT: ReadonlySet<number> = new Set([
  CODE.UNKNOWN,
  CODE.DEADLINE_EXCEEDED,
  CODE.RESOURCE_EXHAUSTED,
  CODE.ABORTED,
  CODE.INTERNAL,
  CODE.UNAVAILABLE,
  CODE.DATA_LOSS,
]);

export class Cluster {
  readonly namespace: string;
  /** Who is named in the histories as the author of what this server asked for. */
  readonly identity = `perdure@${hostname()}:${process.pid}`;
  readonly #tries = new Set<Try>();
  readonly #begin: (deadline: number) => Try;
  /** Since when no call was answered. */
  #awaySince: number | undefined;
  /** Since when there is a connection, and when there last was one. */
  #connectedAt: number | undefined;
  #lostAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  static async open(settings: TemporalSettings, log: Log = silentLog): Promise<Cluster> {
    const { Connection } = await loadPeer(() => import('@temporalio/client'));
    // A CommonJS package whose names only its default export has at run time.
    const { default: protos } = (await loadPeer(() => import('@temporalio/proto'))) as unknown as {
      default: Protos;
    };
    return new Cluster(Connection.lazy(connectionOptions(settings)), protos, settings, log);
  }

  private constructor(
    private readonly connection: Connection,
    readonly protos: Protos,
    private readonly settings: TemporalSettings,
    private readonly log: Log,
  ) {
    this.namespace = settings.namespace;
    this.#begin = workflowService(connection, protos, settings);
    this.#followConnection();
  }

  /**
   * What the cluster answers to `ask`.
   * @throws RefusedCall, EngineUnavailableError
   */
  async call<T>(ask: (service: WorkflowService) => Promise<T>, options: CallOptions = {}): Promise<T> {
    const { timeoutMs = TIMEOUT_MS, retryMs = RETRY_MS, abort } = options;
    let failingSince: number | undefined;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
      if (this.#isClosed) throw unavailable('the server is shutting down', 1);
      const triedAt = performance.now();
      try {
        const answer = await this.#try(ask, timeoutMs, abort);
        this.#awaySince = undefined;
        return answer;
      } catch (error) {
        if (!isGrpcError(error)) throw error;
        const refused = this.#refused(error, options);
        if (refused) {
          if (refused instanceof RefusedCall && error.code !== CODE.DEADLINE_EXCEEDED)
            this.#awaySince = undefined;
          throw refused;
        }
        if (options.isPoll && this.#hasHeld(triedAt)) {
          // What failed before has nothing to do with this.
          this.#awaySince = undefined;
          failingSince = undefined;
          pauseMs = FIRST_PAUSE_MS;
        }
        const now = performance.now();
        failingSince ??= now;
        if (error.code === CODE.UNAVAILABLE) this.#awaySince ??= failingSince;
        const until = Math.min(failingSince, this.#awaySince ?? failingSince) + retryMs;
        if (isTooManyWaiting(error) && now - failingSince >= BUSY_RETRY_MS) {
          throw new PerdureError(
            'TooManyRequestsError',
            'as many calls wait on the Temporal cluster as it lets; try again shortly',
          );
        }
        if (abort?.aborted || now + pauseMs >= until) {
          this.log.warn({ code: error.code, detail: error.details }, 'the Temporal cluster does not answer');
          const { address } = this.settings;
          throw unavailable(`the Temporal cluster at ${address} ${whyNot(error)}`, undefined, error);
        }
        await pause(pauseMs, abort);
      }
    }
  }

  /** Says why, quickly, while the cluster cannot serve. @throws EngineUnavailableError */
  async ready(): Promise<void> {
    const { namespace } = this;
    await this.call((service) => service.describeNamespace({ namespace }), { timeoutMs: 2_000, retryMs: 0 });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const one of this.#tries) one.cancel();
    await this.connection.close();
  }

  #followConnection(): void {
    // biome-ignore lint/complexity/useLiteralKeys: Temporal has it as protected, and tells of its state nowhere else
    const channel = this.connection['client'].getChannel();
    const follow = (before: number): void => {
      channel.watchConnectivityState(before, Number.POSITIVE_INFINITY, (error) => {
        if (error || this.#isClosed) return;
        const state = channel.getConnectivityState(false);
        const now = performance.now();
        if (this.#connectedAt !== undefined) {
          if (now - this.#connectedAt >= HELD_MS) this.#awaySince = undefined;
          this.#lostAt = now;
        }
        this.#connectedAt = state === CONNECTED ? now : undefined;
        follow(state);
      });
    };
    follow(channel.getConnectivityState(false));
  }

  /** A call that waits says nothing of the cluster until it ends; that its connection has held for a while does. */
  #hasHeld(since: number): boolean {
    const now = performance.now();
    const isConnected = this.#connectedAt !== undefined || now - this.#lostAt < HELD_MS;
    return isConnected && now - since >= HELD_MS;
  }

  async #try<T>(
    ask: (service: WorkflowService) => Promise<T>,
    timeoutMs: number,
    abort: Abort | undefined,
  ): Promise<T> {
    const one = this.#begin(Date.now() + timeoutMs);
    const end = () => one.cancel();
    this.#tries.add(one);
    abort?.addEventListener('abort', end, { once: true });
    try {
      if (abort?.aborted) end();
      return await ask(one.service);
    } finally {
      this.#tries.delete(one);
      abort?.removeEventListener('abort', end);
    }
  }

  /** What the call comes to when asking again is of no use. */
  #refused(error: GrpcError, { abort, isPoll }: CallOptions): Error | undefined {
    if (this.#isClosed) return unavailable('the server is shutting down', 1);
    if (abort?.aborted) return unavailable('the caller has left');
    if (error.code === CODE.PERMISSION_DENIED || error.code === CODE.UNAUTHENTICATED) {
      this.log.error({ code: error.code, detail: error.details }, 'the Temporal cluster refuses this server');
      return unavailable('the Temporal cluster refuses the credentials of this server');
    }
    const refused = new RefusedCall(error, detailsOf(error, this.protos.google.rpc.Status));
    if (refused.has('NamespaceNotFoundFailure')) {
      return unavailable(`the Temporal cluster has no namespace "${this.namespace}"`);
    }
    if (isFinal(refused) || (isPoll && (error.code === CODE.DEADLINE_EXCEEDED || isClosing(refused)))) {
      return refused;
    }
    return TRANSIENT.has(error.code) || error.code === CODE.CANCELLED ? undefined : refused;
  }
}

/** Ends early when `abort` fires. */
function pause(ms: number, abort: Abort | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      abort?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    abort?.addEventListener('abort', end, { once: true });
  });
}

/** What keeps it from answering, for those who look after it: each is mended elsewhere. */
function whyNot({ code }: GrpcError): string {
  if (code === CODE.RESOURCE_EXHAUSTED) return 'refuses calls, since it gets more of them than it takes';
  return code === CODE.DEADLINE_EXCEEDED ? 'does not answer in time' : 'cannot be reached';
}

/** The bound on calls that wait, of all servers and workers of a namespace together. */
function isTooManyWaiting({ code, details }: GrpcError): boolean {
  return code === CODE.RESOURCE_EXHAUSTED && /concurrent poller/i.test(details);
}

/** A bound of one run: asking again at once meets it again. */
function isFinal(refused: RefusedCall): boolean {
  return (
    refused.code === CODE.RESOURCE_EXHAUSTED &&
    /in-flight updates|message larger than max/i.test(refused.reason)
  );
}

function connectionOptions(settings: TemporalSettings) {
  const { address, apiKey, tls, maxMessageBytes = MAX_MESSAGE_BYTES } = settings;
  return {
    address,
    apiKey,
    tls: tlsOptions(tls),
    // Otherwise the cluster tells of a failed run that is tried again as one that has continued as new.
    metadata: { 'supported-features': 'follows-next-run-id' },
    // Retries are the business of `call`.
    interceptors: [],
    channelArgs: {
      'grpc.max_receive_message_length': maxMessageBytes,
      'grpc.max_send_message_length': maxMessageBytes,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 1_000,
    },
  };
}

export function tlsOptions(tls: TemporalSettings['tls']) {
  if (typeof tls !== 'object') return tls;
  const { serverRootCa, clientCert, clientKey, serverName } = tls;
  return {
    serverNameOverride: serverName,
    serverRootCACertificate: serverRootCa,
    ...(clientCert && clientKey && { clientCertPair: { crt: clientCert, key: clientKey } }),
  };
}
