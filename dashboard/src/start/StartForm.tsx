/** Starts a workflow: its input as a form, checked before it is sent; then the run is shown. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type CatalogEntry, WorkflowAlreadyExistsError } from 'perdure/client';
import { type FormEvent, useEffect, useId, useRef, useState } from 'react';
import { client } from '../app/api.js';
import { Button } from '../components/Button.js';
import { ErrorNote, told } from '../components/ErrorNote.js';
import { notify } from '../components/Notices.js';
import { useIsShown } from '../components/shown.js';
import type { Problem } from '../forms/check.js';
import { isFit, isSendable } from '../forms/form-state.js';
import { focusField, Problems, SchemaForm, useSchemaForm } from '../forms/SchemaForm.js';
import { examplesOf } from '../forms/starting-value.js';
import { NO_OPTIONS, Options, requested } from './Options.js';
import { refusals, StartKeys, type StartRequest } from './send.js';
import './start.css';

const NONE: Problem[] = [];

const UNANSWERED =
  'No answer came, so it may have been started or not. Start it once more as it is: that gives the same run.';

/** For somebody who has left the form, and with it the key that makes another start the same run. */
const LOST =
  'No answer came, so it may have been started or not: look at the runs before you start it once more.';

export function StartForm({
  entry,
  catalog,
  given,
  isCompact = false,
}: {
  entry: CatalogEntry;
  catalog: string | undefined;
  /** What to begin with, in place of what the schema says. */
  given?: { input: unknown };
  isCompact?: boolean;
}) {
  const id = useId();
  const schema = entry.inputSchema;
  const { form, dispatch } = useSchemaForm(schema, ...(given ? [given.input] : []));
  const [options, setOptions] = useState(NO_OPTIONS);
  const [hasTried, setHasTried] = useState(false);
  const keys = useRef(new StartKeys());
  const navigate = useNavigate();
  const queries = useQueryClient();
  // Whoever presses Enter twice means it once; `isPending` comes a moment after the first.
  const isUnderWay = useRef(false);
  const isShown = useIsShown();

  const start = useMutation({
    mutationFn: ({ workflow, input, ...rest }: StartRequest) =>
      client.workflow(workflow, { catalog: rest.catalog }).start(input ?? null, {
        workflowId: rest.workflowId === '' ? undefined : rest.workflowId,
        budget: rest.budget,
        idempotencyKey: keys.current.keyFor({ workflow, input, ...rest }),
      }),
    onSuccess: ({ workflowId: startedId, startedRunId }) => {
      keys.current.forget();
      void queries.invalidateQueries({ queryKey: ['runs'] });
      if (!isShown.current) return notify(`${startedId} is started.`);
      void navigate({
        to: '/runs/$workflowId/$runId',
        params: { workflowId: startedId, runId: startedRunId! },
      });
    },
    onError: (error) =>
      isShown.current || notify(`Start ${entry.name}: ${told(error, LOST).message}`, 'failed'),
    onSettled: () => {
      isUnderWay.current = false;
    },
  });
  const refused = (start.error && refusals(start.error, 'input')) ?? NONE;
  // What the service said was of another value. What is on its way stays so, and the button says it.
  const { reset } = start;
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever the value changes
  useEffect(() => {
    if (!isUnderWay.current) reset();
  }, [form.value, options]);

  const send = () => {
    if (isUnderWay.current) return;
    isUnderWay.current = true;
    start.mutate({ ...requested(options), workflow: entry.name, catalog, input: form.value });
  };
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    setHasTried(true);
    if (isFit(form)) send();
    else if (form.check.problems[0]) setTimeout(() => focusField(id, form.check.problems[0]!.path));
  };
  const examples = examplesOf(schema);
  const problems = form.check.problems.length > 0 ? form.check.problems : refused;
  const isRefused = hasTried && isSendable(form) && problems.length > 0;

  return (
    <form
      id={id}
      className="stack start-form"
      onSubmit={onSubmit}
      noValidate
      aria-label={`Start ${entry.name}`}
    >
      {examples.length > 0 && (
        <div className="line">
          <span className="muted">Fill in</span>
          {examples.slice(0, 5).map((example, index) => (
            <Button
              // biome-ignore lint/suspicious/noArrayIndexKey: the examples of a schema do not change places
              key={index}
              onClick={() => dispatch({ type: 'replace', value: example })}
            >
              {examples.length === 1 ? 'the example' : `example ${index + 1}`}
            </Button>
          ))}
        </div>
      )}
      <SchemaForm {...{ form, dispatch, refused }} label="Input" isShowingAll={hasTried} />
      {!isCompact && <Options options={options} onChange={setOptions} />}
      {isRefused && (
        <div className="refused" role="alert">
          <p>
            {problems.length === 1 ? 'One thing does' : `${problems.length} things do`} not fit the schema of{' '}
            {entry.name}:
          </p>
          <Problems problems={problems} form={id} />
        </div>
      )}
      {start.error && refused.length === 0 && <ErrorNote error={start.error} unanswered={UNANSWERED} />}
      {start.error instanceof WorkflowAlreadyExistsError && (
        <p>
          <Link to="/runs/$workflowId" params={{ workflowId: options.workflowId }}>
            Show the run that has this id
          </Link>
        </p>
      )}
      <div className="line">
        <Button type="submit" look="primary" icon="play" busy={start.isPending}>
          Start {entry.name}
        </Button>
        {isRefused && form.check.problems.length > 0 && (
          <Button
            look="quiet"
            title="A schema can be stricter than the code behind it. The service has the last word."
            busy={start.isPending}
            onClick={send}
          >
            Let the service decide
          </Button>
        )}
      </div>
    </form>
  );
}
