import { workflow } from 'perdure';
import { send } from './steps.js';

export default workflow({ name: 'right', fn: async (text: string) => send(text) });
