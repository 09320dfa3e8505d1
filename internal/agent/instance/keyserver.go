package instance

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/atomicfile"
)

const (
	keyServerFile = "keys.json"
	keysPrefix    = "/credentials/" // before the id of an instance

	// keysHeadLimit is how long a request may take, and maxKeysHead its size in bytes.
	keysHeadLimit = 5 * time.Second
	maxKeysHead   = 8 << 10
	// listenPause is the time between attempts to listen on the port that game servers know.
	listenPause = 5 * time.Second
)

// A keyServer serves the keys of roles on the loopback interface, in the form that AWS SDKs fetch in containers. Port
// and secret are kept, because game servers of an earlier run of the agent know them. It begins with the first instance
// that needs it.
type keyServer struct {
	begin   sync.Once
	serving sync.WaitGroup
	err     error // why it did not begin
	keyServerState
}

// A keyServerState is the content of keyServerFile.
type keyServerState struct {
	Port   int    `json:"port"`
	Secret []byte `json:"secret"` // from which the tokens of instances follow
}

// servedKeys returns where the game servers of an instance find the keys of its role, and the token that they send.
func (m *Instances) servedKeys(id string) (url, token string, err error) {
	m.keys.begin.Do(func() {
		if m.keys.err = m.serveKeys(); m.keys.err != nil {
			m.keys.err = fmt.Errorf("serve keys of roles: %w", m.keys.err)
		}
	})
	return fmt.Sprintf("http://127.0.0.1:%d%s%s", m.keys.Port, keysPrefix, id), m.keys.token(id), m.keys.err
}

// token returns the token for the keys of an instance.
func (s *keyServerState) token(id string) string {
	mac := hmac.New(sha256.New, s.Secret)
	mac.Write([]byte(id))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// serveKeys starts to serve, on the port of earlier runs if there was one.
func (m *Instances) serveKeys() error {
	s, path := &m.keys, filepath.Join(m.cfg.Data, keyServerFile)
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &s.keyServerState)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	isNew := err != nil || s.Port == 0 || len(s.Secret) == 0
	listener, err := listenLocally(s.Port)
	switch {
	case isNew && err != nil:
		return err
	case isNew:
		s.Port, s.Secret = listener.Addr().(*net.TCPAddr).Port, make([]byte, sha256.Size)
		_, _ = rand.Read(s.Secret) // never fails
		text, err := json.Marshal(s.keyServerState)
		if err == nil {
			err = atomicfile.Write(path, text, 0o600)
		}
		if err != nil {
			return errors.Join(err, listener.Close())
		}
	}
	s.serving.Go(func() { m.runKeys(listener) })
	return nil
}

func listenLocally(port int) (net.Listener, error) {
	return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}

// runKeys serves until the work of the instances ends. Without a listener it waits for the port.
func (m *Instances) runKeys(listener net.Listener) {
	for listener == nil {
		select {
		case <-m.cfg.Clock.After(listenPause):
		case <-m.ctx.Done():
			return
		}
		var err error
		if listener, err = listenLocally(m.keys.Port); err != nil {
			m.cfg.Log.Warn("keys of roles are not served", "error", err, "next_try", listenPause)
		}
	}
	server := &http.Server{Handler: http.HandlerFunc(m.answerKeys), ReadTimeout: keysHeadLimit,
		MaxHeaderBytes: maxKeysHead, ErrorLog: slog.NewLogLogger(m.cfg.Log.Handler(), slog.LevelDebug)}
	defer context.AfterFunc(m.ctx, func() { _ = server.Close() })() // it serves no more
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		m.cfg.Log.Error("keys of roles are not served any more", "error", err)
	}
}

// answerKeys answers a game server. Source: AWS SDKs and Tools reference guide, "Container credential provider".
func (m *Instances) answerKeys(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	id, ok := strings.CutPrefix(r.URL.Path, keysPrefix)
	token := []byte(r.Header.Get("Authorization"))
	if !ok || r.Method != http.MethodGet || subtle.ConstantTimeCompare(token, []byte(m.keys.token(id))) != 1 {
		refuseKeys(w, http.StatusForbidden, "AccessDenied", "The authorization token is not that of the instance.")
		return
	}
	m.mu.Lock()
	var k *protocol.RoleKeys
	if i := m.all[id]; i != nil {
		k = i.keys.RoleKeys
	}
	m.mu.Unlock()
	if k == nil || k.Expires <= m.cfg.Clock.Now().UnixMilli() {
		refuseKeys(w, http.StatusServiceUnavailable, "NotReady", "The agent has no keys of the role yet. Try again.")
		return
	}
	answer := struct{ AccessKeyId, SecretAccessKey, Token, Expiration string }{
		k.AccessKeyID, k.SecretAccessKey, k.SessionToken, time.UnixMilli(k.Expires).UTC().Format(time.RFC3339)}
	_ = json.NewEncoder(w).Encode(answer) // fails if the client has closed
}

func refuseKeys(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(struct { // likewise
		Code    string `json:"code"`
		Message string `json:"message"`
	}{code, message})
}
