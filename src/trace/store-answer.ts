/**
 * What an object store answers, as it comes, without trusting it: a store that is broken, or a proxy in its place, may send
 * without end, stop in the middle, or send what is no trace at all.
 */
import { once } from 'node:events';
import { Readable } from 'node:stream';

export interface AnswerBounds {
  bytes: number;
  /** Without a byte, while one is waited for: a reader may take its time. */
  idleMs: number;
}

/** Fails beyond the bounds. Ends `source` with itself. */
export function boundedAnswer(source: Readable, { bytes, idleMs }: AnswerBounds): Readable {
  const chunks: AsyncIterator<Uint8Array> = source[Symbol.asyncIterator]();
  let received = 0;
  const pull = async (answer: Readable) => {
    const impatience = setTimeout(() => {
      answer.destroy(new Error(`the store has sent nothing for ${idleMs / 1_000} s`));
    }, idleMs);
    try {
      const { value, done } = await chunks.next();
      received += value?.byteLength ?? 0;
      if (received > bytes) throw new Error(`the store sends more than ${bytes} bytes`);
      answer.push(done ? null : value);
    } catch (error) {
      answer.destroy(error as Error);
    } finally {
      clearTimeout(impatience);
    }
  };
  return new Readable({
    read() {
      void pull(this);
    },
    destroy(error, done) {
      source.destroy();
      done(error);
    },
  });
}

const OPENING = /^\s*\{/;

/** `answer`, once its beginning is there and may be that of a trace: before that there is still something else to answer. */
export async function openedTrace(answer: Readable): Promise<Readable> {
  try {
    if (answer.readableLength === 0) await once(answer, 'readable');
    const beginning = answer.read() as Buffer | null;
    if (!beginning || !OPENING.test(beginning.toString('latin1', 0, 100))) {
      throw new Error('what the store has is no trace');
    }
    answer.unshift(beginning);
    return answer;
  } catch (error) {
    answer.destroy();
    throw error;
  }
}
