/** Says something to a run: a signal, a question, an update, or the answer to a callback. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useCallback, useEffect, useId, useRef, useState } from 'react';
import { client } from '../app/api.js';
import { Button } from '../components/Button.js';
import { Dialog } from '../components/Dialog.js';
import { ErrorNote, told } from '../components/ErrorNote.js';
import { JsonTree } from '../components/JsonTree.js';
import { notify } from '../components/Notices.js';
import { useIsShown } from '../components/shown.js';
import type { Problem } from '../forms/check.js';
import { isFit, isSendable } from '../forms/form-state.js';
import { focusField, Problems, SchemaForm, useSchemaForm } from '../forms/SchemaForm.js';
import { refusals } from '../start/send.js';
import { type Message, messageTitle } from './message.js';

const NONE: Problem[] = [];

const SEND = { signal: 'Send signal', query: 'Ask', update: 'Send update', feedback: 'Send answer' };
const ABOUT = {
  signal: 'It is on record once it is sent; the workflow takes it when it comes to it.',
  query: 'It changes nothing.',
  update: 'It waits until the workflow has answered.',
  feedback: 'It goes on from where the workflow waits for a callback; the first answer counts.',
};

const ARRIVED_OR_NOT =
  'No answer came, so it may have arrived or not: look at the events of the run before you send it once more.';
const UNANSWERED: Record<Message['kind'], string> = {
  signal: ARRIVED_OR_NOT,
  update: ARRIVED_OR_NOT,
  feedback: ARRIVED_OR_NOT,
  query: 'No answer came. Asking once more changes nothing.',
};

export function MessageDialog({
  workflowId,
  message,
  isOpen,
  onClose,
}: {
  workflowId: string;
  message: Message;
  /** Whether the run that is looked at is open. */
  isOpen: boolean;
  onClose: () => void;
}) {
  const id = useId();
  const { kind, description, schema } = message;
  const { form, dispatch } = useSchemaForm(schema);
  const [name, setName] = useState(message.name ?? '');
  const [hasTried, setHasTried] = useState(false);
  const queries = useQueryClient();
  // Whoever presses Enter twice means it once; `isPending` comes a moment after the first.
  const isUnderWay = useRef(false);
  const isShown = useIsShown();
  const isNamed = kind !== 'feedback' && message.name === null;

  const send = useMutation({
    mutationFn: (payload: unknown) => {
      const handle = client.handle(workflowId);
      switch (kind) {
        case 'signal':
          return handle.signal(name, payload);
        case 'query':
          return handle.query(name, payload);
        case 'update':
          return handle.update(name, payload);
        case 'feedback':
          return handle.feedback(payload, { callbackId: name === '' ? undefined : name });
      }
    },
    onSuccess: () => {
      if (kind !== 'query') void queries.invalidateQueries({ queryKey: ['run', workflowId] });
      if (kind === 'update' && !isShown.current) notify(`The update ${name} has been answered.`);
      if (kind !== 'signal' && kind !== 'feedback') return;
      notify(kind === 'signal' ? `The signal ${name} is on record.` : 'The answer is on record.');
      if (isShown.current) onClose();
    },
    onError: (error) => {
      if (isShown.current || kind === 'query') return;
      notify(`${messageTitle(message)}: ${told(error, UNANSWERED[kind]).message}`, 'failed');
    },
    onSettled: () => {
      isUnderWay.current = false;
    },
  });
  const { mutate } = send;
  const sendOnce = useCallback(
    (payload: unknown) => {
      if (isUnderWay.current) return;
      isUnderWay.current = true;
      mutate(payload);
    },
    [mutate],
  );
  const asksAtOnce = kind === 'query' && schema === null && message.name !== null;
  // A question without words can be asked right away.
  useEffect(() => {
    if (asksAtOnce) sendOnce(undefined);
  }, [asksAtOnce, sendOnce]);

  // The dialog would give the focus to its first button, and that one closes it.
  useEffect(() => {
    document.getElementById(id)?.querySelector<HTMLElement>('input, select, textarea')?.focus();
  }, [id]);

  const refused = (send.error && refusals(send.error, 'payload')) ?? NONE;
  const problems = form.check.problems.length > 0 ? form.check.problems : refused;
  const isRefused = hasTried && isSendable(form) && problems.length > 0;
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    setHasTried(true);
    if (isNamed && name === '') document.getElementById(`${id}-name`)?.focus();
    else if (isFit(form)) sendOnce(form.value);
    else if (form.check.problems[0]) setTimeout(() => focusField(id, form.check.problems[0]!.path));
  };

  return (
    <Dialog
      title={messageTitle(message)}
      isWide={schema !== null}
      onClose={onClose}
      actions={
        <>
          {isRefused && form.check.problems.length > 0 && (
            <Button
              look="quiet"
              title="A schema can be stricter than the code behind it. The service has the last word."
              busy={send.isPending}
              onClick={() => sendOnce(form.value)}
            >
              Let the service decide
            </Button>
          )}
          <Button onClick={onClose}>{send.isSuccess ? 'Close' : 'Cancel'}</Button>
          <Button type="submit" form={id} look="primary" busy={send.isPending}>
            {send.isSuccess && kind === 'query' ? 'Ask again' : SEND[kind]}
          </Button>
        </>
      }
    >
      {description && <p>{description}</p>}
      <p className="muted small">
        {ABOUT[kind]}
        {!isOpen && ' It goes to the latest run of this id.'}
      </p>
      <form id={id} className="stack" onSubmit={onSubmit} noValidate aria-label={messageTitle(message)}>
        {isNamed && (
          <div className="field">
            <label htmlFor={`${id}-name`}>Name</label>
            <input
              id={`${id}-name`}
              className="input"
              value={name}
              autoComplete="off"
              aria-invalid={(hasTried && name === '') || undefined}
              onChange={({ target }) => setName(target.value)}
            />
            {hasTried && name === '' && <p className="field-problem">A {kind} needs its name.</p>}
          </div>
        )}
        {kind === 'feedback' && (
          <div className="field">
            <label htmlFor={`${id}-callback`}>
              Callback <span className="field-note">optional</span>
            </label>
            <input
              id={`${id}-callback`}
              className="input"
              value={name}
              autoComplete="off"
              aria-describedby={`${id}-callback-about`}
              onChange={({ target }) => setName(target.value)}
            />
            <p className="field-hint" id={`${id}-callback-about`}>
              The id of one callback; without it, the request that has waited longest is answered.
            </p>
          </div>
        )}
        <SchemaForm {...{ form, dispatch, refused }} label="Payload" isShowingAll={hasTried} />
        {isRefused && (
          <div className="refused" role="alert">
            <p>This does not fit what the workflow expects:</p>
            <Problems problems={problems} form={id} />
          </div>
        )}
      </form>
      {send.error && refused.length === 0 && <ErrorNote error={send.error} unanswered={UNANSWERED[kind]} />}
      {send.isSuccess && (kind === 'query' || kind === 'update') && (
        <section className="stack" aria-label="Answer">
          <h3>Answer</h3>
          <JsonTree value={send.data} label="the answer" />
        </section>
      )}
    </Dialog>
  );
}
