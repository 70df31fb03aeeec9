/** A line to a server that a test can cut: in one direction, or altogether. */

import type { AddressInfo } from 'node:net';
import { createConnection, createServer, type Server, type Socket } from 'node:net';

export class Line {
  /** What the server has sent. */
  bytesBack = 0;
  #lost: string | undefined;
  #isDeaf = false;
  #withheld: string | undefined;
  #isFirstLetThrough = false;
  #held: (() => void)[] | undefined;
  #onHeld: (() => void) | undefined;
  readonly #sockets = new Set<Socket>();
  #clients = 0;

  private constructor(private readonly server: Server) {}

  static async to(port: number): Promise<Line> {
    const server = createServer();
    const line = new Line(server);
    server.on('connection', (client) => line.#join(client, port));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return line;
  }

  get address(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get connections(): number {
    return this.#clients;
  }

  /** From the request that has `text` in it, requests still arrive and answers do not, until `cut`. */
  loseAnswersTo(text: string): void {
    this.#lost = text;
  }

  /**
   * The request that has `text` in it, and everything after it, does not arrive until `release`; or with `isFirstLetThrough` all
   * but that request. Resolves when it was sent.
   */
  holdRequests(text: string, { isFirstLetThrough = false } = {}): Promise<void> {
    this.#withheld = text;
    this.#isFirstLetThrough = isFirstLetThrough;
    return new Promise((resolve) => {
      this.#onHeld = resolve;
    });
  }

  release(): void {
    const held = this.#held ?? [];
    this.#withheld = undefined;
    this.#held = undefined;
    for (const send of held) send();
  }

  /** Ends all connections; new ones are whole again. */
  cut(): void {
    this.#isDeaf = false;
    this.#lost = undefined;
    this.#withheld = undefined;
    this.#held = undefined;
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.server.close(resolve));
  }

  #join(client: Socket, port: number): void {
    const server = createConnection(port, '127.0.0.1');
    this.#clients++;
    client.on('close', () => this.#clients--);
    client.on('data', (data) => {
      if (this.#lost !== undefined && data.includes(this.#lost)) this.#isDeaf = true;
      const isFirst = !this.#held && this.#withheld !== undefined && data.includes(this.#withheld);
      if (isFirst) {
        this.#held = [];
        this.#onHeld?.();
      }
      const isHeld = this.#held && !(isFirst && this.#isFirstLetThrough);
      if (isHeld) this.#held?.push(() => server.write(data));
      else server.write(data);
    });
    server.on('data', (data) => {
      this.bytesBack += data.length;
      if (!this.#isDeaf) client.write(data);
    });
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
  }
}
