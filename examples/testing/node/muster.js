// Runs Muster as a service for tests. Copy this file into your project.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { parseEnv } from 'node:util';
import { GameLiftClient } from '@aws-sdk/client-gamelift';

const startLimit = 60_000; // milliseconds

// startMuster runs a service on ports of its own. The binary is muster on the PATH, or the one that MUSTER names.
export async function startMuster(...flags) {
  const dir = mkdtempSync(join(tmpdir(), 'muster-'));
  const envFile = join(dir, 'muster.env');
  const child = spawn(process.env.MUSTER ?? 'muster', ['dev', '--test', '--quiet', '--env-file', envFile,
    '--listen', '127.0.0.1:0', '--gateway-listen', '127.0.0.1:0', ...flags], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.on('data', (text) => { log += text; });
  const ended = once(child, 'close').catch((error) => { log += error; }); // it could not be run
  const stop = async () => {
    child.kill();
    await ended;
    rmSync(dir, { recursive: true });
  };
  let running = true;
  ended.then(() => { running = false; });
  const limit = Date.now() + startLimit;
  while (!existsSync(envFile)) { // which it writes when it is ready
    if (!running || Date.now() > limit) {
      await stop();
      throw new Error(`muster did not start: ${log}`);
    }
    await setTimeout(20);
  }
  return new Muster(parseEnv(readFileSync(envFile, 'utf8')), stop);
}

class Muster {
  constructor(env, stop) {
    Object.assign(this, { env, stop }); // stop ends the service and removes its data
  }

  // client returns a client of the AWS SDK.
  client() {
    return new GameLiftClient({
      endpoint: this.env.MUSTER_HTTP_URL,
      region: this.env.AWS_REGION,
      credentials: { accessKeyId: this.env.AWS_ACCESS_KEY_ID, secretAccessKey: this.env.AWS_SECRET_ACCESS_KEY },
    });
  }

  // test makes a request below /v1/test and returns its answer.
  async test(path, body, method = 'POST') {
    const answer = await fetch(`${this.env.MUSTER_HTTP_URL}/v1/test${path}`, { method, body: JSON.stringify(body) });
    const result = await answer.json();
    if (!answer.ok) throw new Error(result.message);
    return result;
  }
}
