/** Pausing one run, and letting it go on. */
import type { FastifyInstance } from 'fastify';
import type { RouteContext } from '../context.js';
import { route } from '../operation.js';
import { PINNED, selectorOf } from '../scopes.js';
import { RunRefAnswer } from '../wire/answers.js';
import { NoBody, PauseBody } from '../wire/schemas.js';

export function pausingRoutes(app: FastifyInstance, { engine, arrivals }: RouteContext): void {
  const { prefix, params } = PINNED;
  const common = {
    method: 'POST',
    tag: 'control',
    params,
    errors: ['WorkflowNotFoundError', 'WorkflowAlreadyClosedError'],
  } as const;
  /** After the messages to the workflow that came before it. */
  const inOrder = <T>({ workflowId }: { workflowId: string }, act: () => Promise<T>): Promise<T> =>
    arrivals.inOrder(workflowId, async () => undefined, act);

  route(
    app,
    {
      ...common,
      id: 'pauseRun',
      path: `${prefix}/pause`,
      summary: 'Pauses one run: nothing new of it is started',
      description:
        'Steps under way end and their results are kept; timers and messages are taken and wait; its code does not go on until it is resumed. Queries are answered. Stopping the run ends the pause. A repeat changes nothing.',
      body: PauseBody,
      answers: { 200: { description: 'The run is paused.', schema: RunRefAnswer } },
    },
    async ({ params, body, reply }) => {
      const selector = selectorOf(params);
      const reason = body?.reason ?? undefined;
      return reply.send(await inOrder(selector, () => engine.pause(selector, { reason, by: 'operator' })));
    },
  );

  route(
    app,
    {
      ...common,
      id: 'resumeRun',
      path: `${prefix}/resume`,
      summary: 'Lets a paused run go on, with all that has come meanwhile',
      description: 'Changes nothing if the run is not paused.',
      body: NoBody,
      answers: { 200: { description: 'The run is not paused any more.', schema: RunRefAnswer } },
    },
    async ({ params, reply }) => {
      const selector = selectorOf(params);
      return reply.send(await inOrder(selector, () => engine.resume(selector)));
    },
  );
}
