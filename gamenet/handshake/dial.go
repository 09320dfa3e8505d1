package handshake

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/muster-gg/muster/gamenet"
)

// Config configures Dial. Either NewHandler or Welcomed is required; the rest of gamenet.Config has its defaults. The
// codec must have ids.
type Config struct {
	// Config is for gamenet. NewHandler returns the handler of the game when the server has accepted the player, unless
	// Welcomed does.
	gamenet.Config
	// Welcomed replaces NewHandler for a game whose handler needs the data of Welcome (Conn.Data). If it returns an
	// error, Dial fails with an error that wraps it. It runs in the session's goroutine and may send.
	Welcomed func(s *gamenet.Session, data []byte) (gamenet.Handler, error)
	// Version is the version of the game's protocol. It must be the server's.
	Version uint32
	// Ticket is the player session id: at most 255 bytes of UTF-8 without control characters. "" for a server
	// that accepts players without one.
	Ticket string
	// Data is the game's own data for the server's Admit: at most MaxData bytes. It is not modified.
	Data []byte
}

// A Conn is a player's connection to a game. Its methods may be called from any goroutine.
type Conn struct {
	client  *gamenet.ClientService
	session *gamenet.Session
	data    []byte

	answered chan struct{} // closed when the server has answered, or the session has ended
	verdict  error         // why the handshake failed, or nil; set before answered is closed
	done     chan struct{} // closed at the end
	cause    error         // set before done is closed
}

// Dial connects to a server, sends Hello, and waits for the answer. It fails with a *gamenet.ConfigError; a
// *RefusedError when the server rejects the player (also when it ends the session without an answer: Full or Ending as
// a server that is full or closing does, or Other with its text); an error that wraps ErrInvalid when the answer is
// invalid; or the error of the connection or of ctx, which limits the whole call. The attempt to connect is limited to
// gamenet's ten seconds. A failed Dial leaves nothing open, except callbacks that have not returned when ctx is done.
// The caller must close the Conn.
//
// The game's handler receives the callbacks once the server has accepted the player: OnConnected, before Dial returns,
// then OnPacket for each packet of the game, OnClosing if it is a gamenet.ClosingHandler, and OnDisconnected as the
// last. OnSent is not called. Packets of the game that arrive before the answer are datagrams that overtook it, and are
// dropped. If Dial fails after OnConnected, because of ctx, OnDisconnected is called too.
func Dial(ctx context.Context, cfg Config) (*Conn, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	c := &Conn{answered: make(chan struct{}), done: make(chan struct{})}
	network := cfg.Config
	network.NewHandler = func(*gamenet.Session) gamenet.Handler {
		return &caller{Conn: c, cfg: cfg, nonce: rand.Uint64()}
	}
	var err error
	if c.client, err = gamenet.NewClient(gamenet.ClientConfig{Config: network}); err != nil {
		return nil, err
	}
	if err := c.client.Start(ctx); err != nil {
		return nil, err
	}
	if err := c.wait(ctx); err != nil {
		_ = c.client.Close(ctx) // graceful or not: the handshake has failed
		return nil, err
	}
	return c, nil
}

func (c *Conn) wait(ctx context.Context) error {
	select {
	case <-c.answered:
		return c.verdict
	case <-ctx.Done():
		return fmt.Errorf("handshake: no answer: %w", ctx.Err())
	}
}

// validate checks what gamenet does not.
func (c *Config) validate() error {
	switch {
	case !validTicket(c.Ticket):
		return configError("Ticket", "at most %d bytes of UTF-8 without control characters are allowed", maxTicket)
	case len(c.Data) > MaxData:
		return configError("Data", "it has %d bytes, at most %d are allowed", len(c.Data), MaxData)
	case (c.NewHandler == nil) == (c.Welcomed == nil):
		return configError("NewHandler", "either it or Welcomed is needed")
	case c.Codec != nil && !c.Codec.HasIDs():
		return configError("Codec", "the handshake needs a codec with packet ids, such as U16")
	}
	return nil
}

func configError(field, fix string, args ...any) error {
	return &gamenet.ConfigError{Field: field, Fix: fmt.Sprintf(fix, args...)}
}

func (c *Config) handlerFor(s *gamenet.Session, data []byte) (h gamenet.Handler, err error) {
	if c.Welcomed != nil {
		h, err = c.Welcomed(s, data)
	} else {
		h = c.NewHandler(s)
	}
	if h == nil && err == nil {
		err = errors.New("handshake: the game has made no handler")
	}
	return h, err
}

// Session returns the session with the server.
func (c *Conn) Session() *gamenet.Session { return c.session }

// Data returns the data that the server sent with Welcome. The package does not modify it.
func (c *Conn) Data() []byte { return c.data }

// Done returns a channel that is closed when the session has ended and OnDisconnected has returned; Err returns the
// cause.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err returns the cause that OnDisconnected received; nil before Done is closed, and when Close has ended the session.
func (c *Conn) Err() error {
	select {
	case <-c.done:
		if !errors.Is(c.cause, gamenet.ErrServiceClosed) {
			return c.cause
		}
	default:
	}
	return nil
}

// Close ends the session gracefully, as gamenet.ClientService.Close does, and returns when its goroutines have ended.
// When ctx is done first, it closes the connection at once and returns the error of ctx. A second call only waits.
// Within a callback it does not wait: it returns nil at once, and the session ends when the callback has returned.
func (c *Conn) Close(ctx context.Context) error { return c.client.Close(ctx) }
