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

	"github.com/muster-gg/muster/internal/wire"
)

// The id of a game session that the gateway creates ends in a token: "gsess-" and a UUID of version 8 (RFC 9562).
//
//	bytes 0–7    the player, the name, and the origin of a player id that is not an
//	             identity (60 bits of a keyed hash)
//	bytes 8, 9   the contents of the request (14 bits of a hash)
//	bytes 10–15  random
//
// So a gateway without stored state recognises the game session of a request, after a restart too and if another
// gateway created it.

const tokenPrefix = "gsess-"

// marker is the game property with the token of game sessions whose id the gateway does not choose: claimed ones, and
// those of a queue.
const marker = "gateway_request"

// A token is those 16 bytes.
type token uuid.UUID

// newToken returns the token of a request. With an Idempotency-Key it depends on the key alone, so that a repeat finds
// the game session whatever its contents.
func (g *Gateway) newToken(c *creation) token {
	h := hmac.New(sha256.New, g.secret)
	h.Write([]byte(c.requestKey()))
	t := token(h.Sum(nil)[:16])
	if c.key == "" {
		contents := c.contents()
		copy(t[8:10], contents[:])
		_, _ = rand.Read(t[10:]) // never fails
	}
	t[6] = t[6]&0x0f | 0x80
	t[8] = t[8]&0x3f | 0x80
	return t
}

// String returns the last part of the game session's id.
func (t token) String() string { return tokenPrefix + uuid.UUID(t).String() }

// mark returns the value of the marker: the bytes that are not random.
func (t token) mark() string { return hex.EncodeToString(t[:10]) }

// owns reports whether a game session with this id was created for the request that t is a token of.
func (t token) owns(gameSessionID string) bool {
	text, ok := strings.CutPrefix(lastPart(gameSessionID), tokenPrefix)
	if !ok {
		return false
	}
	id, err := uuid.Parse(text)
	return err == nil && [10]byte(id[:10]) == [10]byte(t[:10])
}

// sameCreator reports whether a game session was created by the player of t, under the name of t.
func (t token) sameCreator(s *wire.GameSession) bool {
	if mark, marked := propertyOf(s, marker); marked {
		return strings.HasPrefix(mark, hex.EncodeToString(t[:8]))
	}
	text, ok := strings.CutPrefix(lastPart(s.GameSessionId), tokenPrefix)
	id, err := uuid.Parse(text)
	return ok && err == nil && [8]byte(id[:8]) == [8]byte(t[:8])
}

// requestKey identifies requests that share one in-flight call.
func (c *creation) requestKey() string {
	kind, name := "name", c.name
	if c.key != "" {
		kind, name = "key", c.key
	}
	key := kind + " " + strconv.Itoa(len(c.player)) + " " + c.player + name
	if c.key == "" && c.origin != "" { // an Idempotency-Key identifies the client
		key = "from " + strconv.Itoa(len(c.origin)) + " " + c.origin + key
	}
	return key
}

// contents returns a hash of the request; requests with equal keys must have equal contents.
func (c *creation) contents() [sha256.Size]byte {
	h := sha256.New()
	text := func(s string) {
		_ = binary.Write(h, binary.BigEndian, uint64(len(s))) // a hash never fails
		_, _ = h.Write([]byte(s))
	}
	build, given := c.build.Get()
	_ = binary.Write(h, binary.BigEndian, struct {
		Maximum, Build int32
		Given, Async   bool
	}{c.maximum, build, given, c.async})
	for _, s := range []string{
		c.name, c.playerData, c.data, c.target.FleetID, c.target.AliasID, c.target.Queue, c.target.Location,
	} {
		text(s)
	}
	for _, p := range c.properties {
		text(p.Key)
		text(p.Value)
	}
	return [sha256.Size]byte(h.Sum(nil))
}
