import { describe, expect, test } from 'vitest';
import { ScriptedRun } from './scripted-run.fixture.js';

describe('HTTP from a workflow', () => {
  test('sendHttpRequest is a step of its own', () => {
    const run = new ScriptedRun(({ workflow, sendHttpRequest }) =>
      workflow({
        name: 'test',
        fn: async () =>
          (await sendHttpRequest({ url: 'http://localhost/x', method: 'PUT', payload: { a: 1 } })).body,
      }),
    );
    expect(run.start().turn()).toMatchObject([
      {
        kind: 'scheduleStep',
        stepName: 'sendHttpRequest',
        input: ['{"url":"http://localhost/x","method":"PUT","payload":{"a":1}}'],
      },
    ]);
    expect(run.completeStep('1', { status: 200, body: 'hi' }).turn()).toEqual([
      { kind: 'completeRun', result: '"hi"' },
    ]);
  });

  const webhooks = () =>
    new ScriptedRun(({ workflow, sendPostRequestAndAwaitWebhook }) =>
      workflow({
        name: 'test',
        fn: async () => [
          await sendPostRequestAndAwaitWebhook({ url: 'http://localhost/a', payload: 1 }),
          await sendPostRequestAndAwaitWebhook({ url: 'http://localhost/b', payload: 2 }),
        ],
      }),
    );

  test('a webhook posts the id and waits for feedback', () => {
    const run = webhooks();
    const [post] = run.start().turn() as { stepName: string; input: string[] }[];
    expect(post!.stepName).toBe('sendPostRequest');
    expect(JSON.parse(post!.input[0]!)).toEqual({
      url: 'http://localhost/a',
      payload: {
        workflowId: 'test-1',
        payload: 1,
        callbackId: expect.any(String),
        callbackUrl: expect.stringMatching(/^https:\/\/outside\.test\/test-1\//),
      },
    });
    expect(run.completeStep('1', {}).turn()).toEqual([]);
    expect(run.signal('resume', 'first').turn()).toMatchObject([
      { stepName: 'sendPostRequest', activityId: '2' },
    ]);
    expect(run.signal('resume', 'second').completeStep('2', {}).turn()).toEqual([
      { kind: 'completeRun', result: '["first","second"]' },
    ]);
  });

  test('feedback that comes first is kept, in order', () => {
    const run = webhooks();
    expect(run.start().signal('resume', 'early').signal('resume', 'also early').turn()).toHaveLength(1);
    expect(run.completeStep('1').turn()).toMatchObject([{ stepName: 'sendPostRequest' }]);
    expect(run.completeStep('2').turn()).toEqual([{ kind: 'completeRun', result: '["early","also early"]' }]);
  });
});
