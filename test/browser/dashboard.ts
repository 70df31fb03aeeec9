/**
 * The dashboard in a real browser, over a real server with workers.
 *
 * Every page is watched: a script that throws, a line at error in the console and whatever the policy of the page refuses
 * is a problem, and `expectNoProblems` after each test is where it is told.
 */
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import {
  type Client,
  createClient,
  type StartOptions,
  WorkflowAlreadyExistsError,
  type WorkflowHandle,
} from '../../src/client/index.js';
import { type HttpSystem, type StartHttp, startSystem } from '../http/system.js';
import { launch } from './chromium.js';

const WORKFLOWS = fileURLToPath(new URL('workflows', import.meta.url));

/** Anything that takes longer hangs. */
const PATIENCE_MS = 60_000;

export interface DashboardOptions {
  token?: string;
  start?: StartHttp;
  workers?: boolean;
  /** Folder of workflows; those beside this file by default. */
  directory?: string;
}

export class Dashboard {
  readonly client: Client;
  readonly #problems: string[] = [];
  readonly #pages: Page[] = [];

  private constructor(
    readonly system: HttpSystem,
    readonly browser: Browser,
    token: string | undefined,
  ) {
    this.client = createClient({ baseUrl: system.server.url, token });
  }

  static async open(options: DashboardOptions = {}): Promise<Dashboard> {
    const { token, start = startSystem, workers, directory = WORKFLOWS } = options;
    const [system, browser] = await Promise.all([start({ token, directory, workers }), launch()]);
    return new Dashboard(system, browser, token);
  }

  get url(): string {
    return `${this.system.server.url}/ui`;
  }

  /** Starts a run of that id. One that is in its way was left by the first try of a test that is tried again: it ends. */
  async begin(
    workflow: string,
    workflowId: string,
    input: unknown = null,
    more: StartOptions = {},
  ): Promise<WorkflowHandle> {
    const start = () => this.client.workflow(workflow).start(input as never, { workflowId, ...more });
    try {
      return await start();
    } catch (error) {
      if (!(error instanceof WorkflowAlreadyExistsError)) throw error;
      await this.client.handle(workflowId).terminate();
      return start();
    }
  }

  /** A page of its own, with nothing kept from others. */
  async visit(path = '/', options: BrowserContextOptions = {}): Promise<Page> {
    const context = await this.browser.newContext({ viewport: { width: 1400, height: 860 }, ...options });
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    this.watch(page);
    this.#pages.push(page);
    await page.goto(this.url + path);
    return page;
  }

  watch(page: Page): void {
    page.on('pageerror', (error) => this.#problems.push(`${page.url()} threw ${error.stack}`));
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type()))
        this.#problems.push(`${page.url()} says ${message.text()}`);
    });
  }

  /** To be called after each test. `expected` are those that the test brought about. */
  async expectNoProblems(expected = /^$/): Promise<void> {
    await Promise.all(this.#pages.splice(0).map(leave));
    const problems = this.#problems.splice(0).filter((problem) => !expected.test(problem));
    if (problems.length > 0) throw new Error(`the page has problems:\n${problems.join('\n')}`);
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.system.stop();
  }
}

/**
 * What the page has asked for by then need not be answered: a route that still fetches it would fail beside every test. Nor
 * may it ask the server itself, once its routes are gone.
 */
async function leave(page: Page): Promise<void> {
  if (!page.isClosed()) {
    await page.goto('about:blank');
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  }
  await page.context().close();
}

/** Waits for the text of the element to be what it should. */
export async function expectText(element: Locator, text: string | RegExp): Promise<void> {
  await element.filter({ hasText: text }).first().waitFor();
}

export const row = (page: Page, workflowId: string): Locator =>
  page.locator('.run-row', { has: page.getByRole('link', { name: workflowId, exact: true }) });

/** Waits until `look` answers what is wanted. */
export async function until<T>(
  look: () => Promise<T>,
  isIt: (found: T) => boolean,
  what: string,
): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const found = await look();
    if (isIt(found)) return found;
    if (performance.now() > deadline) throw new Error(`${what} did not come about: ${JSON.stringify(found)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
