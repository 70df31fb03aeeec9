import { expect, it } from 'vitest';
import { explainStartFailure } from './start-failure.js';

const refused = (fields: object) => Object.assign(new Error('refused'), { code: 'EACCES', ...fields });

it('tells a file that may not be used from a port', () => {
  const where = { port: 80 };
  const port = refused({ syscall: 'listen', address: '0.0.0.0', port: 80 });
  expect(explainStartFailure(port, where)).toMatch(/^port 80 may not be opened/);
  const file = refused({ syscall: 'scandir', path: '/data/traces' });
  expect(explainStartFailure(file, where)).toBe(
    '/data/traces may not be used by this user (EACCES, scandir)',
  );
});
