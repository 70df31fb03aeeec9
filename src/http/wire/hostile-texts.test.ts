/** Texts of callers pass expressions of ours before anything is known of them; each takes time in proportion to its length. */
import { request } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { spentMs } from '../../../test/cpu-time.js';
import { serve, server } from '../served.fixture.js';

/** Below what Node takes in the head of a request. */
const LENGTH = 15_000;
/** Quadratic ones take much longer already at this length when they are asked a hundred times. */
const TIMES = 100;
const AT_MOST_MS = 10_000;

const TEXTS: Record<string, string> = {
  spaces: `a${' '.repeat(LENGTH)}!`,
  brackets: '['.repeat(LENGTH),
  'closed brackets': `[${']'.repeat(LENGTH)}x`,
  digits: `${'1'.repeat(LENGTH)}!`,
  colons: ':1'.repeat(LENGTH / 2),
  slashes: `${'/'.repeat(LENGTH)}!`,
  letters: `${'a'.repeat(LENGTH)}!`,
  charsets: `text/x; ${'charset '.repeat(LENGTH / 8)}`,
  commas: 'a,'.repeat(LENGTH / 2),
};
const HEADERS = [
  'host',
  'authorization',
  'origin',
  'content-type',
  'x-request-id',
  'idempotency-key',
  'last-event-id',
  'upgrade',
  'traceparent',
];

function ask(path: string, headers: Record<string, string>): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(server.url + path, { method: 'POST', headers, agent: false }, (response) =>
      response.resume().on('end', resolve),
    );
    sent.on('error', reject);
    sent.end('{}');
  });
}

describe('a hostile text', () => {
  beforeEach(() => serve({ token: 'a-secret-of-some-length' }));
  afterEach(() => server.close());

  it.each(HEADERS)('in the header %s holds up nobody', async (name) => {
    const isAuthorization = name === 'authorization';
    for (const text of Object.values(TEXTS)) {
      const startedAt = process.cpuUsage();
      const headers = {
        'content-type': 'application/json',
        authorization: 'Bearer a-secret-of-some-length',
        [name]: isAuthorization ? `Basic ${text}` : text,
      };
      for (let i = 0; i < TIMES; i++) await ask('/workflow/start', headers);
      expect([text.slice(0, 10), spentMs(startedAt) < AT_MOST_MS]).toEqual([text.slice(0, 10), true]);
    }
  });

  it('in the path or the query holds up nobody', async () => {
    const startedAt = process.cpuUsage();
    const headers = { authorization: 'Bearer a-secret-of-some-length', 'content-type': 'application/json' };
    for (const text of Object.values(TEXTS)) {
      for (let i = 0; i < 10; i++) {
        await ask(`/${encodeURI(text.slice(0, LENGTH / 4))}`, headers);
        await ask(
          `/workflow/x/history/stream?lastEventId=${encodeURIComponent(text.slice(0, LENGTH / 4))}`,
          headers,
        );
      }
    }
    expect(spentMs(startedAt)).toBeLessThan(4 * AT_MOST_MS);
  });
});
