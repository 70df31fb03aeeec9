import { EvaluationNumberResult, evaluator, z } from 'perdure/output';

export const checkLength = evaluator({
  name: 'check_length',
  inputSchema: z.string(),
  fn: async (text) => new EvaluationNumberResult({ value: text.length, confidence: 0.9 }),
});
