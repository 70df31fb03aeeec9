/** What keeps people from using a page, as axe finds it. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Finding {
  id: string;
  impact: string | null;
  nodes: { html: string; failureSummary?: string }[];
}

declare const axe: { run(options: object): Promise<{ violations: Finding[] }> };

/** Half way from one color to the next is nobody's contrast. What moves for ever is left to move. */
const SETTLED = `Promise.all(
  document.getAnimations()
    .filter(({ effect }) => Number.isFinite(effect.getComputedTiming().endTime))
    .map(({ finished }) => finished.catch(() => {})),
)`;

/** Those that count, each with where it is. The script comes from the browser's side, so the page's policy stays as it is. */
export async function seriousFindings(page: Page): Promise<string[]> {
  await page.evaluate(`${SETTLED}.then(() => {})`);
  await page.evaluate(AXE);
  const violations = await page.evaluate(
    async () => (await axe.run({ resultTypes: ['violations'] })).violations,
  );
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`));
}
