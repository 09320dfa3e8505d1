"""Tests of the lobby: python -m unittest, or pytest."""

import unittest

from lobby import Lobby
from musterservice import Muster


class LobbyTest(unittest.TestCase):
    """One service for all tests; each test has a fleet of its own with two game servers, for two players each."""

    @classmethod
    def setUpClass(cls):
        cls.muster = Muster()
        cls.addClassCleanup(cls.muster.stop)
        cls.client = cls.muster.client()
        cls.addClassCleanup(cls.client.close)

    def setUp(self):
        self.fleet = self.muster.test("/fleets", servers=2)
        self.addCleanup(self.muster.test, "/faults", "DELETE")
        self.lobby = Lobby(self.client, self.fleet["fleetId"], self.fleet["location"], max_players=2)

    def join(self, player):
        return self.lobby.join(player, request="join-" + player)

    def test_players_share_a_game_session(self):
        ada, bob = self.join("ada"), self.join("bob")
        self.assertEqual(ada["GameSessionId"], bob["GameSessionId"])

    def test_full_game_session(self):
        ada = self.join("ada")
        self.muster.test("/game-sessions/fill", gameSessionId=ada["GameSessionId"])
        self.assertNotEqual(self.join("bob")["GameSessionId"], ada["GameSessionId"])

    def test_reservation_expires(self):
        """Two players reserve slots, and one of them connects. After a minute the other slot is free."""
        ada, bob = self.join("ada"), self.join("bob")
        self.muster.test(f"/player-sessions/{ada['PlayerSessionId']}/connect")
        self.muster.test("/advance", seconds=60)
        self.assertEqual(self.join("eve")["GameSessionId"], bob["GameSessionId"])

    def test_throttled_call_is_retried(self):
        self.muster.test("/faults", operation="CreatePlayerSession", exception="ThrottlingException")
        self.join("ada")
        self.assertEqual(self.muster.test(method="GET")["faults"], [], "no call was throttled")

    def test_lost_answer(self):
        """boto3 repeats the call when the connection is closed. The token makes it the same game session."""
        self.muster.test("/faults", operation="CreateGameSession", loseAnswer=True)
        self.join("ada")
        found = self.client.describe_game_sessions(FleetId=self.fleet["fleetId"])["GameSessions"]
        self.assertEqual(len(found), 1)

    def test_killed_game_server(self):
        """A game session ends when its game server was lost for 3 minutes and 20 seconds."""
        ada = self.join("ada")
        self.muster.test("/processes/kill", gameSessionId=ada["GameSessionId"])
        self.muster.test("/advance", seconds=240)
        self.assertNotEqual(self.join("bob")["GameSessionId"], ada["GameSessionId"])


if __name__ == "__main__":
    unittest.main()
