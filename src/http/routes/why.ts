/** Why a run is where it is. */
import type { FastifyInstance } from 'fastify';
import type { RouteContext } from '../context.js';
import { route } from '../operation.js';
import { SCOPES, selectorOf } from '../scopes.js';
import { WhyAnswer } from '../wire/why-answer.js';

export function whyRoutes(app: FastifyInstance, { engine }: RouteContext): void {
  for (const scope of SCOPES) {
    route(
      app,
      {
        id: `get${scope.infix}Why`,
        method: 'GET',
        path: `${scope.prefix}/why`,
        tag: 'runs',
        summary: `Why ${scope.whose} is where it is, and what to do about it`,
        params: scope.params,
        answers: { 200: { description: 'The reasons, in whatever state it is.', schema: WhyAnswer } },
        errors: ['WorkflowNotFoundError'],
      },
      async ({ params, reply }) => reply.send(await engine.why(selectorOf(params))),
    );
  }
}
