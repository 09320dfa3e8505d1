// Tests of the lobby, with one service for all tests. Each test has a fleet of its own with two game servers, for two
// players each.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { DescribeGameSessionsCommand } from '@aws-sdk/client-gamelift';
import { Lobby } from './lobby.js';
import { startMuster } from './muster.js';

let muster, client, fleet, lobby;

before(async () => {
  muster = await startMuster();
  client = muster.client();
});
after(async () => {
  client?.destroy();
  await muster?.stop();
});
beforeEach(async () => {
  await muster.test('/faults', undefined, 'DELETE');
  fleet = await muster.test('/fleets', { servers: 2 });
  lobby = new Lobby(client, fleet.fleetId, fleet.location, 2);
});

const join = (player) => lobby.join(player, `join-${player}`);

test('players share a game session', async () => {
  const [ada, bob] = [await join('ada'), await join('bob')];
  assert.equal(ada.GameSessionId, bob.GameSessionId);
});

test('a full game session', async () => {
  const ada = await join('ada');
  await muster.test('/game-sessions/fill', { gameSessionId: ada.GameSessionId });
  assert.notEqual((await join('bob')).GameSessionId, ada.GameSessionId);
});

test('a reservation expires after a minute, unless its player connects', async () => {
  const [ada, bob] = [await join('ada'), await join('bob')];
  await muster.test(`/player-sessions/${ada.PlayerSessionId}/connect`);
  await muster.test('/advance', { seconds: 60 });
  assert.equal((await join('eve')).GameSessionId, bob.GameSessionId);
});

test('a throttled call is retried', async () => {
  await muster.test('/faults', { operation: 'CreatePlayerSession', exception: 'ThrottlingException' });
  await join('ada');
  const { faults } = await muster.test('', undefined, 'GET');
  assert.deepEqual(faults, [], 'no call was throttled');
});

// The SDK repeats the call when the connection is closed. The token makes it the same game session.
test('a lost answer', async () => {
  await muster.test('/faults', { operation: 'CreateGameSession', loseAnswer: true });
  await join('ada');
  const found = await client.send(new DescribeGameSessionsCommand({ FleetId: fleet.fleetId }));
  assert.equal(found.GameSessions.length, 1);
});

// A game session ends when its game server was lost for 3 minutes and 20 seconds.
test('a killed game server', async () => {
  const ada = await join('ada');
  await muster.test('/processes/kill', { gameSessionId: ada.GameSessionId });
  await muster.test('/advance', { seconds: 240 });
  assert.notEqual((await join('bob')).GameSessionId, ada.GameSessionId);
});
