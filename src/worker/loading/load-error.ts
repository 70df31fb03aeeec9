/** What is wrong with a folder of workflows, told in one go: every problem with its file and what to do about it. */
import type { Message } from 'esbuild';

export interface LoadProblem {
  /** Relative to the folder that was loaded; absent when the folder itself is the problem. */
  file?: string;
  line?: number;
  column?: number;
  message: string;
}

export class LoadError extends Error {
  override readonly name = 'LoadError';

  constructor(
    readonly directory: string,
    readonly problems: LoadProblem[],
    /** The files outside the folder that were looked for, there or not, packages left out. */
    readonly outside: string[] = [],
  ) {
    super(
      problems.length === 1
        ? `The workflows in ${directory} cannot be loaded: ${describeProblem(problems[0]!)}`
        : `The workflows in ${directory} cannot be loaded, ${problems.length} problems:\n${problems
            .map((problem) => `  ${describeProblem(problem)}`)
            .join('\n')}`,
    );
  }
}

export function describeProblem(problem: LoadProblem): string {
  if (problem.file === undefined) return problem.message;
  const place = [problem.file, problem.line, problem.column].filter((part) => part !== undefined).join(':');
  return `${place}: ${problem.message}`;
}

/** esbuild counts columns from 0, people and editors from 1. */
export function problemOfMessage(message: Message, text = message.text): LoadProblem {
  const { location } = message;
  if (!location) return { message: text };
  return { file: location.file, line: location.line, column: location.column + 1, message: text };
}

/** The same problem is often met from several workflows; it is told once. */
export function distinctProblems(problems: LoadProblem[]): LoadProblem[] {
  const seen = new Map(problems.map((problem) => [describeProblem(problem), problem]));
  return [...seen.values()];
}
