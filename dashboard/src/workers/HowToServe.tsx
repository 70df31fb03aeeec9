/** What to do while no worker is there. */
import { apiUrl } from '../app/api.js';
import { CopyButton } from '../components/CopyId.js';
import './command.css';

export function HowToServe({ catalog }: { catalog?: string }) {
  const command = `npx perdure worker workflows --server ${apiUrl}${catalog === undefined ? '' : ` --catalog ${catalog}`}`;
  return (
    <>
      <p>
        Workers run the code of workflows. Start one with the folder that your workflows are in, and this page
        goes on by itself:
      </p>
      <div className="command">
        <code>{command}</code>
        <CopyButton text={command} label="Copy the command" />
      </div>
      <p className="small">
        If the server needs a token, so does the worker: set <code>API_AUTH_TOKEN</code> before the command.
        On a Temporal cluster, <code>--engine temporal</code> stands in place of <code>--server</code>.
      </p>
    </>
  );
}
