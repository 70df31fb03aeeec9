import { workflow, z } from 'perdure/output';
import { lookupCompany } from '../../shared/steps/lookup_company.js';

export default workflow({
  name: 'enrich_company',
  inputSchema: z.object({ domain: z.string() }),
  outputSchema: z.object({ name: z.string(), summary: z.string() }),
  options: { activityOptions: { retry: { initialInterval: '1ms' } }, disableTrace: true },
  fn: async (input) => {
    const { name } = await lookupCompany({ domain: input.domain });
    return { name, summary: `${name} of` };
  },
});
