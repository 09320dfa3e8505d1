package gateway

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// A game session that the gateway creates has a token of its own as the last part
// of its id: "gsess-" and a UUID of version 8 (RFC 9562).
//
//	bytes 0–7    the key: who asked, for a player's id that names nobody from where,
//	             and for which name (60 bits of a keyed hash)
//	bytes 8, 9   the contents of the request (14 bits of a hash)
//	bytes 10–15  random
//
// So a gateway recognises the game session that it created for a request, also
// after a restart and also if another gateway created it, and keeps no list.

const tokenPrefix = "gsess-"

// marker is the game property that stands for the token where an id is not the
// gateway's to choose: of game sessions that it took over, or had a queue place.
const marker = "gateway_request"

// A token is those 16 bytes.
type token uuid.UUID

// newToken makes the token of a request. With an Idempotency-Key it is the same
// every time, contents and all: whoever repeats the key gets what it stands for.
func (g *Gateway) newToken(c *creation) token {
	h := hmac.New(sha256.New, g.secret)
	h.Write([]byte(c.flightKey()))
	t := token(h.Sum(nil)[:16])
	if c.key == "" {
		contents := c.contents()
		copy(t[8:10], contents[:])
		_, _ = rand.Read(t[10:]) // it never fails
	}
	t[6] = t[6]&0x0f | 0x80
	t[8] = t[8]&0x3f | 0x80
	return t
}

// String is the last part of the game session's id.
func (t token) String() string { return tokenPrefix + uuid.UUID(t).String() }

// mark is the value of the marker: what is not random.
func (t token) mark() string { return hex.EncodeToString(t[:10]) }

// owns reports whether a game session with this id was created for the request
// that t is a token of.
func (t token) owns(gameSessionID string) bool {
	text, ok := strings.CutPrefix(lastPart(gameSessionID), tokenPrefix)
	if !ok {
		return false
	}
	id, err := uuid.Parse(text)
	return err == nil && [10]byte(id[:10]) == [10]byte(t[:10])
}

// flightKey tells requests apart of which only one is carried out at a time.
func (c *creation) flightKey() string {
	kind, name := "name", c.name
	if c.key != "" {
		kind, name = "key", c.key
	}
	key := kind + " " + strconv.Itoa(len(c.player)) + " " + c.player + name
	if c.key == "" && c.origin != "" { // a key is the client's own, wherever it is
		key = "from " + strconv.Itoa(len(c.origin)) + " " + c.origin + key
	}
	return key
}

// contents is a hash of what a request asks for; requests with the same key must
// have the same.
func (c *creation) contents() [sha256.Size]byte {
	h := sha256.New()
	text := func(s string) {
		_ = binary.Write(h, binary.BigEndian, uint64(len(s))) // a hash takes everything
		_, _ = h.Write([]byte(s))
	}
	build, given := c.build.Get()
	_ = binary.Write(h, binary.BigEndian, struct {
		Maximum, Build int32
		Given, Async   bool
	}{c.maximum, build, given, c.async})
	for _, s := range []string{c.name, c.playerData, c.data, c.target.FleetID, c.target.AliasID, c.target.Queue, c.target.Location} {
		text(s)
	}
	for _, p := range c.properties {
		text(p.Key)
		text(p.Value)
	}
	return [sha256.Size]byte(h.Sum(nil))
}
