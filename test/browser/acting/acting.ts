/** What the tests of starting, speaking and comparing share. */
import { fileURLToPath } from 'node:url';
import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import { seriousFindings } from '../axe.js';

export const ACTING_WORKFLOWS = fileURLToPath(new URL('workflows', import.meta.url));

/** In both themes. */
export async function expectAccessible(page: Page): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await seriousFindings(page), colorScheme).toEqual([]);
  }
  await page.emulateMedia({ colorScheme: null });
}

export async function expectNarrow(page: Page): Promise<void> {
  await page.setViewportSize({ width: 400, height: 800 });
  const wider = await page.evaluate<number>(
    `(({ scrollWidth, clientWidth }) => Math.max(scrollWidth - clientWidth, document.documentElement.scrollWidth - innerWidth))(document.querySelector('.view'))`,
  );
  expect(wider).toBeLessThanOrEqual(0);
  await page.setViewportSize({ width: 1400, height: 860 });
}

/** The JSON beside a form. */
export const jsonOf = async (page: Page, label = 'Input as JSON'): Promise<unknown> =>
  JSON.parse(await page.getByLabel(label).inputValue());

export const group = (page: Page | Locator, name: string): Locator =>
  page.getByRole('group', { name, exact: true });

export const isFocused = (field: Locator): Promise<boolean> =>
  field.evaluate(
    (element) =>
      element === (element as { ownerDocument: { activeElement: unknown } }).ownerDocument.activeElement,
  );
