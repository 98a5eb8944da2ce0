import { EventEmitter } from 'node:events';
import { Storage, type StorageOptions } from '@google-cloud/storage';

/** For each download the library puts 11 listeners on one stream, and Node warns of a leak at more than 10. */
const LISTENERS_COUNT_MAX = 20;

/** Google's client, without that warning in everybody's log. */
export function openStorage(options: StorageOptions): Storage {
  EventEmitter.defaultMaxListeners = Math.max(EventEmitter.defaultMaxListeners, LISTENERS_COUNT_MAX);
  return new Storage(options);
}
