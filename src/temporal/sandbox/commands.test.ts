import { expect, test } from 'vitest';
import type { Command } from '../../core/history/command.js';
import { DEFAULT_STEP_RETRY } from '../../core/run/retry.js';
import { DEPTH_HEADER, LIVENESS_HEADER } from '../cluster/conventions.js';
import { decoded } from '../translate/payload.js';
import { type RunFrame, toCore } from './commands.js';

const FRAME: RunFrame = {
  runId: '01890000-0000-7000-8000-0123456789ab',
  namespace: 'default',
  catalog: 'shop',
  workflowType: 'order',
  depth: 0,
  format: 'current',
  formatIsRecorded: true,
  settings: {
    catalog: 'shop',
    resultFormat: 'current',
    limits: { payloadBytes: 1, turnBytes: 1, pendingPerRun: 1, childDepth: 1 },
    livenessMs: 10_000,
    callbacks: { key: 'k', publicUrl: 'http://localhost' },
    workflowSettings: { parcel: { executionTimeoutMs: 5_000 } },
  },
  isReset: false,
  updateInstance: (id) => `instance of ${id}`,
  isChildStarted: (childSeq) => childSeq === '1',
};
const step: Extract<Command, { kind: 'scheduleStep' }> = {
  kind: 'scheduleStep',
  activityId: '3',
  stepName: 'pack',
  input: ['{"a":1}'],
  settings: { startToCloseTimeoutMs: 1_500, retry: DEFAULT_STEP_RETRY },
};
const child: Command = {
  kind: 'startChild',
  childSeq: '2',
  workflowId: 'parcel-1',
  workflowType: 'parcel',
  input: [],
  parentClosePolicy: 'REQUEST_CANCEL',
};

test('a step is an activity, with signs of life where its author asks for none', () => {
  const [command] = toCore(step, FRAME);
  expect(command!.scheduleActivity).toMatchObject({
    seq: 3,
    activityId: '3',
    activityType: 'order#pack',
    taskQueue: 'shop',
    startToCloseTimeout: { seconds: 1, nanos: 500_000_000 },
    heartbeatTimeout: { seconds: 10 },
  });
  expect(command!.scheduleActivity!.headers).toHaveProperty(LIVENESS_HEADER);
  const [watched] = toCore({ ...step, settings: { ...step.settings, heartbeatTimeoutMs: 2_000 } }, FRAME);
  expect(watched!.scheduleActivity).toMatchObject({ heartbeatTimeout: { seconds: 2 } });
  expect(watched!.scheduleActivity!.headers ?? {}).not.toHaveProperty(LIVENESS_HEADER);
});

test('a child has the settings of its definition, unless it runs in another catalog', () => {
  const start = (command: Command) => toCore(command, FRAME)[0]!.startChildWorkflowExecution!;
  expect(start(child)).toMatchObject({ workflowExecutionTimeout: { seconds: 5 }, parentClosePolicy: 3 });
  expect(decoded(start(child).headers![DEPTH_HEADER])).toBe(1);
  expect(decoded(start(child).memo!.payloadVersion)).toBe('2');
  expect(start({ ...child, catalog: 'elsewhere' } as Command).workflowExecutionTimeout).toBeUndefined();
});

test('a run that does not say the form of its result does so when it closes, in the current form only', () => {
  const close: Command = { kind: 'completeRun', result: '7' };
  const kinds = (frame: Partial<RunFrame>) => toCore(close, { ...FRAME, ...frame }).flatMap(Object.keys);
  expect(kinds({})).toEqual(['completeWorkflowExecution']);
  expect(kinds({ formatIsRecorded: false })).toEqual([
    'modifyWorkflowProperties',
    'completeWorkflowExecution',
  ]);
  expect(kinds({ formatIsRecorded: false, format: 'legacy' })).toEqual(['completeWorkflowExecution']);
});

test('results of the older form have their trace beside them', () => {
  const [command] = toCore({ kind: 'completeRun', result: '7' }, { ...FRAME, format: 'legacy' });
  expect(decoded(command!.completeWorkflowExecution!.result)).toEqual({ output: 7, trace: null });
});

test('a run whose memo promises a trace says where it will be, before it closes', () => {
  const failure = { kind: 'application', type: 'Error', message: 'no' } as const;
  const settings = {
    ...FRAME.settings,
    traces: { runs: 'all', local: '/traces/', remote: 's3://b/traces/' },
  } as const;
  const memoOf = (command: Command, more: object) =>
    toCore(command, { ...FRAME, settings, ...more }).map(
      ({ modifyWorkflowProperties: memo }) => memo && decoded(memo.upsertedMemo!.fields!.trace),
    );
  const place = { local: `/traces/${FRAME.runId}.json`, remote: `s3://b/traces/${FRAME.runId}.json` };
  expect(memoOf({ kind: 'completeRun' }, { traces: 'all' })).toEqual([place, undefined]);
  expect(memoOf({ kind: 'completeRun' }, { traces: 'failed' })).toEqual([undefined]);
  expect(memoOf({ kind: 'failRun', failure }, { traces: 'failed' })).toEqual([place, undefined]);
  expect(memoOf({ kind: 'cancelRun' }, { traces: 'failed' })).toEqual([place, undefined]);
  // What the worker does by now must not change what a replay says, only what it says there.
  expect(memoOf({ kind: 'completeRun' }, {})).toEqual([undefined]);
  expect(memoOf({ kind: 'completeRun' }, { traces: 'all', settings: FRAME.settings })).toEqual([
    {},
    undefined,
  ]);
});

test('the cancellation of a child that runs goes to whichever of its runs is the latest', () => {
  const cancel = { kind: 'cancelExternal', cancelSeq: '7', workflowId: 'parcel-1' } as const;
  expect(toCore({ ...cancel, childSeq: '1' }, FRAME)).toEqual([
    {
      requestCancelExternalWorkflowExecution: {
        seq: 7,
        workflowExecution: { namespace: FRAME.namespace, workflowId: 'parcel-1' },
      },
    },
  ]);
  expect(toCore({ ...cancel, childSeq: '2' }, FRAME)).toEqual([
    { cancelChildWorkflowExecution: { childWorkflowSeq: 2 } },
  ]);
});
