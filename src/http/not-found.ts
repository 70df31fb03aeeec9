/** What no route answers: an unknown path, or a known one with another method. */
import type { FastifyInstance } from 'fastify';
import { PerdureError } from '../core/errors.js';

export class KnownPaths {
  private readonly methods = new Map<string, { pattern: RegExp; allowed: Set<string> }>();

  /** Notes every route that is added to `app` from now on. */
  constructor(app: FastifyInstance) {
    app.addHook('onRoute', ({ url, method }) => {
      const known = this.methods.get(url) ?? { pattern: toPattern(url), allowed: new Set<string>() };
      for (const each of [method].flat()) known.allowed.add(each);
      this.methods.set(url, known);
    });
  }

  /** Every method and path, as `GET /workflow/:id/status`. */
  all(): string[] {
    return [...this.methods].flatMap(([url, { allowed }]) =>
      [...allowed].map((method) => `${method} ${url}`),
    );
  }

  /** Methods that the path has, or none when nothing is there. */
  allowed(path: string): string[] {
    const methods = new Set<string>();
    for (const { pattern, allowed } of this.methods.values()) {
      if (pattern.test(path)) for (const method of allowed) methods.add(method);
    }
    return [...methods].sort();
  }
}

function toPattern(url: string): RegExp {
  const parts = url.split('/').map((part) => {
    if (part === '*') return '.*';
    return part.startsWith(':') ? '[^/]+' : part.replaceAll('.', '\\.');
  });
  return new RegExp(`^${parts.join('/')}$`);
}

export function notFound(method: string, path: string, allowed: string[]): PerdureError {
  return allowed.length === 0
    ? new PerdureError('NotFoundError', `There is nothing at ${method} ${path}`)
    : new PerdureError('MethodNotAllowedError', `${path} takes ${allowed.join(', ')}, not ${method}`);
}
