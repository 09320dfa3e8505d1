package history

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/muster-gg/muster/internal/control/history/index"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
)

// indexVersion changes with the keys: an index with others is rebuilt.
const indexVersion = 2

// The first bytes of keys. The value of those with a filter is the number of the entry, in 8 bytes.
const (
	keySession   = 0x01 // fleet, location, id of a game session
	keyPlace     = 0x02 // shard, room, ordinal of a game session
	keyPlacement = 0x03 // id
	keyTicket    = 0x04 // id
	keyDeparted  = 0x05 // id of a player session that left memory before its game session

	keyEntry      = index.FirstUnfiltered + iota - 5 // number → the entry
	keyFleet                                         // fleet, number of a game session's entry → location
	keyPlayer                                        // hash of the player id, number of an entry
	keyDepartures                                    // fleet, location, id of a game session, number of an entry
	keyEnded                                         // Position of a game session → see endedValue
	keyFleetEnded                                    // fleet, Position of a game session → see endedValue
)

// Texts in keys end with a zero byte, which none of these ids may have.

func sessionKey(room fleet.RoomID, id string) []byte { return text(roomKey(keySession, room), id) }

func roomKey(kind byte, room fleet.RoomID) []byte {
	return text(text([]byte{kind}, string(room.Fleet)), room.Location)
}

func text(key []byte, text string) []byte { return append(append(key, text...), 0) }

func placeKey(at fleet.Address, ordinal uint64) []byte {
	key := binary.BigEndian.AppendUint16([]byte{keyPlace, at.Shard}, at.Room)
	return number(key, ordinal)
}

func number(key []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(key, n) }

func placementKey(id string) []byte { return append([]byte{keyPlacement}, id...) }
func ticketKey(id string) []byte    { return append([]byte{keyTicket}, id...) }

func departedKey(id fleet.PlayerSessionID) []byte { return append([]byte{keyDeparted}, id[:]...) }

func entryKey(n uint64) []byte { return number([]byte{keyEntry}, n) }

func fleetKeys(of fleet.ID) []byte { return text([]byte{keyFleet}, string(of)) }

// endedKeys are those of the game sessions of a fleet, or of all ("").
func endedKeys(of fleet.ID) []byte {
	if of == "" {
		return []byte{keyEnded}
	}
	return text([]byte{keyFleetEnded}, string(of))
}

func playerKeys(player string) []byte {
	sum := sha256.Sum256([]byte(player))
	return append([]byte{keyPlayer}, sum[:16]...)
}

func departureKeys(room fleet.RoomID, id string) []byte {
	return text(roomKey(keyDepartures, room), id)
}

// numberOf returns the number at the end of a key or value.
func numberOf(data []byte) uint64 {
	if len(data) < 8 {
		return 0
	}
	return binary.BigEndian.Uint64(data[len(data)-8:])
}

// keys returns the keys of an entry with their values; the first is the one that only this thing has.
func (e *entry) keys() (keys []keyValue, err error) {
	value := number(nil, e.number)
	switch e.kind {
	case sessionEntry:
		s, err := e.session()
		if err != nil {
			return nil, err
		}
		keys = append(keys,
			keyValue{placeKey(s.at, s.Ordinal), value},
			keyValue{sessionKey(e.room, s.ID), value},
			keyValue{number(fleetKeys(e.room.Fleet), e.number), []byte(e.room.Location)},
		)
		at, ended := s.position(), e.endedValue(s.StatusReason)
		keys = append(keys,
			keyValue{at.append(endedKeys("")), ended},
			keyValue{at.append(endedKeys(e.room.Fleet)), ended},
		)
		for _, list := range [][]*fleet.PlayerSession{s.CurrentPlayers, s.PastPlayers} {
			for _, p := range list {
				keys = append(keys, e.playerKey(p.PlayerID))
			}
		}
	case departedEntry:
		s, err := e.session()
		if err != nil {
			return nil, err
		}
		p := s.PastPlayers[0]
		keys = append(keys,
			keyValue{departedKey(p.ID), value},
			keyValue{number(departureKeys(e.room, s.ID), e.number), nil},
			e.playerKey(p.PlayerID),
		)
	case placementEntry:
		p, _, err := record[*placement.Placement](e)
		if err != nil {
			return nil, err
		}
		keys = append(keys, keyValue{placementKey(p.ID), value})
	case ticketEntry:
		t, _, err := record[*matchmaking.Ticket](e)
		if err != nil {
			return nil, err
		}
		keys = append(keys, keyValue{ticketKey(t.ID), value})
	default:
		return nil, errMalformed
	}
	return append(keys, keyValue{entryKey(e.number), e.append(nil)}), nil
}

func (e *entry) playerKey(player string) keyValue {
	return keyValue{number(playerKeys(player), e.number), nil}
}

type keyValue struct{ key, value []byte }
