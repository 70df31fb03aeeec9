/**
 * The workflow service of the cluster, over the channel that Temporal's client has made.
 *
 * The client's own service keeps the deadline, the signal and the namespace of a call in AsyncLocalStorage, three scopes one in
 * the other, and Node then tells it of every promise that the process makes: more than all else that a call costs. Here they
 * are given by hand, and otherwise calls are as the client's.
 */
import { createRequire } from 'node:module';
import type { Connection } from '@temporalio/client';
import type * as protocol from '@temporalio/proto';
import { wellFormed } from '../translate/well-formed.js';

export type Protos = typeof protocol;
export type WorkflowService = protocol.temporal.api.workflowservice.v1.WorkflowService;

/** What is asked of the cluster in one try. */
export interface Try {
  readonly service: WorkflowService;
  /** Calls that are under way, or begin later, are refused as cancelled. */
  cancel(): void;
}

/** gRPC, as far as it is used here. */
interface Client {
  makeUnaryRequest(
    path: string,
    serialize: <T>(request: T) => T,
    deserialize: <T>(response: T) => T,
    request: Uint8Array,
    metadata: Metadata,
    options: { interceptors: unknown; deadline: number },
    callback: (error: Error | null, response?: Uint8Array | null) => void,
  ): { cancel(): void };
}
interface Metadata {
  set(name: string, value: string | Buffer): void;
}

type RpcImpl = Parameters<
  (typeof protocol)['temporal']['api']['workflowservice']['v1']['WorkflowService']['create']
>[0];

const PATH = '/temporal.api.workflowservice.v1.WorkflowService';
const asItIs = <T>(bytes: T): T => bytes;

/** Begins tries whose calls end at `deadline`, by the clock. */
export function workflowService(
  connection: Connection,
  protos: Protos,
  { namespace, apiKey }: { namespace: string; apiKey?: string },
): (deadline: number) => Try {
  // biome-ignore lint/complexity/useLiteralKeys: Temporal has it as protected
  const client = connection['client'] as unknown as Client;
  const metadata = metadataOf({
    ...connection.options.metadata,
    'temporal-namespace': namespace,
    ...(apiKey !== undefined && { Authorization: `Bearer ${apiKey}` }),
  });
  const { interceptors } = connection.options;

  const methods = sendingWellFormed(protos.temporal.api.workflowservice.v1.WorkflowService.create(() => {}));

  return (deadline) => {
    const underWay: { cancel(): void }[] = [];
    let isCancelled = false;
    const rpcImpl: RpcImpl = (method, request, callback) => {
      const path = `${PATH}/${method.name}`;
      const options = { interceptors, deadline };
      const call = client.makeUnaryRequest(path, asItIs, asItIs, request, metadata, options, callback);
      underWay.push(call);
      if (isCancelled) call.cancel();
    };
    return {
      // What its methods are called on says how they call.
      service: Object.create(methods, { rpcImpl: { value: rpcImpl } }) as WorkflowService,
      cancel() {
        isCancelled = true;
        for (const call of underWay) call.cancel();
      },
    };
  };
}

/** The same service, whose requests leave with well-formed texts. */
function sendingWellFormed(service: WorkflowService): WorkflowService {
  type Method = (this: unknown, request: object) => Promise<unknown>;
  const methods: Record<string, Method> = Object.create(service);
  for (const [name, method] of Object.entries(service) as [string, unknown][]) {
    if (typeof method !== 'function' || name === 'rpcImpl') continue;
    methods[name] = function (request) {
      return (method as Method).call(this, wellFormed(request));
    };
  }
  return methods as unknown as WorkflowService;
}

/** Made by the copy of gRPC that Temporal's client has: it takes those of no other. */
function metadataOf(entries: Record<string, string | Buffer>): Metadata {
  const requireAsClient = createRequire(createRequire(import.meta.url).resolve('@temporalio/client'));
  const { Metadata } = requireAsClient('@grpc/grpc-js') as { Metadata: new () => Metadata };
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(entries)) metadata.set(name, value);
  return metadata;
}
