/**
 * The dashboard: a page that the server has with it. It is no secret and needs no credentials; what it shows it asks the
 * API for, with the token that the person at it gives.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { route } from '../operation.js';
import { type PageFile, PageFiles } from './files.js';

/**
 * Files of this server alone, and none of it made up on the way: no script, style or markup in a text that somebody sent
 * can become part of the page.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  // The page says how far up its own folder is.
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

const HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  // Ids of workflows stand in its addresses.
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** Addresses of the page have few parts; deeper ones are nobody's, and each depth is a page in memory. */
const MAX_DEPTH = 8;

export function uiRoutes(app: FastifyInstance, { wantsToken }: { wantsToken: boolean }): void {
  const files = new PageFiles(wantsToken);

  route(
    app,
    {
      id: 'getDashboardFolder',
      method: 'GET',
      path: '/ui',
      tag: 'service',
      summary: 'Leads to the dashboard',
      isOpen: true,
      answers: { 302: { description: 'To the page.', headers: { Location: 'Relative to this address.' } } },
    },
    ({ reply }) => reply.redirect('ui/', 302),
  );

  route(
    app,
    {
      id: 'getDashboard',
      method: 'GET',
      path: '/ui/*',
      tag: 'service',
      summary: 'The dashboard',
      description: 'The same page for each of its addresses: it shows the view that the address names.',
      isOpen: true,
      answers: {
        200: { description: 'HTML.', contentType: 'text/html', schema: z.string() },
        304: { description: 'The page that the browser has.' },
      },
      errors: ['NotFoundError'],
    },
    async ({ request, reply }) => {
      const below = request.url.split('?', 1)[0]!.slice('/ui/'.length);
      const page = await files.page(Math.min(MAX_DEPTH, below.split('/').length - 1));
      return send(request, reply.header('cache-control', 'no-cache'), page);
    },
  );

  route(
    app,
    {
      id: 'getDashboardAsset',
      method: 'GET',
      path: '/ui/assets/:asset',
      tag: 'service',
      summary: 'What the dashboard consists of',
      isOpen: true,
      params: z.object({ asset: z.string() }),
      answers: {
        200: { description: 'Script, style or picture.', contentType: '*/*', schema: z.string() },
        304: { description: 'What the browser has.' },
      },
      errors: ['NotFoundError'],
    },
    async ({ params: { asset }, request, reply }) => {
      const file = await files.asset(asset);
      // Its name has a hash of its content in it.
      return send(request, reply.header('cache-control', 'public, max-age=31536000, immutable'), file);
    },
  );
}

function send(request: FastifyRequest, reply: FastifyReply, file: PageFile): FastifyReply {
  reply.headers({ ...HEADERS, vary: 'accept-encoding', etag: file.etag });
  if (request.headers['if-none-match'] === file.etag) return reply.code(304).send();
  reply.header('content-type', file.type);
  const takesGzip = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/.test(
    String(request.headers['accept-encoding'] ?? ''),
  );
  if (!takesGzip) return reply.send(file.content);
  return reply.header('content-encoding', 'gzip').send(file.gzipped);
}
