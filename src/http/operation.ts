/**
 * One operation of the API: what it takes, what it answers, which errors it gives. The same description validates
 * each call and is what the OpenAPI document is made of, so that the two cannot differ.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { ErrorName } from '../core/errors.js';
import { parse } from './wire/schemas.js';

export interface Answer {
  description: string;
  /** Absent for an answer without a body. */
  schema?: z.ZodType;
  /** JSON unless it says otherwise. */
  contentType?: string;
  /** Names of headers beside those of every answer, with what they say. */
  headers?: Record<string, string>;
}

export interface Operation {
  /** `operationId`: what a generated client calls it. */
  id: string;
  method: 'GET' | 'POST' | 'PATCH';
  /** As the router writes it: `/workflow/:id/status`. */
  path: string;
  tag: string;
  summary: string;
  description?: string;
  deprecated?: boolean;
  /** Needs no credentials. */
  isOpen?: boolean;
  /** Its answer does not end by itself: HEAD makes no sense there, and how long it takes says nothing. */
  isStream?: true;
  params?: z.ZodObject;
  query?: z.ZodObject;
  /** Headers that the operation reads, in lower case. */
  headers?: z.ZodObject;
  body?: z.ZodType;
  answers: Record<number, Answer>;
  /** Errors beside those that every operation of its kind can give; see `errorsOf` in openapi.ts. */
  errors?: readonly ErrorName[];
}

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: Operation;
  }
}

/** The operations that are served by `app` from now on, as they are added. */
export function collectOperations(app: FastifyInstance): ReadonlySet<Operation> {
  const operations = new Set<Operation>();
  app.addHook('onRoute', ({ config }) => {
    if (config?.operation) operations.add(config.operation);
  });
  return operations;
}

type Parsed<S> = S extends z.ZodType ? z.output<S> : undefined;

export interface Call<O extends Operation> {
  params: Parsed<O['params']>;
  query: Parsed<O['query']>;
  headers: Parsed<O['headers']>;
  body: Parsed<O['body']>;
  request: FastifyRequest;
  reply: FastifyReply;
}

/** Serves the operation. `handle` gets what the schemas made of the call, and answers through `reply`. */
export function route<const O extends Operation>(
  app: FastifyInstance,
  operation: O,
  handle: (call: Call<O>) => unknown,
): void {
  app.route({
    method: operation.method,
    url: operation.path,
    exposeHeadRoute: operation.isStream !== true,
    config: { operation },
    handler: (request, reply) => {
      const call = {
        params: operation.params && parse(operation.params, request.params),
        query: operation.query && parse(operation.query, request.query, 'query parameter'),
        headers: operation.headers && parse(operation.headers, request.headers),
        body: operation.body && parse(operation.body, request.body),
        request,
        reply,
      };
      return handle(call as Call<O>);
    },
  });
}
