// Calls the GameLift API with the AWS SDK for JavaScript, once per line of
// standard input.
//
// A line is {"operation": "CreateFleet", "params": {...}}. The answer is one line
// too: {"result": {...}}, or {"error": "NotFoundException", "message": "...",
// "status": 400} when the service refused. Endpoint, region and keys come from
// the usual environment variables. The exit status is 1 when a call could not be
// made. Run it in the directory where the SDK is installed.

import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";

const sdk = createRequire(join(process.cwd(), "package.json"))("@aws-sdk/client-gamelift");

async function call(client, operation, params) {
  try {
    const { $metadata, ...result } = await client.send(new sdk[`${operation}Command`](params));
    return { result };
  } catch (refusal) {
    if (!refusal.$response) throw refusal; // no answer of the service
    return { error: refusal.name, message: refusal.message, status: refusal.$metadata.httpStatusCode };
  }
}

const client = new sdk.GameLiftClient({});
for await (const line of createInterface({ input: process.stdin })) {
  const { operation, params } = JSON.parse(line);
  process.stdout.write(JSON.stringify(await call(client, operation, params ?? {})) + "\n");
}
client.destroy();
