/** What outsiders call back with, at the address that a workflow gave them. */
import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import {
  CALLBACK_PATH,
  CALLBACK_SIGNAL,
  type CallbackRef,
  callbackArguments,
} from '../../core/run/callback.js';
import { encodePayload, type Payload } from '../../core/values/json.js';
import { callerTrace } from '../caller-trace.js';
import type { RouteContext } from '../context.js';
import { route } from '../operation.js';
import { RunRefAnswer } from '../wire/answers.js';

/** To be registered behind `callbacks.refusal`. */
export function callbackRoutes(app: FastifyInstance, { engine, arrivals, callbacks }: RouteContext): void {
  route(
    app,
    {
      id: 'callBack',
      method: 'POST',
      path: `${CALLBACK_PATH}:token`,
      tag: 'messages',
      summary: 'Answers a workflow that waits for an outsider',
      description:
        'The address is made by the workflow, and needs no other credentials. The first call counts; a repeat is answered alike and changes nothing.',
      isOpen: true,
      params: z.object({ token: z.string() }),
      body: z
        .unknown()
        .optional()
        .meta({ description: 'Any JSON value, or nothing: what the workflow gets.' }),
      answers: { 200: { description: 'The answer is on disk.', schema: RunRefAnswer } },
      errors: [
        'NotFoundError',
        'WorkflowNotFoundError',
        'WorkflowAlreadyClosedError',
        'TooManyRequestsError',
        'StorageFullError',
        'EngineUnavailableError',
        'InternalError',
      ],
    },
    async ({ body, request, reply }) => {
      const callback = callbacks.of(request);
      const payload = encodePayload(body, 'body');
      const { workflowId, callbackId, madeBy } = callback;
      const run = await arrivals.inOrder(
        workflowId,
        async () => callbackArguments(callbackId, payload),
        (input) =>
          engine.signal({ workflowId }, CALLBACK_SIGNAL, input, {
            traceContext: callerTrace(request),
            requestId: requestOf(callback, payload),
            ...(madeBy !== undefined && { madeFor: madeBy }),
          }),
      );
      return reply.send(run);
    },
  );
}

/**
 * By which a repeat is known, so that nobody can fill a history by calling back again and again. Where the workflow
 * checks what comes, another body is another try.
 */
function requestOf({ callbackId, isChecked }: CallbackRef, payload: Payload | undefined): string {
  const decisive = isChecked ? [callbackId, payload ?? ''] : [callbackId];
  return createHash('sha256').update(JSON.stringify(decisive)).digest('hex');
}
