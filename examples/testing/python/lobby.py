"""A part of the backend of a game, which finds game sessions for players."""

import time


class Lobby:
    """Finds game sessions for players, in a location of a fleet."""

    def __init__(self, client, fleet_id, location, max_players):
        self.client, self.fleet_id, self.location, self.max_players = client, fleet_id, location, max_players

    def join(self, player, request):
        """Reserve a slot for a player in a game session that has one, or in a new game session.

        A request that is repeated with the same id creates one game session at most.
        """
        found = self.client.search_game_sessions(
            FleetId=self.fleet_id, Location=self.location, FilterExpression="hasAvailablePlayerSessions=true"
        )
        for session in found["GameSessions"]:
            try:
                return self._reserve(session["GameSessionId"], player)
            except self.client.exceptions.GameSessionFullException:
                pass  # since the search
        return self._reserve(self._create(request), player)

    def _create(self, request):
        """Create a game session and wait until its game server has activated it."""
        session = self.client.create_game_session(
            FleetId=self.fleet_id,
            Location=self.location,
            MaximumPlayerSessionCount=self.max_players,
            IdempotencyToken=request,
        )["GameSession"]
        while session["Status"] == "ACTIVATING":
            time.sleep(0.02)
            found = self.client.describe_game_sessions(GameSessionId=session["GameSessionId"])
            session = found["GameSessions"][0]
        return session["GameSessionId"]

    def _reserve(self, session, player):
        return self.client.create_player_session(GameSessionId=session, PlayerId=player)["PlayerSession"]
