import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { Button } from '../components/Button.js';
import { BulkDialog } from './BulkDialog.js';
import { BULK_ACTIONS, type BulkAction } from './bulk.js';
import type { Run } from './runs-page.js';
import type { Selection } from './selection.js';

/** What to do with those that are chosen. */
export function BulkBar({
  selection,
  onActed,
  children,
}: {
  selection: Selection;
  onActed: () => void;
  children?: ReactNode;
}) {
  const [chosen, setChosen] = useState<{ action: BulkAction; runs: Run[] }>();
  const navigate = useNavigate();
  const { runs } = selection;
  const [left, right] = runs;
  return (
    <section className="bulk" aria-label="What to do with those that are chosen">
      <strong>{runs.length === 1 ? '1 run' : `${runs.length} runs`} chosen</strong>
      {children}
      {runs.length === 2 && left!.workflowType === right!.workflowType && (
        <Button
          icon="compare"
          onClick={() =>
            void navigate({
              to: '/compare',
              search: {
                leftId: right!.workflowId,
                leftRun: right!.runId,
                rightId: left!.workflowId,
                rightRun: left!.runId,
              },
            })
          }
        >
          Compare
        </Button>
      )}
      {BULK_ACTIONS.map((action) => (
        <Button
          key={action.name}
          icon={action.icon}
          look={action.isDangerous ? 'danger' : 'plain'}
          disabled={!runs.some(action.applies)}
          title={runs.some(action.applies) ? undefined : `All of them are ${action.others}`}
          onClick={() => setChosen({ action, runs })}
        >
          {action.name}
        </Button>
      ))}
      <Button look="quiet" icon="close" onClick={selection.clear}>
        Clear
      </Button>
      {chosen && (
        <BulkDialog
          {...chosen}
          onClose={(hasActed) => {
            setChosen(undefined);
            if (!hasActed) return;
            selection.clear();
            onActed();
          }}
        />
      )}
    </section>
  );
}
