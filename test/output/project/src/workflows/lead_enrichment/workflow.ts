import { executeInParallel, hasErrorType, Logger, workflow } from 'perdure/output';
import { checkLength } from '../../shared/evaluators/length.js';
import enrichCompany from '../enrich_company/workflow.js';
import { judgeSummary } from './evaluators.js';
import { improveSummary } from './steps.js';
import { CompanyNotFoundError, LeadInput, LeadOutput } from './types.js';

const log = Logger.createLogger('Leads');

export default workflow({
  name: 'lead_enrichment',
  description: 'Enriches leads, and improves what is judged to be poor',
  inputSchema: LeadInput,
  outputSchema: LeadOutput,
  options: {
    activityOptions: { retry: { maximumAttempts: 2, initialInterval: '1ms' }, startToCloseTimeout: '10s' },
  },
  fn: async (input) => {
    Logger.info('Starting enrichment', { domains: input.domains.length, workflowId: 'not this one' });
    const results = await executeInParallel({
      jobs: input.domains.map((domain) => () => enrichCompany({ domain })),
      concurrency: 2,
    });
    const companies: { name: string; summary: string; score: number }[] = [];
    const failed: string[] = [];
    for (const result of results) {
      if (!result.ok) {
        if (!hasErrorType(result.error, CompanyNotFoundError)) throw result.error;
        failed.push(input.domains[result.index]!);
        continue;
      }
      let { summary } = result.result;
      let quality = await judgeSummary({ summary, minWords: input.minWords });
      while (!quality.value) {
        log.warn('Poor summary', { reasoning: quality.reasoning });
        summary = await improveSummary(summary);
        quality = await judgeSummary({ summary, minWords: input.minWords });
      }
      const length = await checkLength(summary);
      companies.push({ name: result.result.name, summary, score: length.value });
    }
    return { companies, failed };
  },
});
