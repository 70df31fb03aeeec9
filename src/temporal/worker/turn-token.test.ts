import { expect, test } from 'vitest';
import { turnToken } from './turn-token.js';

test('a turn is named as the cluster does it', () => {
  const token = turnToken({
    namespaceId: 'n',
    workflowId: 'w'.repeat(200),
    runId: 'r',
    attempt: 2,
    startedTime: { seconds: 1_794_879_515 as never, nanos: 77_747_196 },
    lastEventId: 298,
    version: 3,
  });
  const expected = [
    '0a016e',
    `12c801${'77'.repeat(200)}`,
    '1a0172',
    '20ab02',
    '2802',
    '50ac02',
    '5803',
    // As it stood in one that a cluster has given out.
    '620b089be0eed70610fca78925',
  ];
  expect(token.toString('hex')).toBe(expected.join(''));
});
