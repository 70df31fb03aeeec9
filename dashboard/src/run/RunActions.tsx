/** Pause, resume, stop, terminate, reset. What can be undone asks nothing; what cannot says what it will do. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { RunStatus, StatusRecord } from 'perdure/client';
import { useState } from 'react';
import { handleOf } from '../app/handles.js';
import { Button } from '../components/Button.js';
import { DONE_OR_NOT, told } from '../components/ErrorNote.js';
import { Menu } from '../components/Menu.js';
import { notify } from '../components/Notices.js';
import { STATE_NAMES, stateOf } from '../components/state.js';
import { RaiseBudget } from './dialogs/BudgetDialog.js';
import { ConfirmDialog } from './dialogs/ConfirmDialog.js';
import { ResetDialog } from './dialogs/ResetDialog.js';

export function RunActions({ run }: { run: StatusRecord }) {
  const [asked, setAsked] = useState<'stop' | 'terminate' | 'reset'>();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const { workflowId, runId, workflowType, catalog } = run;
  const isOpen = run.status === 'running';
  const isPaused = stateOf(run) === 'paused';
  const handle = handleOf(run);

  const act = useMutation({
    mutationFn: ({ call }: { call: () => Promise<string> }) => call(),
    onSuccess: (done) => {
      notify(done);
      setAsked(undefined);
      void queries.invalidateQueries({ queryKey: ['run', workflowId, runId] });
    },
    onError: (error) => asked === undefined && notify(told(error, DONE_OR_NOT).message, 'failed'),
  });
  const pause = () =>
    act.mutate({
      call: async () => {
        await handle.pause();
        return 'Paused. Nothing new is started until it is resumed.';
      },
    });
  const resume = () =>
    act.mutate({
      call: async () => {
        await handle.resume();
        return 'Resumed.';
      },
    });
  const stop = async () => {
    const { status } = await handle.stop();
    return status === 'running' ? 'It was asked to stop.' : ended(status);
  };
  const terminate = async (reason: string | undefined) => {
    await handle.terminate({ reason });
    return 'Terminated.';
  };
  /** What went wrong the last time is not what this is about. */
  const ask = (what: typeof asked) => {
    act.reset();
    setAsked(what);
  };

  const closed = isOpen ? undefined : 'The run is closed';
  const tooLate = run.status === 'running' || act.isPending ? undefined : ended(run.status);
  return (
    <>
      {/* To resume a run that has no money left would only pause it again. */}
      {isOpen && run.paused?.by === 'budget' && <RaiseBudget run={run} look="primary" />}
      {/* One button for both, so that the focus stays where it is. */}
      {isOpen && run.paused?.by !== 'budget' && (
        <Button
          look={isPaused ? 'primary' : 'plain'}
          icon={isPaused ? 'play' : 'paused'}
          busy={act.isPending}
          onClick={isPaused ? resume : pause}
        >
          {isPaused ? 'Resume' : 'Pause'}
        </Button>
      )}
      <Menu
        label={isOpen ? 'Stop' : 'More'}
        items={[
          { label: 'Stop…', icon: 'cancelled', disabledBecause: closed, onSelect: () => ask('stop') },
          {
            label: 'Terminate…',
            icon: 'terminated',
            isDangerous: true,
            disabledBecause: closed,
            onSelect: () => ask('terminate'),
          },
          { label: 'Reset…', icon: 'reset', onSelect: () => ask('reset') },
          {
            label: 'Start again…',
            icon: 'plus',
            onSelect: () =>
              void navigate({
                to: '/start',
                search: { workflow: workflowType, catalog, likeWorkflowId: workflowId, likeRunId: runId },
              }),
          },
          {
            label: 'Compare with…',
            icon: 'compare',
            onSelect: () => void navigate({ to: '/compare', search: { leftId: workflowId, leftRun: runId } }),
          },
        ]}
      />
      {asked === 'stop' && (
        <ConfirmDialog
          title={`Stop ${workflowId}?`}
          effect="It is cancelled: its own cleanup runs, then it ends. This cannot be undone."
          verb="Stop the run"
          isBusy={act.isPending}
          error={act.error}
          onClose={() => setAsked(undefined)}
          tooLate={tooLate}
          onConfirm={() => act.mutate({ call: stop })}
        />
      )}
      {asked === 'terminate' && (
        <ConfirmDialog
          title={`Terminate ${workflowId}?`}
          effect="It ends at once, without cleanup. This cannot be undone."
          verb="Terminate the run"
          isBusy={act.isPending}
          error={act.error}
          takesReason
          onClose={() => setAsked(undefined)}
          tooLate={tooLate}
          onConfirm={(reason) => act.mutate({ call: () => terminate(reason) })}
        />
      )}
      {asked === 'reset' && <ResetDialog run={run} onClose={() => setAsked(undefined)} />}
    </>
  );
}

const ended = (status: RunStatus): string =>
  `The run has ended meanwhile: ${STATE_NAMES[status].toLowerCase()}. There was nothing to stop.`;
