// A part of the backend of a game, which finds game sessions for players.
import { setTimeout } from 'node:timers/promises';
import {
  CreateGameSessionCommand,
  CreatePlayerSessionCommand,
  DescribeGameSessionsCommand,
  GameSessionFullException,
  SearchGameSessionsCommand,
} from '@aws-sdk/client-gamelift';

// A Lobby finds game sessions for players, in a location of a fleet.
export class Lobby {
  constructor(client, fleetId, location, maxPlayers) {
    Object.assign(this, { client, fleetId, location, maxPlayers });
  }

  // join reserves a slot for a player in a game session that has one, or in a new game session. A request that is
  // repeated with the same id creates one game session at most.
  async join(player, request) {
    const found = await this.client.send(new SearchGameSessionsCommand({
      FleetId: this.fleetId, Location: this.location, FilterExpression: 'hasAvailablePlayerSessions=true' }));
    for (const session of found.GameSessions) {
      try {
        return await this.reserve(session.GameSessionId, player);
      } catch (error) {
        if (!(error instanceof GameSessionFullException)) throw error; // full since the search
      }
    }
    return this.reserve(await this.create(request), player);
  }

  // create creates a game session and waits until its game server has activated it.
  async create(request) {
    let { GameSession: session } = await this.client.send(new CreateGameSessionCommand({
      FleetId: this.fleetId, Location: this.location, MaximumPlayerSessionCount: this.maxPlayers,
      IdempotencyToken: request }));
    while (session.Status === 'ACTIVATING') {
      await setTimeout(20);
      const found = await this.client.send(new DescribeGameSessionsCommand({ GameSessionId: session.GameSessionId }));
      session = found.GameSessions[0];
    }
    return session.GameSessionId;
  }

  async reserve(session, player) {
    const reserved = await this.client.send(
      new CreatePlayerSessionCommand({ GameSessionId: session, PlayerId: player }));
    return reserved.PlayerSession;
  }
}
