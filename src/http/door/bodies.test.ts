import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { Bodies } from './bodies.js';

it('large bodies that come at once are read in their order, one in a round of the loop, and behind them what came on their connection', async () => {
  const bodies = new Bodies({ bodyBytes: 1, bodiesBytes: 1 });
  const seen: string[] = [];
  const [one, other] = [{}, {}];
  const give = (connection: object, bytes: number, name: string) =>
    bodies.inTurn(connection, bytes, () => seen.push(name));
  const round = () => new Promise((resolve) => setImmediate(resolve));
  give(one, 2_000_000, 'large');
  give(one, 10, 'behind it');
  give(other, 10, 'small');
  give(other, 2_000_000, 'second');
  expect(seen).toEqual(['small']);
  for (const next of ['large', 'behind it', 'second']) {
    await round();
    expect(seen.at(-1)).toBe(next);
  }
  give(one, 10, 'later');
  expect(seen).toEqual(['small', 'large', 'behind it', 'second', 'later']);
});

it('a large body that cannot be read keeps nobody behind it waiting', async () => {
  const bodies = new Bodies({ bodyBytes: 1, bodiesBytes: 1 });
  const thrown: unknown[] = [];
  const listeners = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException').once('uncaughtException', (error) => thrown.push(error));
  try {
    bodies.inTurn({}, 2_000_000, () => {
      throw new Error('unreadable');
    });
    const read = new Promise<string>((resolve) => bodies.inTurn({}, 2_000_000, () => resolve('read')));
    const rounds = (async () => {
      for (let round = 0; round < 10; round++) await new Promise((resolve) => setImmediate(resolve));
      return 'waits on';
    })();
    expect(await Promise.race([read, rounds])).toBe('read');
    expect(thrown).toMatchObject([{ message: 'unreadable' }]);
  } finally {
    process.removeAllListeners('uncaughtException');
    for (const listener of listeners) process.on('uncaughtException', listener);
  }
});

it('a body that its call has handed over counts no more, and is not counted off again when the call ends', () => {
  const bodies = new Bodies({ bodyBytes: 100_000, bodiesBytes: 150_000 });
  const enter = () => {
    const request = new IncomingMessage(new Socket());
    request.headers['content-length'] = '100000';
    const response = new ServerResponse(request);
    return { refusal: bodies.enter(request, response), response };
  };
  const { response } = enter();
  expect(enter().refusal?.name).toBe('TooManyRequestsError');
  bodies.leave(response);
  response.emit('close');
  expect(bodies.bytes).toBe(0);
  expect(enter().refusal).toBeUndefined();
  expect(enter().refusal?.name).toBe('TooManyRequestsError');
});
