/** What the run was given and what it returned, or the error that it ended with. */
import { useQuery } from '@tanstack/react-query';
import type { LegacyWorkflowResult, StatusRecord, WorkflowResult } from 'perdure/client';
import { inputQuery, outcomeQuery } from '../app/queries.js';
import { ErrorNote } from '../components/ErrorNote.js';
import { JsonTree } from '../components/JsonTree.js';
import { Loading } from '../components/Loading.js';
import { Failure, fromResult, type Thrown } from './Failure.js';

export function InputAndOutput({ run }: { run: StatusRecord }) {
  const input = useQuery(inputQuery(run.workflowId, run.runId));
  const isClosed = run.status !== 'running';
  const outcome = useQuery({ ...outcomeQuery(run.workflowId, run.runId), enabled: isClosed });
  return (
    <div className="data">
      <section className="stack">
        <h2>Input</h2>
        {input.error ? (
          <ErrorNote error={input.error} onRetry={() => void input.refetch()} />
        ) : input.data ? (
          <JsonTree value={input.data.input} label="input" />
        ) : (
          <Loading what="the input" />
        )}
      </section>
      <section className="stack">
        <h2>{outcome.data && errorOf(outcome.data) ? 'Error' : 'Output'}</h2>
        {!isClosed ? (
          <p className="muted">The run has not ended. Its output will stand here.</p>
        ) : outcome.error ? (
          <ErrorNote error={outcome.error} onRetry={() => void outcome.refetch()} />
        ) : outcome.data ? (
          <Outcome result={outcome.data} />
        ) : (
          <Loading what="the output" />
        )}
      </section>
    </div>
  );
}

function Outcome({ result }: { result: WorkflowResult | LegacyWorkflowResult }) {
  const error = errorOf(result);
  return error ? <Failure error={error} /> : <JsonTree value={result.output} label="output" />;
}

/** The error of either form of result. */
function errorOf(result: WorkflowResult | LegacyWorkflowResult): Thrown | undefined {
  if ('v' in result) return result.error ? fromResult(result.error) : undefined;
  if (result.error === null) return undefined;
  const { name, activityId, cause } = result.errorDetails ?? {};
  return {
    name: name ?? 'Error',
    message: result.error,
    activityType: activityId ?? undefined,
    cause: cause ? fromResult(cause) : undefined,
  };
}
