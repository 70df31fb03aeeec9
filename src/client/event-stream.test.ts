import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UnexpectedAnswerError } from './errors.js';
import { type Frame, frames } from './event-stream.js';

async function read(pieces: string[]): Promise<Frame[]> {
  const left = [...pieces];
  const seen: Frame[] = [];
  for await (const frame of frames(async () => left.shift())) seen.push(frame);
  return seen;
}

const TEXT =
  ': hello\n\nid: 7\nevent: history\ndata: [1,\ndata: 2]\n\n: keepalive\n\nevent:done\ndata\n\ndata: a: b\nid: 8\n\n';
const FRAMES = [
  { event: 'history', data: '[1,\n2]', id: '7' },
  { event: 'done', data: '', id: undefined },
  { event: 'message', data: 'a: b', id: '8' },
];

describe('the frames of a stream', () => {
  it.each([
    ['\\n', '\n'],
    ['\\r\\n', '\r\n'],
    ['\\r', '\r'],
  ])('come whole however the text was cut, with lines that end in %s', async (_name, end) => {
    const text = TEXT.replaceAll('\n', end);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: text.length }), { maxLength: 20 }), async (cuts) => {
        const places = [0, ...cuts.sort((a, b) => a - b), text.length];
        const pieces = places.slice(1).map((place, i) => text.slice(places[i], place));
        expect(await read(pieces)).toEqual(FRAMES);
      }),
    );
    expect(await read([...text])).toEqual(FRAMES);
  });

  it('are refused when one has no end', async () => {
    const piece = 'x'.repeat(1024 * 1024);
    let pieces = 0;
    const reading = (async () => {
      for await (const _ of frames(async () => (pieces++ < 1_000 ? piece : undefined)));
    })();
    await expect(reading).rejects.toThrow(UnexpectedAnswerError);
    expect(pieces).toBeLessThan(300);
  });

  it('do not come when they broke off', async () => {
    expect(await read(['id: 1\ndata: 1\n\nid: 2\ndata: 2\n'])).toEqual([
      { event: 'message', data: '1', id: '1' },
    ]);
  });

  it('are found in time that grows with their length alone', async () => {
    const piece = 'x'.repeat(1_000);
    const [frame] = await read(['data: ', ...Array(20_000).fill(piece), '\n\n']);
    expect(frame!.data).toHaveLength(20_000_000);
  });
});
