//go:build linux

package load

import (
	"bytes"
	"fmt"

	"github.com/muster-gg/muster/e2e/netbench/frame"
)

// warmTurns is how often the packets of an echoer came back before it is warm.
const warmTurns = 20

// An echoer sends some packets in one write, and the next when all came back. Every byte that comes back is compared
// with what was sent.
type echoer struct {
	number int
	turn   uint32
	limit  uint32 // turns; 0 for no end
	sent   []byte // of this turn
	back   int    // bytes of them that came back
}

func newEchoer(number, inFlight int, limit uint32) *echoer {
	e := &echoer{number: number, limit: limit, sent: make([]byte, inFlight*frame.EchoSize)}
	for i := range inFlight {
		frame.PutEcho(e.packet(i), uint32(number*inFlight+i))
	}
	return e
}

// packet is one of those in flight.
func (e *echoer) packet(i int) []byte { return e.sent[i*frame.EchoSize : (i+1)*frame.EchoSize] }

func (e *echoer) start(fd int) error {
	e.turn, e.back = e.turn+1, 0
	for i := range len(e.sent) / frame.EchoSize {
		frame.SetTurn(e.packet(i), e.turn)
	}
	return write(fd, e.sent)
}

func (e *echoer) received(fd int, b []byte) (messages int, warm bool, err error) {
	if len(b) > len(e.sent)-e.back || !bytes.Equal(b, e.sent[e.back:e.back+len(b)]) {
		return 0, false, fmt.Errorf("connection %d, turn %d: what came back is not what was sent", e.number, e.turn)
	}
	before := e.back / frame.EchoSize
	e.back += len(b)
	messages = e.back/frame.EchoSize - before
	if e.back < len(e.sent) {
		return messages, false, nil
	}
	if e.turn == e.limit {
		return messages, true, nil
	}
	warm = e.turn >= warmTurns
	return messages, warm, e.start(fd)
}
