/** A new run of the same workflow that goes on after a step that was completed, or begins anew. */
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { StatusRecord } from 'perdure/client';
import { handleOf } from '../../app/handles.js';
import { DONE_OR_NOT, told } from '../../components/ErrorNote.js';
import { notify } from '../../components/Notices.js';
import { useIsShown } from '../../components/shown.js';
import type { Item } from '../model.js';
import { ConfirmDialog } from './ConfirmDialog.js';

export function ResetDialog({
  run,
  step,
  onClose,
}: {
  run: StatusRecord;
  /** Without one, to the very beginning. */
  step?: Item;
  onClose: () => void;
}) {
  const navigate = useNavigate();
  const isShown = useIsShown();
  const reset = useMutation({
    mutationFn: (reason: string | undefined) =>
      handleOf(run).reset(
        step ? { stepName: step.name, occurrence: step.occurrence, reason } : { toStart: true, reason },
      ),
    onSuccess: ({ workflowId, startedRunId }) => {
      notify('A new run has taken over.');
      if (!isShown.current) return;
      onClose();
      void navigate({ to: '/runs/$workflowId/$runId', params: { workflowId, runId: startedRunId! } });
    },
    onError: (error) => isShown.current || notify(`Reset: ${told(error, DONE_OR_NOT).message}`, 'failed'),
  });
  const where = step
    ? `A new run goes on right after ${step.name}${step.occurrence > 1 ? ` (its execution ${step.occurrence})` : ''}: what was completed until then is kept, what came later is done again.`
    : 'A new run begins anew with the same input: all steps are done again. To keep what is done, choose a completed step on the timeline.';
  const fate = run.status === 'running' ? ' This run is terminated.' : ' This run stays as it is.';
  return (
    <ConfirmDialog
      title={step ? `Reset to after ${step.name}?` : `Reset ${run.workflowId} to the beginning?`}
      effect={where + fate}
      verb="Reset"
      takesReason
      isBusy={reset.isPending}
      error={reset.error}
      onClose={onClose}
      onConfirm={(reason) => reset.mutate(reason)}
    />
  );
}
