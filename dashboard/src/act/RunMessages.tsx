/** What can be said to a run: what it waits for first, the rest in a menu. */
import { useQuery } from '@tanstack/react-query';
import type { StatusRecord } from 'perdure/client';
import { lazy, Suspense, useState } from 'react';
import { catalogQuery } from '../app/queries.js';
import { Button } from '../components/Button.js';
import type { IconName } from '../components/Icon.js';
import { Menu } from '../components/Menu.js';
import { stateOf } from '../components/state.js';
import { whyQuery } from '../run/queries.js';
import { loadMessageDialog } from './load-dialog.js';
import { awaitedBy, type Message, type MessageKind, messagesFor, messageTitle } from './message.js';

const MessageDialog = lazy(() => loadMessageDialog().then((file) => ({ default: file.MessageDialog })));

const ICONS: Record<MessageKind, IconName> = {
  signal: 'signal',
  update: 'reset',
  query: 'search',
  feedback: 'continued_as_new',
};

export function RunMessages({ run }: { run: StatusRecord }) {
  const { data } = useQuery(catalogQuery(run.catalog));
  const { data: why } = useQuery(whyQuery(run));
  const [chosen, setChosen] = useState<Message>();
  const isOpen = run.status === 'running';
  const entry = data?.workflows.find(({ name }) => name === run.workflowType);
  const messages = messagesFor(entry, isOpen, awaitedBy(why?.reasons));
  const [first, ...rest] = messages;
  const isDirect = first?.isAwaited || (first?.kind === 'signal' && first.name !== null);
  const items = (isDirect ? rest : messages).map((message) => ({
    label: `${messageTitle(message)}…`,
    icon: ICONS[message.kind],
    onSelect: () => setChosen(message),
  }));
  return (
    <>
      {isDirect && (
        <Button
          // While it is paused, resuming it is what is to be done.
          look={stateOf(run) === 'paused' ? 'plain' : 'primary'}
          icon={ICONS[first.kind]}
          onClick={() => setChosen(first)}
          title={first.description ?? undefined}
        >
          {messageTitle(first)}…
        </Button>
      )}
      {items.length > 0 && <Menu label={isOpen ? 'Send' : 'Ask'} items={items} />}
      {chosen && (
        <Suspense>
          <MessageDialog
            key={messageTitle(chosen)}
            workflowId={run.workflowId}
            message={chosen}
            isOpen={isOpen}
            onClose={() => setChosen(undefined)}
          />
        </Suspense>
      )}
    </>
  );
}
