/** What a failing read says, and about whom. */
import { expect, it } from 'vitest';
import { DamagedRunError, readingRun } from './damage.js';

const failing = (code: string) => () => {
  throw Object.assign(new Error('a read that failed'), { code });
};

it.each(['SQLITE_CORRUPT', 'SQLITE_IOERR_READ'])('what is stored of a run is damaged: %s', (code) => {
  expect(() => readingRun(7, failing(code))).toThrow(DamagedRunError);
});

it('a file that somebody else has for a moment says nothing about the run', () => {
  expect(() => readingRun(7, failing('SQLITE_BUSY'))).toThrow(
    expect.not.objectContaining({ name: 'DamagedRunError' }),
  );
});
