package game

import (
	"fmt"
	"io"
	"net/url"
	"sync"

	"github.com/muster-gg/muster/gameserver"
)

// A printer writes the log.
type printer struct {
	mu    sync.Mutex
	to    io.Writer
	quiet bool
}

// line prints a line, if a log is wanted.
func (p *printer) line(format string, args ...any) {
	if !p.quiet {
		p.always(format, args...)
	}
}

// always prints a line that players cannot do without.
func (p *printer) always(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.to, format+"\n", args...)
}

// message shows a message between this process and the service.
func (p *printer) message(m gameserver.Message) {
	if !m.Sent {
		p.line("Received message from websocket: %s", m.Text)
		return
	}
	remote := url.URL{Host: m.Remote.String()}
	p.line("Sending Socket Message, isConnected:true, endpoint: %s, host: %s, port: %s",
		remote.Host, remote.Hostname(), remote.Port())
}
