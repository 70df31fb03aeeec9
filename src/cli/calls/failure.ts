/**
 * How a command that calls a server ends. Exit codes: 0 success, 1 the workflow failed, 2 wrong use, 3 started but
 * watching was lost, or sent but the answer was, 4 not found, 5 the server cannot be reached, 130 interrupted while the run
 * goes on.
 */
import {
  ApiError,
  CallTimeoutError,
  ClientError,
  ConnectionError,
  EngineUnavailableError,
  InternalError,
  UnexpectedAnswerError,
  WorkflowOutcomeError,
} from '../../client/index.js';
import { lastWord } from '../shell-word.js';

export const EXIT = {
  failed: 1,
  wrongUse: 2,
  lost: 3,
  notFound: 4,
  unreachable: 5,
  interrupted: 130,
} as const;

/** What went wrong, in words for the person at the terminal, and how the program ends. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  constructor(
    readonly exitCode: number,
    message: string,
  ) {
    super(message);
  }
}

/** Whom a command calls, and with what. */
export interface Called {
  server: string;
  token: { value: string | undefined; source: string };
}

/**
 * Whether nobody has said that a call was not taken: the answer never came, or somebody who stands between gave another one, or
 * the server cannot tell what it did with it.
 */
export function mayBeTaken(error: unknown): boolean {
  if (error instanceof ConnectionError) return !error.isUnsent;
  if (error instanceof UnexpectedAnswerError) return true;
  return error instanceof EngineUnavailableError || error instanceof InternalError;
}

/** Undefined for what is our own bug. */
export function explain(error: unknown, called: Called): CommandError | undefined {
  const { server } = called;
  if (error instanceof CommandError) return error;
  if (error instanceof WorkflowOutcomeError) return new CommandError(EXIT.failed, outcomeText(error));
  if (error instanceof ConnectionError || error instanceof CallTimeoutError) {
    const remedy =
      'is it running there? Start one with `perdure dev`, or name another with --server or PERDURE_SERVER';
    return new CommandError(EXIT.unreachable, `no answer from ${server} (${reasonOf(error)}): ${remedy}`);
  }
  if (error instanceof UnexpectedAnswerError) {
    return new CommandError(
      EXIT.unreachable,
      // Part of a page for people, often.
      `${error.message.replaceAll(/\s+/g, ' ')}. Is ${server} a perdure server? Name one with --server`,
    );
  }
  if (error instanceof ApiError) return new CommandError(exitCodeOf(error), apiText(error, called));
  // What was read of an answer is not where it belongs.
  if (error instanceof TypeError && OF_THE_LANGUAGE.test(error.message)) {
    return new CommandError(
      EXIT.unreachable,
      `${server} answered with something that this version cannot read (${error.message}). Is it a perdure server, and of this version?`,
    );
  }
  // Of a value that cannot be in an address, for example.
  if (error instanceof ClientError || error instanceof TypeError)
    return new CommandError(EXIT.wrongUse, error.message);
  // A file that cannot be written to the end, for example.
  if (error instanceof Error && 'syscall' in error) return new CommandError(EXIT.failed, error.message);
  return undefined;
}

const OF_THE_LANGUAGE = /^Cannot (read|destructure|convert) | is not (a function|iterable)/;

/** The innermost reason, such as `connect ECONNREFUSED 127.0.0.1:3001`. */
function reasonOf(error: Error): string {
  return error.message.replace(/^No answer from \S+: /, '');
}

function exitCodeOf({ name, status }: ApiError): number {
  if (status === 404 || name === 'UnsupportedWorkflowError') return EXIT.notFound;
  if (status >= 500) return status === 500 || status === 501 ? EXIT.failed : EXIT.unreachable;
  if (status === 429) return EXIT.unreachable;
  if (['QueryFailedError', 'UpdateFailedError', 'UpdateRejectedError'].includes(name)) return EXIT.failed;
  return EXIT.wrongUse;
}

function apiText(error: ApiError, { server, token }: Called): string {
  const { name, message, issues = [], workflowId } = error;
  switch (name) {
    case 'UnauthorizedError':
      return token.value === undefined
        ? `${server} asks for a token (${token.source}): give it with --token, --token-file or API_AUTH_TOKEN`
        : `${server} refuses the token of ${token.source}: give the right one with --token, --token-file or API_AUTH_TOKEN`;
    case 'WorkflowNotFoundError':
      return `${message}. Look for the id with \`perdure list\``;
    case 'WorkflowAlreadyExistsError':
      return `${message}: give another one with --id, or look at that run with \`perdure status ${lastWord(workflowId ?? '')}\``;
    case 'ValidationError':
      return ['it does not fit:', ...issues.map(issueLine)].join('\n');
    case 'InternalError':
      return `${message}${error.requestId === undefined ? '' : ` (${error.requestId})`}`;
    default:
      return workflowId === undefined || message.includes(workflowId)
        ? message
        : `${message} (${workflowId})`;
  }
}

export function issueLine({ path, message }: { path: (string | number)[]; message: string }): string {
  return `  ${path.join('.') || 'the value'}: ${message}`;
}

/** The error of a run with its causes, one to a line. */
export function outcomeText({ message, error }: WorkflowOutcomeError): string {
  const lines = [message];
  for (let at = error?.cause; at && lines.length <= 10; at = at.cause)
    lines.push(`  because ${at.name}: ${at.message}`);
  if (error?.activityType) lines.push(`  in the step ${error.activityType}`);
  return lines.join('\n');
}
