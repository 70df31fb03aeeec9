import { describe, expect, test } from 'vitest';
import { ScriptedRun, type Source } from './scripted-run.fixture.js';

describe('payloads of declared messages', () => {
  const declared: Source = ({
    workflow,
    z,
    defineSignal,
    defineQuery,
    defineUpdate,
    setHandler,
    condition,
  }) => {
    const inputSchema = z
      .object({
        by: z.string().refine((by) => by !== 'nobody', 'somebody must'),
        at: z.coerce.date().optional(),
      })
      .extend({ times: z.number().default(1) });
    return workflow({
      name: 'test',
      signals: { note: { inputSchema }, end: {} },
      queries: { ask: { inputSchema } },
      updates: { put: { inputSchema } },
      fn: async () => {
        const got: unknown[] = [];
        let ended = false;
        const kind = (value: { at?: Date }) => ({ ...value, isDate: value.at instanceof Date });
        setHandler(defineSignal<[{ at?: Date }]>('note'), (value) => void got.push(kind(value)));
        setHandler(defineSignal('end'), () => {
          ended = true;
        });
        setHandler(defineQuery<unknown, [{ at?: Date }]>('ask'), (value) => kind(value));
        setHandler(
          defineUpdate<number, [{ times: number }]>('put'),
          (value) => {
            got.push(value);
            return value.times;
          },
          {
            validator: (value) => {
              if (value.times > 5) throw new Error('too often');
            },
          },
        );
        await condition(() => ended);
        return got;
      },
    });
  };
  const update = (payload: unknown) => [{ updateId: 'u', name: 'put', input: [JSON.stringify(payload)] }];

  test('reach handlers as the schema reads them, which is marked once', () => {
    const run = new ScriptedRun(declared);
    run.start().turn();
    expect(run.signal('note', { by: 'ada', at: '2026-01-02', more: 'left out' }).turn()).toEqual([
      { kind: 'recordPatch', patchId: 'perdure.parsedMessages', deprecated: false },
    ]);
    expect(run.signal('note', { by: 'bob' }).turn()).toEqual([]);
    const [done] = run.signal('end').turn() as { result: string }[];
    expect(JSON.parse(done!.result)).toEqual([
      { by: 'ada', at: '2026-01-02T00:00:00.000Z', times: 1, isDate: true },
      { by: 'bob', times: 1, isDate: false },
    ]);
  });

  test('of which the schema makes nothing else leave no mark', () => {
    const run = new ScriptedRun(declared);
    run.start().turn();
    expect(run.signal('note', { times: 2, by: 'ada' }).turn()).toEqual([]);
  });

  test('that do not fit leave a signal out and the run alone', () => {
    const run = new ScriptedRun(declared);
    run.start().turn();
    run.signal('note', { by: 'nobody' }).turn();
    expect(run.logged).toMatchObject([
      { level: 'warn', message: expect.stringContaining('somebody must'), fields: { signal: 'note' } },
    ]);
    expect(run.signal('end').turn()).toEqual([{ kind: 'completeRun', result: '[]' }]);
  });

  test('that do not fit refuse an update and fail a query', () => {
    const run = new ScriptedRun(declared);
    run.start().turn();
    expect(run.turn({ updates: update({ by: 'nobody' }) })).toMatchObject([
      {
        kind: 'rejectUpdate',
        reason: 'validator',
        failure: { message: expect.stringContaining('somebody') },
      },
    ]);
    const { answers } = run.turnAndAnswers({
      queries: [
        { name: 'ask', args: [{ by: 'nobody' }] },
        { name: 'ask', args: [{ by: 'ada', at: '2026-01-02' }] },
      ],
    });
    expect(answers).toMatchObject([
      { kind: 'failed', failure: { message: expect.stringContaining('somebody must') } },
      { kind: 'answered', result: '{"by":"ada","at":"2026-01-02T00:00:00.000Z","times":1,"isDate":true}' },
    ]);
  });

  test('of updates reach the validator and the handler as the schema reads them', () => {
    const run = new ScriptedRun(declared);
    run.start().turn();
    expect(run.turn({ updates: update({ by: 'ada', times: 6 }) })).toMatchObject([
      { kind: 'rejectUpdate', failure: { message: 'too often' } },
    ]);
    expect(run.turn({ updates: update({ by: 'ada' }) })).toEqual([
      { kind: 'acceptUpdate', updateId: 'u' },
      { kind: 'recordPatch', patchId: 'perdure.parsedMessages', deprecated: false },
      { kind: 'completeUpdate', updateId: 'u', result: '1' },
    ]);
  });

  test('in histories from before they were parsed stay as handlers got them', () => {
    const run = new ScriptedRun(declared);
    run.start().turn();
    // As the code of that time has left it: turns that saw a message, and no mark.
    for (const payload of [{ by: 'ada' }, { by: 'nobody' }]) {
      run.signal('note', payload);
      run.append('WORKFLOW_TASK_SCHEDULED', { attempt: 1 });
      const scheduledEventId = run.history.length;
      run.append('WORKFLOW_TASK_STARTED', { scheduledEventId });
      run.append('WORKFLOW_TASK_COMPLETED', { scheduledEventId, startedEventId: scheduledEventId + 1 });
    }
    run.forgetCache();
    expect(run.signal('note', { by: 'new' }).turn()).toMatchObject([{ kind: 'recordPatch' }]);
    const [done] = run.signal('end').turn() as { result: string }[];
    expect(JSON.parse(done!.result)).toEqual([
      { by: 'ada', isDate: false },
      { by: 'nobody', isDate: false },
      { by: 'new', times: 1, isDate: false },
    ]);
  });
});
