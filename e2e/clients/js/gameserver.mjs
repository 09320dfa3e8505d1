// Connects to the service with socket.io-client as a game server of server SDK 3 does. It reads commands from standard
// input and writes events to standard output, each a line of JSON. Sockets are counted from 1.
//
// Commands:
//   {"cmd": "connect", "version": "2.5.0", "url": "http://127.0.0.1:5757", "pid": "4242", "sdkVersion": "3.2.1",
//    "sdkLanguage": "Nodejs", "sockets": 2}
//   {"cmd": "request", "id": 7, "message": "ProcessReady", "payload": "10e13c"}
//                             sends a request on socket 1; the payload is the protobuf message in hexadecimal
//   {"cmd": "policy", "start": "true"}
//                             sets the ack of StartGameSession and UpdateGameSession: "true" (at first), "false",
//                             "empty" (without arguments, as from C++ without a handler) or "none" (no ack)
//   {"cmd": "drop", "socket": 1}
//                             cuts the TCP connection of a socket, which then reconnects
//   {"cmd": "close"}          closes all sockets
//
// Events:
//   {"event": "connected", "socket": 1}
//   {"event": "disconnected", "socket": 1, "reason": "transport close"}
//   {"event": "error", "socket": 1, "reason": "connect ECONNREFUSED 127.0.0.1:5757"}
//   {"event": "ack", "id": 7, "args": [true, ""]}
//   {"event": "push", "socket": 2, "name": "StartGameSession", "text": "{…}", "asked": true, "acked": true}
//                             asked: the service asked for an ack; acked: this program sent one
//   {"event": "done", "cmd": "policy"}
//                             after policy, drop and close
//
// The end of the input closes the sockets and ends the program. A push whose argument is not one string ends it with
// status 1. Run it in the directory where the packages socket.io-client-2.1.1 and socket.io-client-2.5.0 are installed.

import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";

const load = createRequire(join(process.cwd(), "package.json"));
const prefix = "com.amazon.whitewater.auxproxy.pbuffer.";
const pushes = ["StartGameSession", "UpdateGameSession", "TerminateProcess"];
const policies = new Map([["true", [true]], ["false", [false]], ["empty", []], ["none", undefined]]);

const sockets = [];
let answer = policies.get("true"); // the arguments of the acks; undefined: send none

function report(event) {
  process.stdout.write(JSON.stringify(event) + "\n");
}

function connect({ version, url, pid, sdkVersion, sdkLanguage, sockets: count }) {
  const io = load(`socket.io-client-${version}`);
  const query = { pID: pid, sdkVersion, sdkLanguage };
  for (let n = 1; n <= count; n++) {
    const socket = io(url, { query, transports: ["websocket"], forceNew: true, autoConnect: false });
    const failed = (error) =>
      report({ event: "error", socket: n, reason: error.description?.message ?? error.message ?? String(error) });
    socket.on("connect", () => report({ event: "connected", socket: n }));
    socket.on("disconnect", (reason) => report({ event: "disconnected", socket: n, reason }));
    socket.on("connect_error", failed);
    socket.on("error", failed);
    for (const name of pushes) socket.on(name, (...args) => receive(n, name, args));
    sockets.push(socket);
  }
  for (const socket of sockets) socket.connect();
}

function receive(socket, name, args) {
  const ack = typeof args.at(-1) === "function" ? args.pop() : undefined;
  if (args.length !== 1 || typeof args[0] !== "string")
    throw new Error(`${name}: the arguments are ${JSON.stringify(args)}, want one string`);
  const acked = ack !== undefined && answer !== undefined && name !== "TerminateProcess"; // the SDKs never ack that one
  if (acked) ack(...answer);
  report({ event: "push", socket, name, text: args[0], asked: ack !== undefined, acked });
}

const commands = {
  connect,
  request({ id, message, payload }) {
    sockets[0].emit(prefix + message, Buffer.from(payload, "hex"), (...args) => report({ event: "ack", id, args }));
  },
  policy({ start }) {
    if (!policies.has(start)) throw new Error(`policy: start is ${start}, want ${[...policies.keys()].join(", ")}`);
    answer = policies.get(start);
    report({ event: "done", cmd: "policy" });
  },
  drop({ socket }) {
    sockets[socket - 1].io.engine.transport.ws.terminate();
    report({ event: "done", cmd: "drop" });
  },
  close() {
    for (const socket of sockets) socket.close();
    report({ event: "done", cmd: "close" });
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { cmd, ...params } = JSON.parse(line);
  commands[cmd](params);
}
for (const socket of sockets) socket.close();
