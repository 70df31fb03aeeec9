/** What the project of Output does, whichever engine it is on. */
import { expect, it } from 'vitest';

type Run = (workflowName: string, input: unknown) => Promise<unknown>;

export function leads(run: Run): void {
  it('has steps, evaluators, shared ones and children', async () => {
    const domains = ['acme.io', 'unknown.io', 'flaky.io'];
    expect(await run('lead_enrichment', { domains, minWords: '4' })).toMatchObject({
      status: 'completed',
      output: {
        companies: [
          { name: 'acme', summary: 'acme of indeed indeed', score: 21 },
          { name: 'flaky', summary: 'flaky of indeed indeed', score: 22 },
        ],
        failed: ['unknown.io'],
      },
    });
  });

  it('shows what a TransparentFatalError stands for, which is not tried again', async () => {
    expect(await run('enrich_company', { domain: 'unknown.com' })).toMatchObject({
      status: 'failed',
      error: {
        name: 'CompanyNotFoundError',
        message: 'unknown.com is unknown, asked 1 times',
        code: 404,
        activityType: 'enrich_company#lookup_company',
      },
    });
    expect(await run('gives_up', 'transparent')).toMatchObject({
      status: 'failed',
      error: { name: 'RangeError', message: 'too far', code: 7 },
    });
    expect(await run('gives_up', 'fatal')).toMatchObject({
      error: { name: 'FatalError', message: 'no use' },
    });
  });

  it('continues as new from wherever it likes', async () => {
    expect(await run('countdown', { from: 2 })).toMatchObject({
      status: 'completed',
      input: { from: 2 },
      output: 'lift off',
    });
  });
}
