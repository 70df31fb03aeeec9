import { step, TransparentFatalError, z } from 'perdure/output';
import { CompanyNotFoundError } from '../../workflows/lead_enrichment/types.js';

const attempts = new Map<string, number>();

export const lookupCompany = step({
  name: 'lookup_company',
  inputSchema: z.object({ domain: z.string() }),
  outputSchema: z.object({ name: z.string(), attempts: z.number() }),
  fn: async ({ domain }) => {
    const attempt = (attempts.get(domain) ?? 0) + 1;
    attempts.set(domain, attempt);
    if (domain.startsWith('unknown')) {
      throw new TransparentFatalError(
        Object.assign(new CompanyNotFoundError(`${domain} is unknown, asked ${attempt} times`), {
          code: 404,
        }),
      );
    }
    if (domain.startsWith('flaky') && attempt === 1) throw new Error('try again');
    return { name: domain.split('.')[0]!, attempts: attempt };
  },
});
