import { EvaluationBooleanResult, EvaluationFeedback, evaluator, z } from 'perdure/output';

export const judgeSummary = evaluator({
  name: 'judge_summary',
  description: 'Whether a summary says enough',
  inputSchema: z.object({ summary: z.string(), minWords: z.number() }),
  fn: async ({ summary, minWords }) => {
    const words = summary.split(' ').length;
    return new EvaluationBooleanResult({
      value: words >= minWords,
      confidence: 1,
      reasoning: `${words} words`,
      feedback: [new EvaluationFeedback({ issue: 'short', priority: 'low' })],
    });
  },
});
