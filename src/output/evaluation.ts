/** What an evaluator answers: a value, how sure it is of it, and why. */
import { z } from 'zod';
import { FatalError } from '../sdk/index.js';
import { parse } from '../sdk/schema.js';

const Feedback = z.object({
  issue: z.string(),
  suggestion: z.string().optional(),
  reference: z.string().optional(),
  priority: z.enum(['low', 'medium', 'high', 'critical']).optional(),
});

/** One thing that is wrong with what was looked at, and what would make it better. */
export class EvaluationFeedback {
  declare issue: string;
  declare suggestion?: string;
  declare reference?: string;
  declare priority?: 'low' | 'medium' | 'high' | 'critical';

  /** @throws ValidationError */
  constructor(args: z.input<typeof Feedback>) {
    Object.assign(this, parse(Feedback, args, 'EvaluationFeedback'));
  }

  static get schema(): typeof Feedback {
    return Feedback;
  }
}

const resultOf = <V extends z.ZodType>(value: V) =>
  z.object({
    name: z.string().optional(),
    value,
    confidence: z.number().min(0).max(1),
    reasoning: z.string().optional(),
    feedback: z.array(Feedback).default([]),
    // Each was checked when it was made.
    dimensions: z.array(z.looseObject({ value: z.unknown(), confidence: z.number() })).default([]),
  });

const Anything = resultOf(z.any());
const Text = resultOf(z.string());
const Numeric = resultOf(z.number());
const Flag = resultOf(z.boolean());
const Verdict = resultOf(z.enum(['pass', 'partial', 'fail']));

export interface EvaluationResultArgs<Value = unknown> {
  value: Value;
  /** From 0 to 1. */
  confidence: number;
  name?: string;
  reasoning?: string;
  feedback?: EvaluationFeedback[];
  /** Parts of the whole, each with a value of its own. */
  dimensions?: EvaluationResult[];
}

/** The base of the results below, which say what kind of value they have. */
export class EvaluationResult<Value = unknown> {
  declare name?: string;
  declare value: Value;
  declare confidence: number;
  declare reasoning?: string;
  declare feedback: EvaluationFeedback[];
  declare dimensions: EvaluationResult[];

  /** @throws ValidationError */
  constructor(args: EvaluationResultArgs<Value>) {
    const { schema } = new.target as typeof EvaluationResult;
    Object.assign(this, parse(schema, args, new.target.name));
  }

  static get schema(): z.ZodType {
    return Anything;
  }
}

export class EvaluationStringResult extends EvaluationResult<string> {
  static override get schema(): typeof Text {
    return Text;
  }
}

export class EvaluationNumberResult extends EvaluationResult<number> {
  static override get schema(): typeof Numeric {
    return Numeric;
  }
}

export class EvaluationBooleanResult extends EvaluationResult<boolean> {
  static override get schema(): typeof Flag {
    return Flag;
  }
}

export class EvaluationVerdictResult extends EvaluationResult<'pass' | 'partial' | 'fail'> {
  static override get schema(): typeof Verdict {
    return Verdict;
  }
}

/** @throws FatalError for anything else: the next attempt would return the same */
export function checkResult(evaluator: string, returned: unknown): void {
  if (returned instanceof EvaluationResult) return;
  throw new FatalError(
    `evaluator "${evaluator}" must return an EvaluationResult, such as new EvaluationBooleanResult({ value, confidence })`,
  );
}
