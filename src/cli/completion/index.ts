/** `perdure completion SHELL`: the script of a shell, made from the commands that there are. */
import type { Command } from 'commander';
import { bashScript } from './bash.js';
import { fishScript } from './fish.js';
import { modelOf } from './model.js';
import type { Shell } from './shells.js';
import { zshScript } from './zsh.js';

export function completion(program: Command, shell: Shell): void {
  const models = modelOf(program);
  const script = { bash: bashScript, zsh: zshScript, fish: fishScript }[shell](models);
  process.stdout.write(script);
}
