import { workflow } from 'perdure';
import { send } from './steps.js';

export default workflow({ name: 'left', fn: async (text: string) => send(text) });
