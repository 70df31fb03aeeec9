import { describe, expect, test } from 'vitest';
import { Run, type Stage, unique } from '../stage.js';
import { causes, type Described } from '../workflows/shared/described.js';

export function childCases(stage: Stage): void {
  /** Waits until the child is there, since its parent starts it when its turn comes. */
  async function startedChild(parent: Run) {
    const event = await parent.until('CHILD_WORKFLOW_EXECUTION_STARTED');
    return stage.attach(event.attributes.workflowExecution.workflowId);
  }

  describe('children', () => {
    test("a child's result comes back, and both runs know of each other (CH-01)", async () => {
      const workflowId = unique('child');
      const parent = await stage.start('parent', { how: 'return', value: [1, 'two'], workflowId });
      expect(await parent.result()).toEqual({ value: { got: [1, 'two'] } });
      expect(await parent.eventTypes()).toEqual([
        'WORKFLOW_EXECUTION_STARTED',
        'START_CHILD_WORKFLOW_EXECUTION_INITIATED',
        'CHILD_WORKFLOW_EXECUTION_STARTED',
        'CHILD_WORKFLOW_EXECUTION_COMPLETED',
        'WORKFLOW_EXECUTION_COMPLETED',
      ]);
      const child = await stage.attach(workflowId);
      const [started] = await child.eventsOf('WORKFLOW_EXECUTION_STARTED');
      expect(started!.attributes.parent).toMatchObject({
        workflowId: parent.workflowId,
        runId: parent.runId,
      });
      expect(await child.describe()).toMatchObject({ workflowType: 'child', status: 'completed' });
    });

    test('a child knows its parent', async () => {
      const parent = await stage.start('parent', { how: 'who' });
      const { value } = (await parent.result()) as { value: { parent: unknown } };
      expect(value.parent).toMatchObject({ workflowId: parent.workflowId, runId: parent.runId });
    });

    test("a child's failure is an error in its parent, with its cause (CH-01)", async () => {
      const parent = await stage.start('parent', { how: 'throw' });
      const { error } = (await parent.result()) as { error: Described };
      expect(causes(error)).toContainEqual(
        expect.objectContaining({ name: 'RangeError', message: 'the child fell', code: 'E_CHILD' }),
      );
      expect(await parent.eventTypes()).toContain('CHILD_WORKFLOW_EXECUTION_FAILED');
    });

    test("a child's failure that nobody catches fails the parent", async () => {
      const parent = await stage.start('carelessParent', { how: 'throw' });
      const { status, failure } = await parent.outcome();
      expect(status).toBe('failed');
      expect(JSON.stringify(failure)).toContain('the child fell');
      expect(JSON.stringify(failure)).toContain('RangeError');
    });

    test.each([
      ['cancel', 'CHILD_WORKFLOW_EXECUTION_CANCELED', 'CancelledError'],
      ['terminate', 'CHILD_WORKFLOW_EXECUTION_TERMINATED', 'TerminatedError'],
    ] as const)(
      'a child that someone else ends by %s is an error in its parent (CH-01)',
      async (end, type, name) => {
        const parent = await stage.start('parent', { how: 'wait' });
        const child = await startedChild(parent);
        await child[end]();
        const { error } = (await parent.result()) as { error: Described };
        expect(causes(error).map((each) => each.name)).toContain(name);
        expect(await parent.eventTypes()).toContain(type);
      },
    );

    test('a child that runs out of time is a timeout in its parent (CH-01)', async () => {
      const parent = await stage.start('timedParent');
      const { error } = (await parent.result()) as { error: Described };
      expect(causes(error).map((each) => each.name)).toContain('TimeoutError');
      expect(await parent.eventTypes()).toContain('CHILD_WORKFLOW_EXECUTION_TIMED_OUT');
    });

    test('the parent sees the end of a chain, not its links (CN-07)', async () => {
      const parent = await stage.start('parent', { how: 'continue', value: 3 });
      expect(await parent.result()).toEqual({ value: 'end of the chain' });
      expect(await parent.eventsOf('CHILD_WORKFLOW_EXECUTION_STARTED')).toHaveLength(1);
    });

    test('the parent sees how the last attempt of a child ended (CH-09)', async () => {
      const place = stage.place();
      const parent = await stage.start('parentOfRetried', { ...place, failures: 2 });
      expect(await parent.result()).toEqual({ value: { attempt: 3 } });
      expect(stage.ledger.entries(place.key)).toHaveLength(3);
      expect((await parent.eventTypes()).filter((type) => type.startsWith('CHILD'))).toEqual([
        'CHILD_WORKFLOW_EXECUTION_STARTED',
        'CHILD_WORKFLOW_EXECUTION_COMPLETED',
      ]);
    });

    test('an id that is in use is an error in the parent (CH-02)', async () => {
      const other = await stage.start('waitForever');
      const parent = await stage.start('parent', { how: 'return', workflowId: other.workflowId });
      const { error } = (await parent.result()) as { error: Described };
      expect(JSON.stringify(error)).toContain(other.workflowId);
      expect(await parent.eventTypes()).toEqual([
        'WORKFLOW_EXECUTION_STARTED',
        'START_CHILD_WORKFLOW_EXECUTION_INITIATED',
        'START_CHILD_WORKFLOW_EXECUTION_FAILED',
        'WORKFLOW_EXECUTION_COMPLETED',
      ]);
      expect((await other.describe()).status).toBe('running');
      await other.terminate();
    });

    test('cancelling the scope of a child cancels the child', async () => {
      const workflowId = unique('child');
      const parent = await stage.start('cancelsChild', workflowId);
      const { error } = (await parent.result()) as { error: Described };
      expect(causes(error).map((each) => each.name)).toContain('CancelledError');
      expect((await (await stage.attach(workflowId)).outcome()).status).toBe('cancelled');
    });

    test('a child that has continued as new is cancelled as the run that it is by then', async () => {
      const workflowId = unique('child');
      const parent = await stage.start('cancelsContinuedChild', workflowId);
      const { attributes } = await parent.until('CHILD_WORKFLOW_EXECUTION_STARTED');
      const first = new Run(stage, workflowId, attributes.workflowExecution.runId);
      const second = await first.next();
      await second.until('WORKFLOW_TASK_COMPLETED');
      await parent.signal('end', 'return');
      const { error } = (await parent.result()) as { error: Described };
      expect(causes(error).map((each) => each.name)).toContain('CancelledError');
      expect((await second.outcome()).status).toBe('cancelled');
    });

    test('a child that is cancelled in the turn that calls it never starts', async () => {
      const workflowId = unique('child');
      const parent = await stage.start('cancelsChildAtOnce', workflowId);
      const { error } = (await parent.result()) as { error: Described };
      expect(causes(error).map((each) => each.name)).toContain('CancelledError');
      await expect(stage.attach(workflowId)).rejects.toMatchObject({ name: 'WorkflowNotFoundError' });
    });

    test('cancelling the parent cancels the child it waits for', async () => {
      const parent = await stage.start('carelessParent', { how: 'wait' });
      const child = await startedChild(parent);
      await parent.cancel();
      expect((await parent.outcome()).status).toBe('cancelled');
      expect((await child.outcome()).status).toBe('cancelled');
    });

    test('children side by side each give their own (CH-10)', async () => {
      const outcomes = await stage.run('manyChildren', 30);
      expect(outcomes).toEqual(
        Array.from({ length: 30 }, (_, value) => (value % 3 === 2 ? 'failed' : { got: value })),
      );
    });

    test('children of children, ten deep (CH-10)', async () => {
      expect(await stage.run('descends', 10)).toBe(10);
    });
  });

  describe('what becomes of a child when its parent ends (CH-04)', () => {
    const endings = ['return', 'throw', 'terminate', 'cancel'] as const;

    for (const how of endings) {
      test(`a child is cancelled with its parent: ${how}`, async () => {
        const workflowId = unique('child');
        const parent = await stage.start('leavesChild', { workflowId, detached: false });
        const child = await startedChild(parent);
        if (how === 'terminate' || how === 'cancel') await parent[how]();
        else await parent.signal('end', how);
        await parent.outcome();
        expect((await child.outcome()).status).toBe('cancelled');
      });
    }

    for (const how of [...endings, 'continue'] as const) {
      test(`a detached child outlives its parent: ${how}`, async () => {
        const workflowId = unique('child');
        const parent = await stage.start('leavesChild', { workflowId, detached: true });
        const child = await startedChild(parent);
        if (how === 'terminate' || how === 'cancel') await parent[how]();
        else await parent.signal('end', how);
        await parent.finalOutcome();
        expect((await child.describe()).status).toBe('running');
        expect(await child.eventsOf('WORKFLOW_EXECUTION_CANCEL_REQUESTED')).toEqual([]);
        await child.terminate();
      });
    }

    test('a detached child that was asked for in the last turn of its parent is started', async () => {
      const workflowId = unique('child');
      expect(await stage.run('asksAndLeaves', { workflowId, detached: true })).toBe('left');
      const child = await stage.attach(workflowId);
      expect((await child.describe()).status).toBe('running');
      await child.terminate();
    });

    test('a child that was asked for in the last turn of its parent, and would end with it, is not', async () => {
      const workflowId = unique('child');
      const parent = await stage.start('asksAndLeaves', { workflowId, detached: false });
      expect(await parent.result()).toBe('left');
      expect(await parent.eventTypes()).toContain('START_CHILD_WORKFLOW_EXECUTION_INITIATED');
      await expect(stage.attach(workflowId)).rejects.toMatchObject({ name: 'WorkflowNotFoundError' });
    });

    test('a child is cancelled when its parent continues as new', async () => {
      const workflowId = unique('child');
      const parent = await stage.start('leavesChild', { workflowId, detached: false });
      const child = await startedChild(parent);
      await parent.signal('end', 'continue');
      expect(await parent.result()).toBe('continued');
      expect((await child.outcome()).status).toBe('cancelled');
    });

    test('grandchildren go with the family', async () => {
      const workflowId = unique('grandchild');
      const top = await stage.start('grandparent', workflowId);
      const middle = await startedChild(top);
      const bottom = await startedChild(middle);
      expect(bottom.workflowId).toBe(workflowId);
      await top.terminate('everybody out');
      expect((await middle.outcome()).status).toBe('cancelled');
      expect((await bottom.outcome()).status).toBe('cancelled');
    });
  });
}
