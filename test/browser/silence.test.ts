/** What the page says when the server is there and nothing comes: connections that die without a word, and a process that hangs. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Dashboard, expectText, row, until } from './dashboard.js';
import { describeInBrowser } from './required.js';

describeInBrowser('silence', () => {
  let dashboard: Dashboard;
  let line: Line;
  beforeAll(async () => {
    dashboard = await Dashboard.open();
    line = await Line.to(new URL(dashboard.system.server.url).port);
  });
  afterEach(() => dashboard.expectNoProblems());
  afterAll(async () => {
    line?.close();
    await dashboard?.close();
  });

  it('of a stream is no end of the history: the rest comes over another one', async () => {
    const run = await dashboard.begin('sale', 'silent-1', { cents: 1, needsApproval: true });
    const page = await dashboard.visit('/nothing/here');
    await page.goto(`${line.url}/ui/runs/silent-1`);
    await expectText(page.locator('.timeline-rows'), 'charge');
    expect(line.freeze('/history/stream')).toBe(1);
    await run.signal('approve', { by: 'Grace' });
    await run.result();
    await expectText(page.locator('.run-header'), 'Completed');
    // It knows that there is more, and has it soon.
    await expectText(page.locator('.timeline-tools'), /\d of \d+ events read/);
    await expectText(page.locator('.timeline-rows'), 'ship');
  });

  it('of the server is told, though no connection breaks', async () => {
    await dashboard.begin('nothing', 'silent-2');
    const page = await dashboard.visit('/nothing/here');
    await page.goto(`${line.url}/ui/runs?id=silent-2`);
    await row(page, 'silent-2').waitFor();
    line.freeze('');
    line.isFrozen = true;
    await expectText(page.getByRole('status'), 'The server does not answer');
    line.isFrozen = false;
    line.cut();
    await until(
      () => page.getByText('The server does not answer').count(),
      (count) => count === 0,
      'the line to go',
    );
    await dashboard.expectNoProblems(/ERR_(EMPTY_RESPONSE|CONNECTION|INCOMPLETE)/);
  });
});

/** Between the browser and the server: connections through it can be left open and carry nothing any more. */
class Line {
  readonly #pairs = new Set<{ near: Socket; far: Socket; asked: string; isFrozen: boolean }>();
  /** Whether new connections carry nothing either. */
  isFrozen = false;
  readonly #server = createServer((near) => {
    const far = connect(Number(this.port), '127.0.0.1');
    const pair = { near, far, asked: '', isFrozen: this.isFrozen };
    this.#pairs.add(pair);
    near.on('data', (bytes) => {
      pair.asked = String(bytes);
      if (!pair.isFrozen) far.write(bytes);
    });
    far.on('data', (bytes) => pair.isFrozen || near.write(bytes));
    far.on('close', () => pair.isFrozen || near.destroy());
    near.on('close', () => {
      far.destroy();
      this.#pairs.delete(pair);
    });
    for (const end of [near, far]) end.on('error', () => {});
  });

  private constructor(private readonly port: string) {}

  static async to(port: string): Promise<Line> {
    const line = new Line(port);
    line.#server.listen(0, '127.0.0.1');
    await once(line.#server, 'listening');
    return line;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Those whose last request has this in it. Says how many they are. */
  freeze(asked: string): number {
    const meant = [...this.#pairs].filter((pair) => pair.asked.includes(asked));
    for (const pair of meant) pair.isFrozen = true;
    return meant.length;
  }

  cut(): void {
    for (const { near } of this.#pairs) near.destroy();
  }

  close(): void {
    this.cut();
    this.#server.close();
  }
}
