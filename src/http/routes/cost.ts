/** What runs have spent, and what they may. */
import type { FastifyInstance } from 'fastify';
import { amountText } from '../../core/cost/cost.js';
import type { RouteContext } from '../context.js';
import { route } from '../operation.js';
import { PINNED, SCOPES, selectorOf } from '../scopes.js';
import { BudgetAnswer, CostAnswer } from '../wire/answers.js';
import { CostPage } from '../wire/costs.js';
import { BudgetBody, CostQuery } from '../wire/schemas.js';

export function costRoutes(app: FastifyInstance, { engine }: RouteContext): void {
  for (const scope of SCOPES) {
    route(
      app,
      {
        id: `get${scope.infix}Cost`,
        method: 'GET',
        path: `${scope.prefix}/cost`,
        tag: 'cost',
        summary: `What ${scope.whose} has spent`,
        description:
          'In every state, with what steps under way have said so far. Runs that have left retention are not counted, ' +
          'but what they have spent of a budget stays spent.',
        params: scope.params,
        query: CostQuery,
        answers: { 200: { description: 'Totals, sums by steps and records.', schema: CostAnswer } },
        errors: ['WorkflowNotFoundError'],
      },
      async ({ params, query: { scope: of, limit, cursor, activities }, reply }) => {
        const page = new CostPage(limit, cursor, { activities });
        const run = page.runOf(selectorOf(params));
        return reply.send(page.body(await engine.cost(run, of, page.take), of));
      },
    );
  }

  route(
    app,
    {
      id: 'setRunBudget',
      method: 'PATCH',
      path: `${PINNED.prefix}/budget`,
      tag: 'cost',
      summary: 'Changes what a run, its chain and its descendants may spend',
      description: 'Where it now suffices, the runs that are paused by their budget go on.',
      params: PINNED.params,
      body: BudgetBody,
      answers: { 200: { description: 'The budget as it is now.', schema: BudgetAnswer } },
      errors: ['WorkflowNotFoundError', 'WorkflowAlreadyClosedError', 'StorageFullError'],
    },
    async ({ params, body, reply }) =>
      reply.send(await engine.setBudget(selectorOf(params), amountText(body.amount))),
  );
}
