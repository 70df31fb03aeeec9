/**
 * Messages to a workflow: signals, feedback, queries and updates. They go to the latest run.
 *
 * What the definition declares is checked here, before anything reaches a worker: the payload against the schema of
 * the handler. Handlers that are not declared may still exist; whether they do, only the run knows. While code of several
 * versions is connected, its next turn may be made by any of them: what one of them takes is let in.
 */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import { variantsOf } from '../../core/catalog.js';
import { PerdureError } from '../../core/errors.js';
import { CALLBACK_SIGNAL, callbackArguments, FEEDBACK_SIGNAL } from '../../core/run/callback.js';
import { encodePayload, type Payload } from '../../core/values/json.js';
import { callerTrace } from '../caller-trace.js';
import { JSON_TYPE, type RouteContext } from '../context.js';
import { route } from '../operation.js';
import { groundsForMessage, type MessageKind } from '../schema/grounds.js';
import { HandlerAnswer, RunRefAnswer } from '../wire/answers.js';
import { FeedbackBody, HandlerName, MessageBody, WorkflowId } from '../wire/schemas.js';

const WorkflowPath = z.object({ id: WorkflowId });
const HandlerPath = z.object({ id: WorkflowId, name: HandlerName });

type Body = z.output<typeof MessageBody>;

export function messageRoutes(app: FastifyInstance, context: RouteContext): void {
  const { engine, arrivals } = context;
  const accepted = { 200: { description: 'The message is on disk.', schema: RunRefAnswer } };
  const answered = { 200: { description: 'What the handler returned.', schema: HandlerAnswer } };

  route(
    app,
    {
      id: 'sendFeedback',
      method: 'POST',
      path: '/workflow/:id/feedback',
      tag: 'messages',
      summary: 'Resumes a workflow that waits for a callback',
      description:
        'It reaches the callback that it names, or without one the request that has waited longest for an answer.',
      params: WorkflowPath,
      body: FeedbackBody,
      answers: accepted,
      errors: [
        'WorkflowNotFoundError',
        'WorkflowAlreadyClosedError',
        'TooManyRequestsError',
        'StorageFullError',
      ],
    },
    async ({ params: { id }, body, reply }) => {
      const callbackId = body?.callbackId ?? undefined;
      const signal = callbackId === undefined ? FEEDBACK_SIGNAL : CALLBACK_SIGNAL;
      const run = await arrivals.inOrder(
        id,
        async () =>
          callbackId === undefined
            ? argumentsOf(context, id, 'signals', FEEDBACK_SIGNAL, body)
            : callbackArguments(callbackId, encodePayload(body?.payload, 'payload')),
        (input) =>
          engine.signal({ workflowId: id }, signal, input, { traceContext: callerTrace(reply.request) }),
      );
      return reply.send(run);
    },
  );

  route(
    app,
    {
      id: 'sendSignal',
      method: 'POST',
      path: '/workflow/:id/signal/:name',
      tag: 'messages',
      summary: 'Sends a signal',
      description: 'Answered once the signal is on disk, not when it is handled.',
      params: HandlerPath,
      body: MessageBody,
      answers: accepted,
      errors: [
        'WorkflowNotFoundError',
        'WorkflowAlreadyClosedError',
        'HandlerNotFoundError',
        'TooManyRequestsError',
        'StorageFullError',
      ],
    },
    async ({ params: { id, name }, body, reply }) => {
      const run = await arrivals.inOrder(
        id,
        () => argumentsOf(context, id, 'signals', name, body),
        (input) =>
          engine.signal({ workflowId: id }, name, input, { traceContext: callerTrace(reply.request) }),
      );
      return reply.send(run);
    },
  );

  route(
    app,
    {
      id: 'queryWorkflow',
      method: 'POST',
      path: '/workflow/:id/query/:name',
      tag: 'messages',
      summary: 'Asks an open or closed run, which changes nothing',
      params: HandlerPath,
      body: MessageBody,
      answers: answered,
      errors: ['WorkflowNotFoundError', 'HandlerNotFoundError', 'QueryFailedError', 'TooManyRequestsError'],
    },
    async ({ params: { id, name }, body, reply }) => {
      const input = await argumentsOf(context, id, 'queries', name, body);
      return answerOf(context, reply, () => engine.query({ workflowId: id }, name, input));
    },
  );

  route(
    app,
    {
      id: 'updateWorkflow',
      method: 'POST',
      path: '/workflow/:id/update/:name',
      tag: 'messages',
      summary: 'Changes a workflow and waits for what its handler returns',
      params: HandlerPath,
      body: MessageBody,
      answers: answered,
      errors: [
        'WorkflowNotFoundError',
        'WorkflowAlreadyClosedError',
        'HandlerNotFoundError',
        'UpdateRejectedError',
        'UpdateFailedError',
        'TooManyRequestsError',
        'StorageFullError',
      ],
    },
    async ({ params: { id, name }, body, reply }) => {
      return arrivals.inOrder(
        id,
        () => argumentsOf(context, id, 'updates', name, body),
        (input) =>
          answerOf(context, reply, () =>
            engine.update({ workflowId: id }, name, input, callerTrace(reply.request)),
          ),
      );
    },
  );
}

/** What the handler is called with. @throws WorkflowNotFoundError, ValidationError */
async function argumentsOf(
  { engine, payloads }: RouteContext,
  workflowId: string,
  kind: MessageKind,
  name: string,
  body: Body,
): Promise<Payload[]> {
  const { catalog, workflowType, status } = await engine.describe({ workflowId }, { withInput: false });
  // A closed run refuses signals and updates, whatever they carry.
  if (status === 'running' || kind === 'queries') {
    const variants = variantsOf(await engine.catalog(catalog), workflowType);
    const grounds = variants.map((workflow) => groundsForMessage(workflow, kind, name));
    payloads.checkAny(grounds, body?.payload, 'payload', `"${name}" of workflow "${workflowType}"`);
  }
  const payload = encodePayload(body?.payload, 'payload');
  return payload === undefined ? [] : [payload];
}

/** Answers with what `ask` brings. It takes a place among those who wait, since it may take as long as user code likes. */
async function answerOf(
  { waits }: RouteContext,
  reply: FastifyReply,
  ask: () => Promise<Payload | undefined>,
): Promise<FastifyReply> {
  waits.enter();
  try {
    const answer = await waits.untilDrained(ask());
    if (answer === undefined) {
      throw new PerdureError(
        'EngineUnavailableError',
        'The server is shutting down; what was accepted goes on',
      );
    }
    return reply.header('content-type', JSON_TYPE).send(answer.value ?? 'null');
  } finally {
    waits.leave();
  }
}
