import { z } from 'perdure/output';

export const LeadInput = z.object({
  domains: z.array(z.string()),
  minWords: z.coerce.number().default(3),
});

export const LeadOutput = z.object({
  companies: z.array(z.object({ name: z.string(), summary: z.string(), score: z.number() })),
  failed: z.array(z.string()),
});

export class CompanyNotFoundError extends Error {}
