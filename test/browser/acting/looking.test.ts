/** Comparing two runs, the catalog and the workers, in a browser. */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { silentLog } from '../../../src/core/log.js';
import { startWorkers } from '../../../src/worker/supervision/supervisor.js';
import { Dashboard, expectText, until } from '../dashboard.js';
import { describeInBrowser } from '../required.js';
import { ACTING_WORKFLOWS, expectAccessible, expectNarrow } from './acting.js';

describeInBrowser('comparing two runs', () => {
  let dashboard: Dashboard;
  const runIds: Record<string, string> = {};
  beforeAll(async () => {
    dashboard = await Dashboard.open({ directory: ACTING_WORKFLOWS });
    const start = async (workflowId: string, input: object) => {
      const handle = await dashboard.client.workflow('shaky').start(input, { workflowId });
      runIds[workflowId] = handle.startedRunId!;
      await handle.outcome();
    };
    await start('left', { of: ['aa', 'b'], failures: 0, isFinished: false });
    await start('right', { of: ['aa', 'bbb', 'c'], failures: 2 });
    await start('twin', { of: ['aa', 'b'], failures: 0, isFinished: false });
  });
  afterEach(() => dashboard.expectNoProblems());
  afterAll(() => dashboard?.close());

  const address = (left: string, right: string) =>
    `/compare?leftId=${left}&leftRun=${runIds[left]}&rightId=${right}&rightRun=${runIds[right]}`;

  it('aligns their steps by name and occurrence, and says what differs', async () => {
    const page = await dashboard.visit(address('left', 'right'));
    const lines = page.locator('.pair > button');
    await lines.nth(3).waitFor();
    // Durations differ or not, as the machine has it.
    const told = (await lines.allTextContents()).map((text) =>
      text.replace(/\d+(\.\d+)? (ms|s)|, duration/g, '').trim(),
    );
    expect(told).toEqual([
      'measureinput, attemptsLeft: completedRight: completed3 attempts',
      'measure#2input, output, attemptsLeft: completedRight: completed3 attempts',
      'measure#3only rightLeft: not thereRight: completed3 attempts',
      'finishonly rightLeft: not thereRight: completed',
    ]);
    await expectText(page.getByRole('region', { name: 'Steps' }).getByRole('status'), '4 of 4 differ');
    const runs = page.getByRole('region', { name: 'The runs' });
    const inputs = runs.getByRole('list', { name: 'What differs in Input' }).getByRole('listitem');
    expect(await inputs.allTextContents()).toEqual([
      ...['of[1]left: "b"right: "bbb"', 'of[2]left: nothingright: "c"', 'failuresleft: 0right: 2'],
      'isFinishedleft: falseright: nothing',
    ]);
    await lines.nth(1).click();
    await page.getByRole('list', { name: 'What differs in Output' }).last().getByText('right: 3').waitFor();
    await expectAccessible(page);
    await expectNarrow(page);
    await page.getByRole('link', { name: 'Show in the right run' }).click();
    await page.waitForURL(new RegExp(`/runs/right/${runIds.right}.*open=`));
  });

  it('says when they are alike', async () => {
    const page = await dashboard.visit(address('left', 'left'));
    await expectText(page.getByRole('region', { name: 'Steps' }).getByRole('status'), 'All alike');
    await page.goto(`${dashboard.url}${address('left', 'twin')}`);
    await page.getByRole('button', { name: 'Swap' }).click();
    await page.waitForURL(/leftId=twin/);
  });

  it('lets both be chosen, the second among runs of the same workflow', async () => {
    await dashboard.client.workflow('talker').start({}, { workflowId: 'of another workflow' });
    const page = await dashboard.visit('/compare');
    const left = page.getByRole('region', { name: 'Left run' });
    await left.getByLabel('Left run', { exact: true }).fill('lef');
    await until(
      () => left.getByRole('listitem').count(),
      (count) => count === 1,
      'only what begins so',
    );
    await left.getByRole('button', { name: /left/ }).click();
    const right = page.getByRole('region', { name: 'Right run' });
    await right.getByText('of shaky').waitFor();
    await until(
      () => right.getByRole('listitem').count(),
      (count) => count === 2,
      'runs of that workflow',
    );
    await expectAccessible(page);
    await right.getByRole('button', { name: /right/ }).click();
    await page.getByText('4 of 4 differ').waitFor();
    await page.reload();
    await page.getByText('4 of 4 differ').waitFor();
    await page.goBack();
    await page.getByRole('list', { name: 'Runs for the right run' }).waitFor();
  });
});

describeInBrowser('the catalog and the workers', () => {
  let dashboard: Dashboard;
  beforeAll(async () => {
    dashboard = await Dashboard.open({ directory: ACTING_WORKFLOWS });
    await dashboard.client.workflow('talker').start({}, { workflowId: 'open' });
    for (const id of ['one', 'two'])
      await dashboard.client.workflow('shaky').start({ of: ['a'] }, { workflowId: id });
    for (const id of ['one', 'two']) await dashboard.client.handle(id).outcome();
  });
  afterEach(() => dashboard.expectNoProblems());
  afterAll(() => dashboard?.close());

  it('shows a workflow with its schemas, steps, handlers and runs', async () => {
    const page = await dashboard.visit('/catalog?workflow=shaky');
    const workflow = page.getByRole('article', { name: 'shaky' });
    await workflow.getByText('Measures, more than once if it has to').waitFor();
    await expectText(workflow.locator('.schema-line').first(), 'oflist');
    await expectText(
      workflow.locator('.schema-line', { hasText: 'failures' }),
      'failureswhole numberoptionaldefault 0≥ 0',
    );
    await expectText(workflow.getByRole('link', { name: /Completed/ }), '2');
    await expectText(workflow.getByRole('link', { name: /Running/ }), '0');
    await workflow.getByText('How long a text is').click();
    await workflow.getByRole('heading', { name: 'Input of measure' }).waitFor();
    await expectAccessible(page);
    await expectNarrow(page);
    await page.getByRole('link', { name: 'talker', exact: true }).click();
    const talker = page.getByRole('article', { name: 'talker' });
    for (const part of ['Signals', 'Queries', 'Updates'])
      await talker.getByRole('region', { name: part }).waitFor();
    await expectText(talker.getByRole('region', { name: 'Updates' }), 'replace');
    await talker.getByRole('link', { name: 'Start…' }).click();
    await page.getByRole('button', { name: 'Start talker' }).waitFor();
  });

  it('shows who is connected, what they serve and how much they have to do', async () => {
    const page = await dashboard.visit('/workers');
    const table = page.getByRole('table', { name: 'Workers of default' });
    await expectText(table.getByRole('row').nth(1), /Working.*of \d+.*of \d+/);
    await page.getByRole('link', { name: 'everything' }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await expectAccessible(page);
    await expectNarrow(page);
  });
});

describeInBrowser('a server without a worker', () => {
  let dashboard: Dashboard;
  beforeAll(async () => {
    dashboard = await Dashboard.open({ workers: false });
  });
  afterEach(() => dashboard.expectNoProblems());
  afterAll(() => dashboard?.close());

  it('says so everywhere, and how to start one', async () => {
    for (const path of ['/runs', '/start', '/catalog', '/workers']) {
      const page = await dashboard.visit(path);
      await page.getByText(`npx perdure worker workflows --server ${dashboard.system.server.url}`).waitFor();
      await expectAccessible(page);
      await expectNarrow(page);
    }
  });

  it('goes on by itself when one comes, and warns of open runs when it is gone', async () => {
    const page = await dashboard.visit('/runs');
    await page.getByText('No worker is connected').waitFor();
    const workers = startWorkers({
      ...{ directory: ACTING_WORKFLOWS, serverUrl: dashboard.system.server.url, catalog: 'default' },
      // One that stands by would be told of as well, sooner or later.
      ...{ count: 1, spares: 0, resultFormat: 'current', log: silentLog },
    });
    try {
      await workers.ready;
      await page.getByText('A worker is connected').waitFor();
      await page.getByRole('button', { name: 'Start everything' }).waitFor();
      await expectAccessible(page);
      await expectNarrow(page);
      // What somebody types stays when another one is quicker.
      await page.getByLabel('title').fill('half of a');
      await dashboard.client.workflow('talker').start({}, { workflowId: 'left alone' });
      await page.getByRole('button', { name: '1 new' }).waitFor();
      expect(await page.getByLabel('title').inputValue()).toBe('half of a');
      await page.getByRole('button', { name: '1 new' }).click();
      await page.getByRole('link', { name: 'left alone' }).waitFor();
      await page.goto(`${dashboard.url}/workers`);
      await page.getByRole('table').waitFor();
    } finally {
      await workers.stop(0);
    }
    await page.getByText('1 open run of the catalog default waits for a worker.').waitFor();
    await page.getByText('No worker is connected').waitFor();
    await expectAccessible(page);
  });
});
