import { condition, type Workflow, workflow } from 'perdure';
import type { ProgramInput } from '../../program.js';
import { Interpreter } from './interpreter.js';

/** The workflows that interpret programs; they differ only in the policies of their definitions. */
export const program: Workflow = workflow({
  name: 'program',
  fn: (input, context) => new Interpreter(input as ProgramInput, context, CHILDREN).run(),
});

export const retried: Workflow = workflow({
  name: 'retried',
  options: {
    retry: {
      initialInterval: 10,
      backoffCoefficient: 1,
      maximumInterval: 10,
      maximumAttempts: 3,
      nonRetryableErrorTypes: ['ListedError'],
    },
  },
  fn: (input, context) => new Interpreter(input as ProgramInput, context, CHILDREN).run(),
});

/** Runs out of time, whatever it is given to do. */
export const timed: Workflow = workflow({
  name: 'timed',
  options: { executionTimeout: '1s' },
  fn: async () => {
    await condition(() => false);
  },
});

const CHILDREN = { program, retried, timed };
