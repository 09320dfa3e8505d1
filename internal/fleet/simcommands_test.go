package fleet

import (
	"fmt"
	"time"
)

// command draws what a client, an operator or a server process might ask next.
// Most commands name something that exists, some do not.
func (s *simulation) command() Command {
	switch n := s.rng.IntN(100); {
	case n < 6:
		return s.computeCommand()
	case n < 25:
		return s.processCommand()
	case n < 40:
		return s.sessionCommand()
	default:
		return s.playerCommand()
	}
}

func (s *simulation) computeCommand() Command {
	name := s.computeName()
	if _, ok := s.room.Compute(name); !ok && s.chance(80) {
		return RegisterCompute{Name: name, IPAddress: "10.0.0.0"}
	}
	switch s.rng.IntN(25) {
	case 0:
		return DeregisterCompute{Name: name}
	case 1:
		if s.chance(20) {
			return Clear{}
		}
		fallthrough
	case 2, 3, 4, 5, 6, 7, 8, 9, 10:
		return IssueToken{Compute: name}
	case 11, 12, 13, 14:
		return ReportBuilds{Compute: name, Builds: []string{"build-0", "build-1"}[s.rng.IntN(4)/3:]}
	default:
		return RegisterCompute{Name: name, IPAddress: fmt.Sprintf("10.0.0.%d", s.rng.IntN(8)/7)}
	}
}

func (s *simulation) processCommand() Command {
	k := s.livingProcess(func(p *Process) bool { return true })
	switch s.rng.IntN(24) {
	case 0, 1, 2, 3, 4, 5:
		s.serial++
		return s.connect(ProcessKey{Compute: s.computeName(), ID: fmt.Sprint("process-", s.serial)})
	case 6:
		return s.connect(k)
	case 7:
		return s.connect(s.processKey())
	case 8, 9:
		return s.connect(s.livingProcess(func(p *Process) bool { return !p.Connected || p.Requested }))
	case 10:
		k := s.livingProcess(func(p *Process) bool { return p.Requested })
		return ConnectProcess{ProcessKey: k, SDKLanguage: "Go"}
	case 11, 12, 13, 14, 15:
		waiting := s.livingProcess(func(p *Process) bool {
			return p.Status == ProcessInitializing && !p.Requested && (p.Session != 0 || s.chance(60))
		})
		return ReadyProcess{ProcessKey: waiting, Port: int32(s.rng.IntN(61000)), LogPaths: []string{"/logs"}}
	case 16, 17:
		if s.chance(40) {
			return s.legacyCommand(k)
		}
		return LoseProcess{ProcessKey: k}
	case 18:
		if s.chance(50) {
			return s.agentCommand(k)
		}
		if s.chance(50) {
			return EndProcess{ProcessKey: s.processKey()}
		}
		return EndProcess{ProcessKey: k}
	case 19:
		if s.chance(5) {
			return Interrupt{Pause: []time.Duration{0, 10 * time.Second, 5 * time.Minute, -time.Minute}[s.rng.IntN(4)]}
		}
		return ReportHealth{ProcessKey: s.processKey()}
	default:
		return ReportHealth{ProcessKey: k, Healthy: s.chance(60)}
	}
}

// agentCommand draws what agents report, of processes that have connected or not.
func (s *simulation) agentCommand(k ProcessKey) Command {
	switch s.rng.IntN(11) {
	case 9, 10:
		c := ReportBackoffs{Compute: k.Compute}
		for i := range s.rng.IntN(3) {
			c.Backoffs = append(c.Backoffs, Backoff{LaunchPath: fmt.Sprint("/s", i), Process: k.ID, Crashes: 1})
		}
		return c
	case 0:
		if s.chance(70) {
			return CloseCompute{Name: k.Compute, For: time.Minute}
		}
		return StopCompute{Name: k.Compute, Stopped: s.chance(30), Idle: s.chance(30)}
	case 6, 7:
		return SuperviseProcesses{Compute: k.Compute, IDs: []string{k.ID, s.processKey().ID}}
	case 8:
		return ForceTerminateGameSession{s.sessionID()}
	case 1:
		k = s.processKey()
	case 2:
		s.serial++
		k.ID = fmt.Sprint("process-", s.serial)
	}
	reasons := []ExitReason{"NORMAL_TERMINATION", ExitCrashed, "SERVER_PROCESS_INVALID_PATH", ExitTimeout, "unknown"}
	return ExitProcess{ProcessKey: k, Reason: reasons[s.rng.IntN(len(reasons))]}
}

// legacyCommand draws what only processes on server SDK 3 and 4 do.
func (s *simulation) legacyCommand(k ProcessKey) Command {
	switch s.rng.IntN(4) {
	case 0:
		return LoseProcess{ProcessKey: k, Crashed: true}
	case 1:
		return ConnectProcess{ProcessKey: s.processKey(), SDKLanguage: "Cpp", Legacy: true}
	case 2:
		return MoveProcess{ProcessKey: s.livingProcess(func(p *Process) bool { return p.canHost() })}
	default:
		host := s.livingProcess(func(p *Process) bool { return p.Status == ProcessHosting })
		c := ReleaseProcess{ProcessKey: host, GameSession: s.sessionID()}
		if p, ok := s.room.process(host); ok {
			if g, ok := s.room.sessions.Get(p.Session); ok {
				c.GameSession = g.ID
			}
		}
		return c
	}
}

func (s *simulation) connect(k ProcessKey) ConnectProcess {
	run := s.rng.IntN(3)
	c := ConnectProcess{ProcessKey: k, Idempotency: fmt.Sprint("run-", run), SDKLanguage: "Go", NewRun: run < 2}
	compute, ok := s.room.Compute(k.Compute)
	if !ok || s.chance(40) {
		return c
	}
	c.Token = uint64(s.rng.Int64N(int64(s.room.header.Tokens) + 2))
	if n := len(compute.Tokens); n > 0 && s.chance(90) {
		c.Token = compute.Tokens[s.rng.IntN(n)].Serial
	}
	return c
}

func (s *simulation) sessionCommand() Command {
	switch s.rng.IntN(20) {
	case 18, 19:
		return BackfillGameSession{
			GameSession: s.sessionID(), Match: fmt.Sprint("match-", s.rng.IntN(20)), MatchmakerData: "{}",
			Players: s.newPlayers(),
		}
	case 16:
		return ConfirmGameSession{ID: s.sessionID()}
	case 17:
		return ClaimGameSession{
			Name: "claimed", Maximum: s.rng.Int32N(6) + 1, Properties: s.properties(),
			Player: NewPlayer{PlayerID: fmt.Sprint("player-", s.rng.IntN(20)), Random: s.random()},
		}
	case 0:
		return TerminateGameSession{ID: s.sessionID()}
	case 1:
		if s.chance(50) {
			return s.forgetPlayers()
		}
		return ForgetGameSessions{Ordinals: s.overOrdinals()}
	case 2, 3:
		return s.updateCommand()
	default:
		s.serial++
		c := CreateGameSession{
			ID: fmt.Sprint("game-", s.serial), Name: fmt.Sprint("name ", s.rng.IntN(5)), CreatorID: "studio",
			Data:       "map=1",
			Properties: s.properties(), Maximum: s.rng.Int32N(6), Protection: "NoProtection",
			ActivationTimeout: time.Duration(s.rng.IntN(600)+1) * time.Second, MaxActivations: s.rng.IntN(8),
		}
		if s.chance(20) {
			c.ID = s.sessionID()
		}
		if s.chance(30) {
			s.serial++
			c.Build, c.Process = fmt.Sprint("build-", s.rng.IntN(2)), fmt.Sprint("process-", s.serial)
		}
		if s.chance(30) {
			c.Placement, c.Attempt, c.Desired = fmt.Sprint("placement-", s.serial), 1, s.newPlayers()
		}
		if s.chance(40) {
			c.ConfirmWithin = time.Duration(s.rng.IntN(120)+1) * time.Second
		}
		c.Fingerprint = []byte(c.ID)
		if s.chance(5) {
			c.Fingerprint = nil
		}
		return c
	}
}

// forgetPlayers names some, or all, of those that have ended, or too many.
func (s *simulation) forgetPlayers() Command {
	g, ok := s.room.session(s.sessionID())
	if !ok {
		return ForgetPlayers{Session: 1 << 30, Through: 1}
	}
	return ForgetPlayers{Session: g.Ordinal, Through: g.Archived + uint32(s.rng.IntN(len(g.PastPlayers)+2))}
}

func (s *simulation) updateCommand() Command {
	u := UpdateGameSession{ID: s.sessionID()}
	if s.chance(30) {
		u.Name = "renamed"
	}
	if s.chance(50) {
		maximum := s.rng.Int32N(6)
		u.Maximum = &maximum
	}
	if s.chance(40) {
		u.Properties = s.properties()
	}
	if s.chance(20) {
		u.Policy = DenyAll
	} else if s.chance(50) {
		u.Policy = AcceptAll
	}
	return u
}

func (s *simulation) playerCommand() Command {
	g := s.liveSession()
	if g == nil {
		if s.chance(10) {
			return ReservePlayers{GameSession: s.sessionID(), Players: s.newPlayers()}
		}
		return s.processCommand()
	}
	host, id := g.Host, g.ID
	if s.chance(3) {
		host = s.processKey()
	}
	if s.chance(3) {
		id = s.sessionID()
	}
	if g.Status == Activating && s.chance(70) || s.chance(2) {
		return ActivateGameSession{ProcessKey: host, GameSession: id}
	}
	switch s.rng.IntN(20) {
	case 0:
		return SetPolicy{ProcessKey: host, GameSession: id,
			Policy: []Policy{AcceptAll, AcceptAll, DenyAll, "NOT_SET"}[s.rng.IntN(4)]}
	case 1, 2, 3:
		return RemovePlayer{ProcessKey: host, GameSession: id, PlayerSession: s.playerOf(g)}
	case 4, 5, 6, 7, 8, 9, 10:
		return AcceptPlayer{ProcessKey: host, GameSession: id, PlayerSession: s.playerOf(g)}
	default:
		return ReservePlayers{GameSession: id, Players: s.newPlayers()}
	}
}

func (s *simulation) chance(percent int) bool { return s.rng.IntN(100) < percent }

func (s *simulation) computeName() string { return fmt.Sprint("host-", s.rng.IntN(4)) }

// processKey is one of all processes, ended ones too, or of one that never was.
func (s *simulation) processKey() ProcessKey {
	keys := []ProcessKey{{Compute: s.computeName(), ID: "process-0"}}
	eachProcess(s.room, func(p *Process) bool { keys = append(keys, p.ProcessKey); return true })
	return keys[s.rng.IntN(len(keys))]
}

// livingProcess is a process that has not ended and that suits, if there is one.
func (s *simulation) livingProcess(suits func(*Process) bool) ProcessKey {
	var keys []ProcessKey
	eachProcess(s.room, func(p *Process) bool {
		if p.Status != ProcessEnded && suits(p) {
			keys = append(keys, p.ProcessKey)
		}
		return true
	})
	if len(keys) == 0 {
		return s.processKey()
	}
	return keys[s.rng.IntN(len(keys))]
}

// sessionID is one that exists, if there is one, or else one that does not.
func (s *simulation) sessionID() string {
	var ids []string
	eachSession(s.room, func(g *GameSession) bool { ids = append(ids, g.ID); return true })
	if len(ids) == 0 || s.chance(5) {
		return "game-0"
	}
	return ids[s.rng.IntN(len(ids))]
}

func (s *simulation) liveSession() *GameSession {
	var live []*GameSession
	eachSession(s.room, func(g *GameSession) bool {
		if !g.HasEnded() || s.chance(5) {
			live = append(live, g)
		}
		return true
	})
	if len(live) == 0 {
		return nil
	}
	return live[s.rng.IntN(len(live))]
}

func (s *simulation) playerOf(g *GameSession) PlayerSessionID {
	if all := g.PlayerSessions(); len(all) > 0 && s.chance(95) {
		return all[s.rng.IntN(len(all))].ID
	}
	return newPlayerSessionID(s.room.address, g.Ordinal, [8]byte{0xff})
}

func (s *simulation) newPlayers() []NewPlayer {
	players := make([]NewPlayer, s.rng.IntN(4))
	for i := range players {
		players[i] = NewPlayer{PlayerID: fmt.Sprint("player-", s.rng.IntN(20)), Data: "skin=2", Random: s.random()}
	}
	return players
}

// random is what no other player session has.
func (s *simulation) random() [8]byte {
	s.serial++
	return [8]byte{byte(s.serial >> 8), byte(s.serial)}
}

func (s *simulation) properties() []Property {
	properties := make([]Property, s.rng.IntN(4))
	for i := range properties {
		properties[i] = Property{Key: fmt.Sprint("key-", s.rng.IntN(20)), Value: fmt.Sprint(s.rng.IntN(3))}
	}
	return properties
}

// overOrdinals are game sessions to forget, and one that is none of them.
func (s *simulation) overOrdinals() []uint64 {
	ordinals := []uint64{1 << 30}
	for _, g := range s.room.EndedBefore(s.now.Add(-time.Minute), s.rng.IntN(5)) {
		ordinals = append(ordinals, g.Ordinal)
	}
	if g := s.liveSession(); g != nil && s.chance(20) {
		ordinals = append(ordinals, g.Ordinal)
	}
	return ordinals
}
