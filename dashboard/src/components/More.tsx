import { Button } from './Button.js';

/** Below a list that has not all: says so, and gets the next ones. */
export function More({
  of: { hasMore, isLoadingMore, loadMore },
  children,
}: {
  of: { hasMore: boolean; isLoadingMore: boolean; loadMore(): void };
  children: string;
}) {
  if (!hasMore) return null;
  return (
    <div>
      <Button busy={isLoadingMore} onClick={loadMore}>
        {children}
      </Button>
    </div>
  );
}
