/** The root of the service: the way in for people, and where things are for programs. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { route } from '../operation.js';

const Places = z
  .object({
    name: z.literal('perdure'),
    ui: z.string().optional(),
    docs: z.string(),
    openapi: z.string(),
    health: z.string(),
    catalog: z.string(),
    runs: z.string(),
  })
  .meta({ id: 'Places' });

// Relative, so that they also lead there behind a proxy that serves the API under a path.
const PLACES: z.output<typeof Places> = {
  name: 'perdure',
  docs: 'docs',
  openapi: 'openapi.json',
  health: 'health',
  catalog: 'workflow/catalog',
  runs: 'workflow/runs',
};

/** Whoever asks for anything that is there asks for the data. */
export const isBrowser = ({ headers }: FastifyRequest): boolean =>
  headers.accept?.includes('text/html') === true;

export function rootRoute(app: FastifyInstance, { ui }: { ui: boolean }): void {
  route(
    app,
    {
      id: 'getRoot',
      method: 'GET',
      path: '/',
      tag: 'service',
      summary: 'Where to go from here',
      description:
        'Browsers are sent to the dashboard, without it to the page that shows this document; programs are told where things are.',
      answers: {
        200: { description: 'Where things are, for programs.', schema: Places },
        302: {
          description: 'To the page, for browsers.',
          headers: { Location: 'Relative to this address.' },
        },
      },
    },
    ({ request, reply }) => {
      reply.header('vary', 'accept');
      return isBrowser(request)
        ? reply.redirect(ui ? 'ui/' : 'docs', 302)
        : reply.send({ ...PLACES, ...(ui && { ui: 'ui/' }) });
    },
  );
}
