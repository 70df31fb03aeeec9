export function startModel(options?: {
  port?: number;
  slowMs?: number;
  retryAfterSeconds?: number;
}): Promise<{ url: string; calls(): number; close(): Promise<unknown> }>;
