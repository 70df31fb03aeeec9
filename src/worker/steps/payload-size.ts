/** The bound on one value that leaves a step. */
export const isLargerThan = (text: string, bytes: number): boolean =>
  text.length > bytes || (text.length * 3 > bytes && Buffer.byteLength(text) > bytes);

export class PayloadTooLargeError extends Error {
  override readonly name = 'PayloadTooLargeError';
  readonly nonRetryable = true;
  constructor(what: string, payload: string, maxBytes: number) {
    super(
      `${what} takes ${Buffer.byteLength(payload)} bytes; a value may have ${maxBytes}. Keep it elsewhere and pass on where it is`,
    );
  }
}
