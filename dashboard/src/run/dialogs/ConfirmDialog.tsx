import { type FormEvent, useEffect, useRef, useState } from 'react';
import { Button } from '../../components/Button.js';
import { Dialog } from '../../components/Dialog.js';
import { DONE_OR_NOT, ErrorNote } from '../../components/ErrorNote.js';

export function ConfirmDialog({
  title,
  effect,
  verb,
  isBusy,
  error,
  tooLate,
  takesReason = false,
  onClose,
  onConfirm,
}: {
  title: string;
  /** What will happen, and whether it can be undone. */
  effect: string;
  verb: string;
  isBusy: boolean;
  error: unknown;
  /** Why there is nothing left to do, in place of what it would do. */
  tooLate?: string;
  takesReason?: boolean;
  onClose: () => void;
  onConfirm: (reason: string | undefined) => void;
}) {
  const [reason, setReason] = useState('');
  // Whoever presses Enter twice means it once; `isBusy` comes a moment after the first.
  const isSent = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what failed may be tried again
  useEffect(() => {
    isSent.current = false;
  }, [error]);
  const confirm = (event?: FormEvent) => {
    event?.preventDefault();
    if (isSent.current || isBusy || tooLate !== undefined) return;
    isSent.current = true;
    onConfirm(reason.trim() || undefined);
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{tooLate === undefined ? 'Leave it' : 'Close'}</Button>
          <Button look="primary" busy={isBusy} disabled={tooLate !== undefined} onClick={() => confirm()}>
            {verb}
          </Button>
        </>
      }
    >
      <p role={tooLate === undefined ? undefined : 'status'}>{tooLate ?? effect}</p>
      {takesReason && tooLate === undefined && (
        <form onSubmit={confirm}>
          <label className="field">
            <span>Reason, for whoever looks at it later</span>
            <input className="input" value={reason} onChange={(event) => setReason(event.target.value)} />
          </label>
        </form>
      )}
      {error != null && <ErrorNote error={error} unanswered={DONE_OR_NOT} />}
    </Dialog>
  );
}
