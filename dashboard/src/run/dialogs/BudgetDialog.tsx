/** Changes what a run and all that belong to it may spend. Where it now suffices, they go on by themselves. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { StatusRecord } from 'perdure/client';
import { type FormEvent, useEffect, useId, useState } from 'react';
import { handleOf } from '../../app/handles.js';
import { Button } from '../../components/Button.js';
import { Dialog } from '../../components/Dialog.js';
import { DONE_OR_NOT, ErrorNote, told } from '../../components/ErrorNote.js';
import { Loading } from '../../components/Loading.js';
import { notify } from '../../components/Notices.js';
import { useIsShown } from '../../components/shown.js';
import { costQuery } from '../queries.js';

/** A button, and what it asks. */
export function RaiseBudget({
  run,
  look = 'plain',
  children = 'Raise the budget…',
}: {
  run: StatusRecord;
  look?: 'plain' | 'primary' | 'quiet';
  children?: string;
}) {
  const [isAsked, setIsAsked] = useState(false);
  return (
    <>
      <Button look={look} icon="up" onClick={() => setIsAsked(true)}>
        {children}
      </Button>
      {isAsked && <BudgetDialog run={run} onClose={() => setIsAsked(false)} />}
    </>
  );
}

function BudgetDialog({ run, onClose }: { run: StatusRecord; onClose: () => void }) {
  const id = useId();
  const queries = useQueryClient();
  const { data, error } = useQuery({ ...costQuery(run), retry: false });
  const [amount, setAmount] = useState('');
  const isShown = useIsShown();
  const change = useMutation({
    mutationFn: (given: string) => handleOf(run).setBudget(given),
    onSuccess: ({ budget }) => {
      notify(
        budget.isExceeded
          ? `The budget is ${budget.amount} ${budget.currency}, and that is spent: what it has paused stays so.`
          : `The budget is ${budget.amount} ${budget.currency}. What it had paused goes on.`,
      );
      void queries.invalidateQueries({ queryKey: ['run', run.workflowId] });
      onClose();
    },
    onError: (error) => isShown.current || notify(`Budget: ${told(error, DONE_OR_NOT).message}`, 'failed'),
  });
  const budget = data?.budget;
  // The dialog would give the focus to its first button, and that one closes it.
  const isKnown = budget != null;
  useEffect(() => {
    if (isKnown) document.getElementById(`${id}-amount`)?.focus();
  }, [isKnown, id]);
  const isTooLittle = budget != null && amount.trim() !== '' && Number(amount) <= Number(budget.spent);
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    if (amount.trim() !== '' && !change.isPending) change.mutate(amount.trim());
  };
  return (
    <Dialog
      title={`Change the budget of ${run.workflowId}?`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Leave it</Button>
          <Button
            look="primary"
            type="submit"
            form={id}
            busy={change.isPending}
            disabled={!budget || amount.trim() === ''}
          >
            Change the budget
          </Button>
        </>
      }
    >
      {error ? (
        <ErrorNote error={error} />
      ) : budget ? (
        <form id={id} className="stack" onSubmit={onSubmit}>
          <p>
            {budget.spent} of {budget.amount} {budget.currency}{' '}
            {budget.isExceeded ? 'is spent' : 'is spent so far'}. The budget is that of the run and of all
            that it continues as or has started. Runs that it has paused go on as soon as it suffices.
          </p>
          <div className="field">
            <label htmlFor={`${id}-amount`}>New budget in {budget.currency}, in all</label>
            <input
              id={`${id}-amount`}
              className="input"
              inputMode="decimal"
              autoComplete="off"
              value={amount}
              aria-describedby={`${id}-hint`}
              onChange={({ target }) => setAmount(target.value)}
            />
            <p className="field-hint" id={`${id}-hint`}>
              {isTooLittle && `That is not more than what is spent: nothing goes on with it.`}
            </p>
          </div>
        </form>
      ) : data ? (
        <p>The run was started without a budget, and cannot get one later.</p>
      ) : (
        <Loading what="the budget" />
      )}
      {change.error && <ErrorNote error={change.error} unanswered={DONE_OR_NOT} />}
    </Dialog>
  );
}
