/** Asks for the token when the server wants one. It is kept in this tab, and nowhere else. */
import { createClient, UnauthorizedError } from 'perdure/client';
import { type FormEvent, useState } from 'react';
import { apiUrl } from '../app/api.js';
import { admission, admit } from '../app/session.js';
import { useStore } from '../app/store.js';
import { Button } from '../components/Button.js';
import { Dialog } from '../components/Dialog.js';
import { told } from '../components/ErrorNote.js';

export function TokenPrompt() {
  const state = useStore(admission);
  return state === 'open' ? null : <Prompt wasRefused={state === 'wrong'} />;
}

function Prompt({ wasRefused }: { wasRefused: boolean }) {
  const [token, setToken] = useState('');
  const [isBusy, setIsBusy] = useState(false);
  const [problem, setProblem] = useState(wasRefused ? 'The server does not take this token any more.' : '');

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setIsBusy(true);
    try {
      const given = token.trim();
      const withoutPassword: typeof fetch = (input, init) => fetch(input, { ...init, credentials: 'omit' });
      await createClient({
        baseUrl: apiUrl,
        token: given,
        fetch: withoutPassword,
        retryForMs: 0,
      }).heartbeat();
      admit(given);
    } catch (error) {
      setProblem(
        error instanceof UnauthorizedError
          ? 'The server does not take this token.'
          : told(error, 'The server does not answer. Try once more when it is back.').message,
      );
      setIsBusy(false);
    }
  };

  return (
    <Dialog title="This server needs a token">
      <form className="stack" onSubmit={submit}>
        <p className="muted">
          It is what the server was started with as <code>API_AUTH_TOKEN</code>. This tab keeps it until it is
          closed; nothing else does.
        </p>
        <label className="field">
          <span>Token</span>
          <input
            className="input"
            type="password"
            autoComplete="off"
            autoFocus
            value={token}
            aria-invalid={problem ? true : undefined}
            aria-describedby="token-problem"
            onChange={(event) => setToken(event.target.value)}
          />
        </label>
        <p id="token-problem" className="field-problem" role="alert">
          {problem}
        </p>
        <div className="line">
          <Button look="primary" type="submit" busy={isBusy} disabled={token.trim() === ''}>
            Go on
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
